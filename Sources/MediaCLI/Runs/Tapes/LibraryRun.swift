internal import MediaStore
internal import Tapes

/// `tapes library …`: which library it is, and what it allows.
struct LibraryRun: Sendable {
    let session: TapesSession
    let service: AlbumService

    private var console: Console { session.console }

    /// Shows the library as it is. Changes nothing.
    ///
    /// - Throws: `TapesError`.
    func status(extra: JSONObject = [:]) async throws -> ExitCode {
        let service = service
        let status = try await console.context.interruption.cancelling { try await service.status() }
        return finish(status, extra: extra)
    }

    /// Asks for access: makes the root of a folder library, reads the rights of a key anew.
    ///
    /// - Throws: `TapesError`.
    func request(_ level: AccessLevel) async throws -> LibraryStatus {
        let service = service
        return try await console.context.interruption.cancelling { try await service.requestAccess(level) }
    }

    /// Shows what came of it, and ends.
    func finish(_ status: LibraryStatus, needs level: AccessLevel = .addOnly, extra: JSONObject) -> ExitCode {
        console.text(TextRenderer.library(status, style: console.outputStyle))
        if !service.policy.isEnabled {
            console.note(ReconcileRun.albumsAreOff)
        }
        let code = console.exitCode(exitCode(status, level))
        if code != .success {
            hint(status)
        }
        console.summary(
            JSONRenderer.library(status, session.settings.settings) + extra + [
                "exit_code": JSONRenderer.exitCode(code)
            ]
        )
        return code
    }

    /// Whether tapes may be added to it as it is.
    private func exitCode(_ status: LibraryStatus, _ level: AccessLevel) -> ExitCode {
        if let reason = status.reason { return reason.exitCode }
        let access = level == .addOnly ? status.addOnly : status.readWrite
        return access?.state == .authorized ? .success : .unauthorized
    }

    /// What to do next. A key cannot be widened from here.
    private func hint(_ status: LibraryStatus) {
        let missing = (status.addOnly?.state.missing ?? []) + (status.readWrite?.state.missing ?? [])
        if status.kind == "immich", !missing.isEmpty {
            console.note(
                "make a key with these permissions in the account settings of the server, under API keys; then "
                    + "mediactl tapes library init keeps it"
            )
        } else if let reason = status.reason {
            // That of access leads to this very command.
            let hint = reason.isOfAccess ? "mediactl tapes library grant asks again" : reason.hint
            if let hint { console.note(hint) }
        } else if status.addOnly?.state == .notDetermined, status.kind == "immich" {
            console.note("mediactl tapes library init --api-key-file FILE keeps its key")
        } else if status.addOnly?.state == .notDetermined {
            console.note(
                "mediactl tapes library init asks on a terminal; elsewhere albums.folder.root in the settings says where it may be"
            )
        }
    }
}
