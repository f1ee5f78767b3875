internal import CaptureSubmission
internal import Foundation
internal import GigHive
internal import MediaFiles
internal import MediaStore
internal import MediaTransport
internal import PhotoSync
internal import Tapes

/// The one place that turns errors into words and exit codes.
enum ErrorCatalogue {
    /// What an error says.
    struct Words {
        var message: String
        var hint: String?

        init(_ message: String, hint: String? = nil) {
            self.message = message
            self.hint = hint
        }
    }

    /// Message, hint and exit code of any error that reaches a command.
    static func diagnosis(of error: any Error) -> Diagnosis {
        switch error {
        case let error as Diagnosis: error
        case let error as GigHiveError: diagnosis(of: error)
        case let error as PhotoSyncError: diagnosis(of: error)
        case let error as CaptureError: diagnosis(of: error)
        case let error as TapesError: diagnosis(of: error)
        case let error as StoreError: diagnosis(of: error)
        case let error as SettingsError:
            Diagnosis("invalid_setting", TerminalText.escaped(error.message), hint: error.hint, exitCode: .usage)
        case let error as CredentialError: diagnosis(of: error)
        case let error as ServerURLError: diagnosis(of: error)
        case let error as SpoolError: diagnosis(of: error)
        case let error as SourceFileError: diagnosis(of: error)
        case let error as TransportError:
            Diagnosis("transport_failed", "the network cannot be used: \(clean(error.description))", exitCode: .network)
        default: Diagnosis("internal_error", clean(String(describing: error)), exitCode: .failure)
        }
    }

    // MARK: Local errors

    static func diagnosis(of error: StoreError) -> Diagnosis {
        let path = quoted(error.path)
        let detail = error.detail.isEmpty ? "" : ": \(clean(error.detail))"
        let store = error.path.hasSuffix("tokens.sqlite") ? "token store" : "store"
        let elsewhere =
            error.path.hasSuffix("/temporary.sqlite")
            ? "name another directory for temporary files in TMPDIR" : "use another directory with --data-dir DIR"
        let (message, hint): (String, String) =
            switch error.kind {
            case .notWritable: ("cannot write \(path)\(detail)", "check its permissions, or \(elsewhere)")
            case .full: ("no space left for \(path)\(detail)", "free some space, or \(elsewhere)")
            case .corrupt where error.path.hasSuffix("index.sqlite"):
                ("\(path) is not a usable \(store)\(detail)", "run mediactl sync, which builds it anew")
            case .corrupt:
                ("\(path) is not a usable \(store)\(detail)", "nothing was changed; restore a copy, or \(elsewhere)")
            case .newerVersion:
                ("\(path) was written by a newer version of mediactl\(detail)", "update mediactl, or \(elsewhere)")
            case .busy: ("\(path) is held by another process\(detail)", "try again when the other mediactl has ended")
            case .networkFileSystem:
                ("\(path) lies on a network file system, which cannot keep a \(store) safe\(detail)", elsewhere)
            case .unsafe: ("\(path) belongs to somebody else or is not a plain file\(detail)", elsewhere)
            case .other: ("the \(store) \(path) failed\(detail)", elsewhere)
            }
        return Diagnosis(
            "store_unusable",
            message,
            hint: hint,
            exitCode: .store,
            isRetryable: error.kind == .busy
        )
    }

    private static func diagnosis(of error: CredentialError) -> Diagnosis {
        let code = ExitCode(rawValue: error.exitCode) ?? .unauthorized
        let name = code == .interrupt ? "interrupted" : code == .usage ? "usage" : "no_credentials"
        return Diagnosis(name, clean(error.message), hint: error.hint, exitCode: code)
    }

    private static func diagnosis(of error: ServerURLError) -> Diagnosis {
        let (message, hint): (String, String) =
            switch error {
            case .malformed(let reason):
                ("the server's address is not an address: \(clean(reason))", "write it like https://media.example.org")
            case .unsupportedScheme(let scheme):
                ("the scheme \(quoted(scheme)) is not supported", "use https:// or http://")
            case .containsCredentials:
                (
                    "the server's address contains credentials",
                    "leave them out; use --user NAME and --password-file FILE, or MEDIACTL_PASSWORD"
                )
            case .containsPath(let suggestion):
                ("the server's address has a path", "use --server \(clean(suggestion))")
            }
        return Diagnosis("invalid_server", message, hint: hint, exitCode: .usage)
    }

    /// A directory that cannot be watched.
    private static func diagnosis(of error: SourceFileError) -> Diagnosis {
        let reason =
            switch error.kind {
            case .notFound: "no such directory"
            case .permissionDenied: "permission denied"
            case .isDirectory, .notRegular, .empty: "it is no directory"
            case .io(let code): String(cString: strerror(code)).lowercased()
            }
        return Diagnosis(
            "cannot_watch",
            "cannot watch \(quoted(error.path)): \(reason)",
            hint: "check the path given with --watch",
            exitCode: .usage
        )
    }

    private static func diagnosis(of error: SpoolError) -> Diagnosis {
        switch error {
        case .tooLarge(let limit):
            Diagnosis(
                "file_too_large",
                "standard input is larger than the limit of \(limit) bytes",
                exitCode: .usage
            )
        case .unreadable(let errno):
            Diagnosis(
                "file_unreadable",
                "cannot read standard input: \(String(cString: strerror(errno)).lowercased())",
                exitCode: .usage
            )
        case .cancelled: Diagnosis("cancelled", "cancelled", exitCode: .interrupt)
        }
    }

    // MARK: Words

    /// Foreign text, safe for a terminal and on one line, without the full stop that servers like.
    static func clean(_ text: String) -> String {
        let trimmed = text.trimmingCharacters(in: .whitespacesAndNewlines)
        return TerminalText.escaped(inOurStyle(trimmed.hasSuffix(".") ? String(trimmed.dropLast()) : trimmed))
    }

    /// libcurl's sentences begin with a capital letter, and some end with the name of the error, which says nothing new.
    private static func inOurStyle(_ text: String) -> String {
        let openings: Set<Substring> = [
            "Failed", "Could", "Couldn't", "Connection", "Operation", "Timeout", "Recv", "Send", "Empty", "Server",
            "Resolving", "Closing", "Transferred", "Unable",
        ]
        var text = text[...]
        for ending in [": Couldn't connect to server", ": Could not connect to server"] where text.hasSuffix(ending) {
            text = text.dropLast(ending.count)
        }
        let first = text.prefix { $0 != " " }
        return openings.contains(first) ? text.prefix(1).lowercased() + text.dropFirst() : String(text)
    }

    static func quoted(_ text: String) -> String { "\"\(TerminalText.escaped(text))\"" }
    static func quoted(_ path: [UInt8]) -> String { "\"\(TerminalText.escaped(path))\"" }
}
