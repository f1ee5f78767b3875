import ArgumentParser

/// The arguments about tus, finalize and guests, which set the behavior of uploads.
struct UploadArguments: ParsableArguments, Sendable {
    @Flag(help: "Answer 404 below /files/.")
    var noTus = false

    @Option(help: "Supported tus extensions (Tus-Extension); tusd's by default (not d4).")
    var tusExtensions: String?

    @Option(help: "Tus-Max-Size in bytes; none by default (d4: 6442450944).")
    var tusMaxSize: Int?

    @Option(help: "Seconds between the last byte and the record that finalize needs (default: 0; not d4).")
    var hookDelay: Double?

    @Option(help: "Seconds for which finalize waits for it: 2, or 0 as servers before 2026-04-21 (and d1) do (not d4).")
    var hookWait: Double?

    @Option(help: "Seconds between look-up and insert, in which overlapping uploads collide as on the real servers.")
    var races: Double?

    @Option(
        name: .customLong("event-link-token"),
        help: "TOKEN=DATE,ORG,TYPE[,DAYS]: an event link for guests (d3, d4), valid for 14 days unless specified."
    )
    var eventLinks: [EventLinkRequest] = []

    func validate() throws {
        let seconds = [hookDelay ?? 0, hookWait ?? 0, races ?? 0]
        guard seconds.allSatisfy({ (0...1e9).contains($0) }) else {
            throw ValidationError("seconds are a number from 0 on")
        }
        guard tusMaxSize ?? 0 >= 0 else { throw ValidationError("--tus-max-size is a number from 0 on") }
    }

    /// The first option that a server of this dialect would ignore; nil if there is none.
    func optionWithoutEffect(in dialect: Dialect) -> String? {
        let options = [
            ("--tus-extensions", tusExtensions != nil), ("--hook-delay", hookDelay != nil),
            ("--hook-wait", hookWait != nil),
        ]
        return dialect == .d4 ? options.first { $0.1 }?.0 : nil
    }

    /// The value of `Tus-Extension`, as it is sent, and the supported extensions: by default those of tusd, in its
    /// order.
    var extensions: String {
        tusExtensions ?? "creation,creation-with-upload,termination,concatenation,creation-defer-length"
    }

    func offers(_ name: String) -> Bool { extensions.split(separator: ",").contains { $0 == name } }
}
