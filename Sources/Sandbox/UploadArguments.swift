import ArgumentParser

/// The arguments about tus, finalize and guests.
struct UploadArguments: ParsableArguments {
    @Flag(help: "Answer 404 below /files/.")
    var noTus = false

    @Option(
        help: ArgumentHelp("Tus-Extension, and what is honoured; tusd's by default.", valueName: "list")
    )
    var tusExtensions: String?

    @Option(help: ArgumentHelp("Tus-Max-Size; none by default.", valueName: "bytes"))
    var tusMaxSize: Int?

    @Flag(help: "Offer checksums (sha1, sha256); 460 when one does not match.")
    var tusChecksum = false

    @Option(
        help: ArgumentHelp("Let unfinished uploads expire after so long without a byte: 410.", valueName: "seconds")
    )
    var tusExpires: Double?

    @Option(
        help: ArgumentHelp(
            "What Location looks like: absolute, relative, or under another origin (https://host).",
            valueName: "style"
        )
    )
    var tusLocation = TusSettings.Location.absolute

    @Flag(
        inversion: .prefixedNo,
        help: "Buffer a PATCH whole before it counts, as the real web firewall does; else partial ones count."
    )
    var firewall = true

    @Option(
        help: ArgumentHelp("Time between the last byte and the record that finalize needs.", valueName: "seconds")
    )
    var hookDelay = 0.0

    @Option(
        help: ArgumentHelp(
            "How long finalize waits for that record: 2, or 0 as servers before 2026-04-21 (and d1) do.",
            valueName: "seconds"
        )
    )
    var hookWait: Double?

    @Option(help: ArgumentHelp("How long finalize takes to store.", valueName: "seconds"))
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
            "Make an event link for guests (d3); good for 14 days unless told otherwise.",
            valueName: "token=date,org,type[,days]"
        )
    )
    var eventLinks: [EventLinkRequest] = []

    func validate() throws {
        guard
            ([hookDelay, hookWait ?? 0, ingestDelay, tusExpires ?? 0, races ?? 0]).allSatisfy({ (0...1e9).contains($0) }
            )
        else {
            throw ValidationError("seconds are a number from 0 on")
        }
        guard tusMaxSize ?? 0 >= 0 else { throw ValidationError("--tus-max-size is a number from 0 on") }
    }

    var tus: TusSettings {
        var settings = TusSettings()
        settings.isOffered = !noTus
        let optional = (tusChecksum ? ["checksum"] : []) + (tusExpires == nil ? [] : ["expiration"])
        settings.extensions =
            tusExtensions ?? ([TusSettings.tusdExtensions] + optional).joined(separator: ",")
        settings.maxSize = tusMaxSize
        settings.lifetime = tusExpires
        settings.location = tusLocation
        settings.buffersBodies = firewall
        return settings
    }

    func finalize(_ dialect: Dialect) -> FinalizeSettings {
        FinalizeSettings(
            hookDelay: hookDelay,
            hookWait: hookWait ?? (dialect == .d1 ? 0 : 2),
            ingestDelay: ingestDelay
        )
    }
}
