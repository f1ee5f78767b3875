import ArgumentParser

struct UploadArguments: ParsableArguments, Sendable {
    @Flag(help: "Respond with 404 below /files/.")
    var noTus = false

    @Option(help: "Supported tus extensions (Tus-Extension); tusd's by default (not d4).")
    var tusExtensions: String?

    @Option(help: "Tus-Max-Size in bytes; none by default (d4: 6442450944).")
    var tusMaxSize: Int?

    @Option(help: "Seconds between the last byte and the record that finalize needs (default: 0; not d4).")
    var hookDelay: Double?

    @Option(help: "Seconds finalize waits for the record: 2, or 0 as on servers before 2026-04-21 and d1 (not d4).")
    var hookWait: Double?

    @Option(help: "Seconds between lookup and insert, during which overlapping uploads collide as on the real servers.")
    var races: Double?

    @Option(
        name: .customLong("event-link-token"),
        help: "TOKEN=DATE,ORG,TYPE[,DAYS]: an event link for guests (d3, d4), valid for 14 days unless specified."
    )
    var eventLinks: [EventLinkRequest] = []

    func validate() throws {
        let seconds = [hookDelay ?? 0, hookWait ?? 0, races ?? 0]
        guard seconds.allSatisfy({ (0...1e9).contains($0) }) else {
            throw ValidationError("numbers of seconds must be 0 or more")
        }
        guard tusMaxSize ?? 0 >= 0 else { throw ValidationError("--tus-max-size must be 0 or more") }
    }

    /// The value of `Tus-Extension`; the default is tusd's list, in tusd's order.
    var extensions: String {
        tusExtensions ?? "creation,creation-with-upload,termination,concatenation,creation-defer-length"
    }

    func offers(_ name: String) -> Bool { extensions.split(separator: ",").contains { $0 == name } }
}
