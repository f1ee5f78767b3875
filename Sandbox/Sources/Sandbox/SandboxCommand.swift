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

    @Option(help: "HOST:PORT to listen on; port 0 takes any free port.")
    var listen = "127.0.0.1:0"

    @Option(help: "Directory for files and database; created when missing.")
    var data: String

    @Option(
        name: .customLong("user"),
        help: "NAME:PASSWORD of a new user, or of a default one (admin:admin, uploader:uploader, viewer:viewer)."
    )
    var users: [Account] = []

    @Option(help: "Era of the GigHive wire: d1, d2, d3 or d4.")
    var dialect = Dialect.d3

    @Option(
        name: .customLong("fault"),
        help: "Something that goes wrong; see above.",
        transform: { text in try FaultSyntax.parse(text) }
    )
    var faults: [Fault] = []

    @Option(help: "Seconds without a byte of a body until 408; about 10 on the real server, never by default (d4: 60).")
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

    /// Used by the parser.
    public init() {}

    /// Checks the address.
    public func validate() throws {
        guard let (host, _) = address else { throw ValidationError("--listen needs HOST:PORT, not \"\(listen)\"") }
        guard bodyTimeout.map({ (0.001...86_400).contains($0) }) ?? true else {
            throw ValidationError("--body-timeout is a number of seconds up to a day")
        }
        _ = try logins.book(users)
        if let option = uploads.optionWithoutEffect(in: dialect) {
            throw ValidationError("\(option) has no effect with --dialect \(dialect.rawValue)")
        }
        let isLoopback = ["localhost", "::1"].contains(host) || host.wholeMatch(of: /127(\.[0-9]{1,3}){3}/) != nil
        guard allowRemote || isLoopback else {
            throw ValidationError("\(host) is not loopback; add --allow-remote to listen there")
        }
    }

    /// Serves until SIGTERM or SIGINT.
    public func run() async throws {
        guard let (host, port) = address else { return }
        try await SandboxServer(command: self).run(host, port) { port in
            // IPv6 addresses are in brackets in a URL.
            print("listening on http://\(host.contains(":") ? "[\(host)]" : host):\(port)")
            // Standard output is fully buffered if it is a pipe.
            fflush(nil)
        }
    }

    /// The default users, unless others are specified.
    var accounts: [Account] {
        let named = Set(users.map(\.name))
        return Account.defaults.filter { !named.contains($0.name) } + users
    }

    private var address: (host: String, port: Int)? {
        guard let colon = listen.lastIndex(of: ":"), let port = UInt16(listen[listen.index(after: colon)...]) else {
            return nil
        }
        let host = listen[..<colon].trimmingCharacters(in: CharacterSet(charactersIn: "[]"))
        return host.isEmpty ? nil : (host, Int(port))
    }
}

/// The four dialects of the GigHive protocol, oldest first (gighive contract 0, gighive-d4 contract 9).
enum Dialect: String, Sendable, CaseIterable, Comparable, ExpressibleByArgument {
    case d1, d2, d3
    /// D3 with tus in PHP.
    case d4

    static func < (left: Dialect, right: Dialect) -> Bool { left.rawValue < right.rawValue }

    /// D3 and D4 use the term assets, the others files.
    private var noun: String { self >= .d3 ? "asset" : "file" }

    /// `file_id` or `asset_id`: the key of an id in delete requests and results.
    var idKey: String { noun + "_id" }
    /// `file_ids` or `asset_ids`: an administrator's list.
    var idListKey: String { noun + "_ids" }
    /// `existing_file_id` or `existing_asset_id`: the key in a 409.
    var existingIDKey: String { "existing_" + idKey }
}
