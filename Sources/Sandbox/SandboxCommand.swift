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
