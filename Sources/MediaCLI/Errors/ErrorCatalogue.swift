internal import CaptureSubmission
internal import Foundation
internal import GigHive
internal import MediaCore
internal import MediaFiles
internal import MediaStore
internal import MediaTransport
internal import PhotoSync
internal import Tapes

/// The one place that turns errors into words and exit codes. Each system has a file of its own.
enum ErrorCatalogue {
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
            Diagnosis(
                "transport_failed",
                "the network cannot be used: \(foreign(error.description))",
                exitCode: .network
            )
        default: Diagnosis("internal_error", foreign(String(describing: error)), exitCode: .failure)
        }
    }

    // MARK: Words

    /// Free text of a server, or one that may repeat it: as `clean`, without known secrets.
    static func foreign(_ text: String) -> String { clean(KnownSecrets.masked(text)) }

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
