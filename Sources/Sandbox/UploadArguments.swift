import ArgumentParser

/// The arguments about tus, finalize and guests.
struct UploadArguments: ParsableArguments {
    @Flag(help: "Answer 404 below /files/.")
    var noTus = false

    @Option(
        help: ArgumentHelp("Tus-Extension, and what is honoured; tusd's by default (not d4).", valueName: "list")
    )
    var tusExtensions: String?

    @Option(help: ArgumentHelp("Tus-Max-Size; none by default (d4: 6442450944).", valueName: "bytes"))
    var tusMaxSize: Int?

    @Flag(help: "Offer checksums (sha1, sha256); 460 when one does not match (not d4).")
    var tusChecksum = false

    @Option(
        help: ArgumentHelp(
            "Let unfinished uploads expire after so long without a byte: 410 (not d4).",
            valueName: "seconds"
        )
    )
    var tusExpires: Double?

    @Option(
        help: ArgumentHelp(
            """
            What Location looks like: absolute (default), relative (default with d4), or under another origin \
            (https://host).
            """,
            valueName: "style"
        )
    )
    var tusLocation: TusSettings.Location?

    @Flag(
        inversion: .prefixedNo,
        help: """
            Buffer a PATCH whole before it counts, as the real web firewall does (d4: up to 20 MiB); else partial ones \
            count.
            """
    )
    var firewall = true

    @Option(
        help: ArgumentHelp(
            "Time between the last byte and the record that finalize needs (default: 0; not d4).",
            valueName: "seconds"
        )
    )
    var hookDelay: Double?

    @Option(
        help: ArgumentHelp(
            "How long finalize waits for that record: 2, or 0 as servers before 2026-04-21 (and d1) do (not d4).",
            valueName: "seconds"
        )
    )
    var hookWait: Double?

    @Option(help: ArgumentHelp("How long finalize (d4: the last PATCH) takes to store.", valueName: "seconds"))
    var ingestDelay = 0.0

    @Option(
        help: ArgumentHelp(
            "Time between look-up and insert, in which overlapping uploads collide as on the real servers.",
            valueName: "seconds"
        )
    )
    var races: Double?

    @Option(
        name: .customLong("event-link-token"),
        help: ArgumentHelp(
            "Make an event link for guests (d3, d4); good for 14 days unless told otherwise.",
            valueName: "token=date,org,type[,days]"
        )
    )
    var eventLinks: [EventLinkRequest] = []

    func validate() throws {
        guard
            ([hookDelay ?? 0, hookWait ?? 0, ingestDelay, tusExpires ?? 0, races ?? 0]).allSatisfy({
                (0...1e9).contains($0)
            }
            )
        else {
            throw ValidationError("seconds are a number from 0 on")
        }
        guard tusMaxSize ?? 0 >= 0 else { throw ValidationError("--tus-max-size is a number from 0 on") }
    }

    /// The first option that a server of this dialect would ignore; nil when there is none.
    func optionWithoutEffect(in dialect: Dialect) -> String? {
        guard dialect == .d4 else { return nil }
        let options = [
            ("--tus-extensions", tusExtensions != nil), ("--tus-checksum", tusChecksum),
            ("--tus-expires", tusExpires != nil), ("--hook-delay", hookDelay != nil), ("--hook-wait", hookWait != nil),
        ]
        return options.first { $0.1 }?.0
    }

    func tus(_ dialect: Dialect) -> TusSettings {
        var settings = TusSettings()
        settings.isOffered = !noTus
        let optional = (tusChecksum ? ["checksum"] : []) + (tusExpires == nil ? [] : ["expiration"])
        settings.extensions =
            tusExtensions ?? ([TusSettings.tusdExtensions] + optional).joined(separator: ",")
        settings.maxSize = tusMaxSize
        settings.lifetime = tusExpires
        settings.location = tusLocation ?? (dialect == .d4 ? .relative : .absolute)
        settings.buffersBodies = firewall
        return settings
    }

    func finalize(_ dialect: Dialect) -> FinalizeSettings {
        FinalizeSettings(
            hookDelay: hookDelay ?? 0,
            hookWait: hookWait ?? (dialect == .d1 ? 0 : 2),
            ingestDelay: ingestDelay
        )
    }
}
