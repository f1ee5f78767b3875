internal import Foundation
internal import GigHive
internal import Glibc
internal import MediaCore
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport

// Errors on this machine (stores, credentials, addresses, files, standard input), and transport failures.

extension UserFacingError: ReportableError {
    var userFacingError: UserFacingError { self }
}

extension SettingsError: ReportableError {
    var userFacingError: UserFacingError { UserFacingError(.invalidSetting, TerminalText.escaped(message), hint: hint) }
}

extension StoreError: ReportableError {
    var userFacingError: UserFacingError {
        let file = ErrorCatalog.quoted(path)
        let reason = detail.isEmpty ? "" : ": \(ErrorCatalog.clean(detail))"
        let isTokenStore = ["", "-wal", "-shm", "-journal"].contains { path.hasSuffix("tokens.sqlite\($0)") }
        let store = isTokenStore ? "token store" : "store"
        let repair = "salvage what it has: mediactl store repair"
        let elsewhere =
            path.hasSuffix("/temporary.sqlite")
            ? "set TMPDIR to another directory" : "use another directory with --data-dir DIR"
        let (message, hint): (String, String) =
            switch kind {
            case .missing: ("cannot use \(file)\(reason)", ErrorCatalog.missingHint)
            case .notWritable: ("cannot use \(file)\(reason)", "check its permissions\(rights ?? ""), or \(elsewhere)")
            case .full: ("no space left for \(file)\(reason)", "free some space, or \(elsewhere)")
            case .corrupt where path.hasSuffix("index.sqlite"):
                ("\(file) is not a usable \(store)\(reason)", "run mediactl sync to rebuild it")
            case .corrupt:
                (
                    "\(file) is not a usable \(store)\(reason)",
                    "nothing was changed; "
                        + (isTokenStore
                            ? "\(elsewhere), or \(repair)"
                            : "restore it from a backup, or move it and its -wal and -shm files aside: mediactl login "
                                + "and mediactl sync push DIR then recognize local photos, but tapes and captures are lost")
                )
            case .newerVersion:
                (
                    "\(file) was written by a newer version of mediactl\(reason)",
                    "update mediactl, or \(elsewhere)"
                        + (isTokenStore ? "; if no newer version was used, \(repair)" : "")
                )
            case .busy:
                ("\(file) is locked by another process\(reason)", "retry when the other mediactl process has finished")
            case .networkFileSystem:
                ("\(file) is on a network file system, which is not safe for a \(store)\(reason)", elsewhere)
            case .unsafe where detail == DataDirectory.notADirectory: ("\(file) is not a directory", elsewhere)
            case .unsafe:
                (
                    "\(file) has another owner, or is not of the expected type\(reason)",
                    (rights.map { "change its owner\($0), or " } ?? "")
                        + (isTokenStore ? "\(elsewhere), or \(repair)" : elsewhere)
                )
            case .other: ("the \(store) \(file) failed\(reason)", elsewhere)
            }
        return UserFacingError(
            .storeUnusable,
            message,
            hint: hint,
            isRetryable: kind == .busy
        )
    }

    /// ` (owner root, mode 0644)` for a file or directory that belongs to another user, or that belongs to this user
    /// and is not writable; nil for any other.
    private var rights: String? {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        let isDenied = kind == .notWritable && access(path, W_OK) != 0
        guard isDenied || status.st_uid != geteuid() else { return nil }
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        let owner = attributes?[.ownerAccountName] as? String ?? "\(status.st_uid)"
        return " (owner \(ErrorCatalog.clean(owner)), mode \((status.st_mode & 0o7777).padded(4, radix: 8)))"
    }
}

extension CredentialError: ReportableError {
    var userFacingError: UserFacingError { UserFacingError(code, ErrorCatalog.clean(message), hint: hint) }
}

extension ServerURLError: ReportableError {
    var userFacingError: UserFacingError {
        let (message, hint): (String, String) =
            switch self {
            case .malformed(let reason):
                ("invalid server address: \(ErrorCatalog.clean(reason))", "use the form https://media.example.org")
            case .unsupportedScheme(let scheme):
                ("the scheme \(ErrorCatalog.quoted(scheme)) is not supported", "use https:// or http://")
            case .containsCredentials:
                (
                    "the server's address contains credentials",
                    "remove them; use --user NAME and --password-file FILE, or MEDIACTL_PASSWORD"
                )
            case .containsPath(let suggestion):
                ("the server's address has a path", "use --server \(ErrorCatalog.clean(suggestion))")
            }
        return UserFacingError(.invalidServer, message, hint: hint)
    }
}

extension SourceFileError: ReportableError {
    var userFacingError: UserFacingError {
        UserFacingError(
            code,
            "cannot read \(ErrorCatalog.quoted(path)): \(reason)",
            hint: kind == .notFound ? ErrorCatalog.missingHint : nil,
            exitCode: .usage
        )
    }
}

extension SpoolError: ReportableError {
    var userFacingError: UserFacingError {
        switch self {
        case .tooLarge(let limit):
            UserFacingError(
                .fileTooLarge,
                "standard input is larger than the limit of \(limit) bytes"
            )
        case .unreadable(let errno):
            UserFacingError(
                .fileUnreadable,
                "cannot read standard input: \(SystemError.words(errno))"
            )
        case .cancelled: UserFacingError(.cancelled, "canceled")
        }
    }
}

extension TransportError: ReportableError {
    var userFacingError: UserFacingError {
        UserFacingError(.transportFailed, "the network cannot be used: \(ErrorCatalog.foreign(description))")
    }
}

extension ErrorCatalog {
    static func userFacingError(ofWatching error: SourceFileError) -> UserFacingError {
        let reason =
            switch error.kind {
            case .notFound: "no such directory"
            case .isDirectory, .notRegular, .empty: "not a directory"
            case .permissionDenied, .io: error.reason
            }
        return UserFacingError(
            .cannotWatch,
            "cannot watch \(quoted(error.path)): \(reason)",
            hint: "check the path of --watch"
        )
    }

    /// The watched directory was removed, renamed or unmounted.
    static func userFacingError(ofLostDirectory path: [UInt8]) -> UserFacingError {
        UserFacingError(.cannotWatch, "\(quoted(path)) no longer exists, or was renamed or unmounted")
    }
}

/// Transport failures have the same codes and messages for all servers.
extension ErrorCatalog {
    static func userFacingError(ofMissingResponse error: TransportError, isRetryable: Bool) -> UserFacingError {
        switch error.kind {
        case .loginRequired(let origin): return userFacingError(of: CredentialError.loginRequired(origin))
        case .loginExpired(let origin, let time):
            return userFacingError(of: CredentialError.loginExpired(origin, at: time))
        case .rateLimited(let status, let rest):
            return userFacingError(
                of: GigHiveError(
                    error.code,
                    httpStatus: status,
                    isRetryable: isRetryable
                ).with(\.retryAfterSeconds, Int(rest.components.seconds) + 1)
            )
        default: break
        }
        // An unreadable body is a defect here: errors in input files are reported by each system.
        let code: OutcomeCode = error.kind == .bodyUnreadable ? .internalError : error.code
        return userFacingError(
            of: GigHiveError(code, detail: error.detail, httpStatus: error.head?.status, isRetryable: isRetryable)
        )
    }

    /// The command that uploads a file again, to the same event with the same details.
    static func uploadCommand(for error: GigHiveError) -> String {
        var words = error.server.map { ["--server", $0] } ?? []
        for field in error.details?.fields ?? [] {
            // A value may begin with a hyphen.
            words.append("--\(field.name.replacing("_", with: "-"))=\(field.value)")
        }
        let quoted = words.map { ShellWord.quoted($0) } + [ShellWord.quoted(error.path ?? [])]
        return "mediactl upload " + quoted.joined(separator: " ")
    }

    static func proxyHint(for error: GigHiveError) -> String? {
        ProxyVariable(causing: error.detail, environment: ProcessInfo.processInfo.environment)?.hint
    }
}

/// The environment variable that sets a proxy for requests. libcurl reads it, so a failed connection may be caused by
/// the proxy, not by the server.
struct ProxyVariable: Sendable, Equatable {
    /// For example `https_proxy`.
    var name: String
    /// Host of the proxy, without the credentials that the variable may contain.
    var host: String

    /// Finds the variable that explains libcurl's message for a failed connection. The message either contains the
    /// proxy's host (not with `no_proxy`) or reports that the proxy refused the tunnel.
    init?(causing detail: String, environment: [String: String]) {
        // The names that libcurl reads (curl(1), section ENVIRONMENT). libcurl deliberately ignores HTTP_PROXY.
        let names = ["https_proxy", "HTTPS_PROXY", "http_proxy", "all_proxy", "ALL_PROXY"]
        let variables = names.compactMap { name in
            environment[name].flatMap { $0.isEmpty ? nil : Self(name: name, address: $0) }
        }
        let text = detail.lowercased()
        let named = variables.first { text.contains(" \($0.host.lowercased()) ") || text.hasSuffix(" \($0.host)") }
        let isTunnelRefused = text.contains("proxy") || text.contains("connect tunnel")
        guard let found = named ?? (isTunnelRefused ? variables.first : nil) else { return nil }
        self = found
    }

    private init(name: String, address: String) {
        self.name = name
        let afterScheme = address.firstRange(of: "://").map { address[$0.upperBound...] } ?? address[...]
        let authority = afterScheme.prefix { $0 != "/" }
        let hostAndPort = authority.split(separator: "@").last ?? ""
        host = String(
            hostAndPort.hasPrefix("[")
                ? hostAndPort.dropFirst().prefix { $0 != "]" } : hostAndPort.prefix { $0 != ":" }
        )
    }

    var hint: String { "a proxy is set by the variable \(name); unset it or check it" }
}
