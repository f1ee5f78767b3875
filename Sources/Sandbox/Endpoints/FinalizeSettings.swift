/// How long the steps between the last PATCH and the answer of finalize take.
struct FinalizeSettings: Sendable {
    /// Seconds between the last byte and the record that finalize needs.
    var hookDelay = 0.0
    /// Seconds for which finalize waits for that record; 0 as servers before 2026-04-21 (gighive contract 4.4).
    var hookWait: Double
    /// Seconds that storing takes.
    var ingestDelay = 0.0
}
