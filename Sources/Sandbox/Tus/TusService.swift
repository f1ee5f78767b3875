/// The program that serves `/files/`: tusd up to D3, PHP in D4.
protocol TusService: Sendable {
    func answer(_ call: TusCall, to exchange: Exchange) async throws -> Answer

    /// All uploads, oldest first.
    func summaries() throws -> [TusSummary]
}

/// One upload, as the control route lists it.
struct TusSummary: Sendable {
    var id: String
    /// In bytes, as HEAD reports it; nil when the bytes are gone.
    var offset: Int?
    /// In bytes; nil until it is declared.
    var length: Int?
    var isFinished: Bool
}

/// The script behind `POST /api/uploads/finalize`.
protocol FinalizeService: Sendable {
    func reply(to exchange: Exchange) async throws -> Reply
}
