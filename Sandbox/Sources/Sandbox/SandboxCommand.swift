public import ArgumentParser
import Foundation

/// The sandbox server's command line.
public struct SandboxCommand: AsyncParsableCommand {
    /// Name and abstract.
    public static let configuration = CommandConfiguration(
        commandName: "mediactl-sandbox",
        abstract: "A media server for trying out and testing mediactl, with storage, accounts, and fault injection.",
        discussion: FaultSyntax.help
    )

    @Option(help: "HOST:PORT to listen on; port 0 selects a free port.")
    var listen = "127.0.0.1:0"

    @Option(help: "Directory for files and database; created if missing.")
    var data: String

    @Option(
        name: .customLong("user"),
        help: "NAME:PASSWORD of a new user, or of a default one (admin:admin, uploader:uploader, viewer:viewer)."
    )
    var users: [Account] = []

    @Option(help: "Release of GigHive's protocol: d1, d2, d3 or d4.")
    var dialect = Dialect.d3

    @Option(
        name: .customLong("fault"),
        help: "Fault to inject (see above); may be repeated.",
        transform: { text in try FaultSyntax.parse(text) }
    )
    var faults: [Fault] = []

    @Option(help: "Seconds without body data before a 408; about 10 on the real server (default: never; d4: 60).")
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

    /// Created by the parser.
    public init() {}

    /// Checks the address.
    public func validate() throws {
        guard let (host, _) = address else { throw ValidationError("--listen must be HOST:PORT, not \"\(listen)\".") }
        guard bodyTimeout.map({ (0.001...86_400).contains($0) }) ?? true else {
            throw ValidationError("--body-timeout must be a number of seconds up to a day.")
        }
        _ = try logins.book(users)
        let isLoopback = ["localhost", "::1"].contains(host) || host.wholeMatch(of: /127(\.[0-9]{1,3}){3}/) != nil
        guard allowRemote || isLoopback else {
            throw ValidationError("\(host) is not loopback; add --allow-remote to listen there")
        }
    }

    /// Serves until SIGTERM or SIGINT.
    public func run() async throws {
        guard let (host, port) = address else { return }
        try await SandboxServer(command: self).run(host, port) { port in
            // IPv6 addresses have brackets in a URL.
            print("listening on http://\(host.contains(":") ? "[\(host)]" : host):\(port)")
            // Standard output is fully buffered when it is a pipe.
            fflush(nil)
        }
    }

    /// The users of `--user`, and the default users that it does not redefine.
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

/// The releases of GigHive's protocol, oldest first (gighive contract 0, gighive-d4 contract 9).
enum Dialect: String, Sendable, CaseIterable, Comparable, ExpressibleByArgument {
    case d1, d2, d3
    /// D3 with tus in PHP.
    case d4

    static func < (left: Dialect, right: Dialect) -> Bool { left.rawValue < right.rawValue }

    /// D3 and D4 have assets; the other releases have files.
    private var noun: String { self >= .d3 ? "asset" : "file" }

    /// `file_id` or `asset_id`, in deletions.
    var idKey: String { noun + "_id" }
    /// `file_ids` or `asset_ids`, in deletions by an administrator.
    var idListKey: String { noun + "_ids" }
    /// `existing_file_id` or `existing_asset_id`, in a 409.
    var existingIDKey: String { "existing_" + idKey }
}
