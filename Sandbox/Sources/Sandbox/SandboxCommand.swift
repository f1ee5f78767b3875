public import ArgumentParser
import Foundation

/// The sandbox server's command line.
public struct SandboxCommand: AsyncParsableCommand {
    /// Name and abstract.
    public static let configuration = CommandConfiguration(
        commandName: "mediactl-sandbox",
        abstract: "A media server to try mediactl on: real storage, real accounts, faults on demand.",
        discussion: FaultSyntax.help
    )

    @Option(help: ArgumentHelp("Address to listen on; port 0 takes any free port.", valueName: "host:port"))
    var listen = "127.0.0.1:0"

    @Option(help: ArgumentHelp("Directory for files and database; created when missing.", valueName: "dir"))
    var data: String

    @Option(
        name: .customLong("user"),
        help: ArgumentHelp(
            "Add a user, or change a default one's password (admin:admin, uploader:uploader, viewer:viewer).",
            valueName: "name:password"
        )
    )
    var users: [Account] = []

    @Option(help: "Era of the GigHive wire: d1, d2, d3 or d4.")
    var dialect = Dialect.d3

    @Option(
        name: .customLong("fault"),
        help: ArgumentHelp("Something that goes wrong; see above.", valueName: "fault"),
        transform: { text in try FaultSyntax.parse(text) }
    )
    var faults: [Fault] = []

    @Option(help: ArgumentHelp("Largest request body; tus is not subject to it.", valueName: "bytes"))
    var maxBody = 1_073_741_824

    @Option(
        help: ArgumentHelp(
            """
            Answer 408 when a body stops coming for so long; about 10 on the real server, never by default (d4: 60, as on \
            the real server).
            """,
            valueName: "seconds"
        )
    )
    var bodyTimeout: Double?

    @OptionGroup(title: "Logins")
    var logins: LoginArguments

    @OptionGroup(title: "Resumable uploads")
    var uploads: UploadArguments

    @OptionGroup(title: "PhotoSync")
    var photoSync: PhotoSyncArguments

    @OptionGroup(title: "Captures")
    var captures: CaptureArguments

    @Flag(help: "Allow an address that other machines can reach.")
    var allowRemote = false

    /// Made by the parser.
    public init() {}

    /// Checks the address.
    public func validate() throws {
        guard let address else { throw ValidationError("--listen needs HOST:PORT, not \"\(listen)\"") }
        guard bodyTimeout.map({ (0.001...86_400).contains($0) }) ?? true else {
            throw ValidationError("--body-timeout is a number of seconds up to a day")
        }
        if let reason = faults.lazy.compactMap({ $0.refusal(in: dialect) }).first { throw ValidationError(reason) }
        _ = try logins.settings(users)
        if let option = uploads.optionWithoutEffect(in: dialect) {
            throw ValidationError("\(option) has no effect with --dialect \(dialect.rawValue)")
        }
        guard allowRemote || Self.isLoopback(address.host) else {
            throw ValidationError("\(address.host) is not loopback; add --allow-remote to listen there")
        }
    }

    /// Serves until SIGTERM or SIGINT.
    public func run() async throws {
        guard let address else { return }
        let server = SandboxServer(
            configuration: SandboxConfiguration(
                host: address.host,
                port: address.port,
                dataPath: data,
                accounts: accounts,
                logins: try logins.settings(users),
                dialect: dialect,
                faults: faults,
                maxBody: maxBody,
                bodyTimeout: bodyTimeout ?? (dialect == .d4 ? 60 : nil),
                raceWindow: uploads.races,
                tus: uploads.tus(dialect),
                finalize: uploads.finalize(dialect),
                eventLinks: uploads.eventLinks,
                photoSync: photoSync.settings,
                captures: captures.settings(basePath: photoSync.basePath)
            ),
            onReady: { port in
                print("listening on http://\(address.urlHost):\(port)")
                // Standard output is fully buffered when it is a pipe.
                fflush(nil)
            }
        )
        try await server.run()
    }

    private var accounts: [Account] {
        let named = Set(users.map(\.name))
        return Account.defaults.filter { !named.contains($0.name) } + users
    }

    private struct Address {
        var host: String
        var port: Int

        /// IPv6 addresses wear brackets in a URL.
        var urlHost: String { host.contains(":") ? "[\(host)]" : host }
    }

    private var address: Address? {
        guard let colon = listen.lastIndex(of: ":"), let port = UInt16(listen[listen.index(after: colon)...]) else {
            return nil
        }
        let host = listen[..<colon].trimmingCharacters(in: CharacterSet(charactersIn: "[]"))
        return host.isEmpty ? nil : Address(host: host, port: Int(port))
    }

    private static func isLoopback(_ host: String) -> Bool {
        host == "localhost" || host == "::1" || host.wholeMatch(of: /127(\.[0-9]{1,3}){3}/) != nil
    }
}

/// The arguments about tus, finalize and guests.
struct UploadArguments: ParsableArguments {
    @Flag(help: "Answer 404 below /files/.")
    var noTus = false

    @Option(
        help: ArgumentHelp("Supported tus extensions (Tus-Extension); tusd's by default (not d4).", valueName: "list")
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
