internal import MediaStore
internal import PhotoSync

/// Prompts before a push tests again whether a server records the owner of an upload: the test is an upload, and a
/// server with the defect deletes it (photosync contract 3.5).
struct OwnershipGate: Sendable {
    let console: Console
    let account: SyncAccount
    let confirmation: Confirmation

    static let question = "Upload one photo to test it again?"

    /// Warns, in a dry run, that the push would prompt or fail.
    func warn() throws {
        guard try isNeeded else { return }
        console.warning(
            ErrorCatalog.userFacingError(of: PhotoSyncError(.ownershipDefect)).message,
            hint: "keep all local originals; a push uploads nothing unless you agree to test the server again"
        )
    }

    private var isNeeded: Bool { get throws { try account.index.ownsUploads(at: account.server) == false } }

    /// - Throws: `UserFacingError` if the user does not confirm; `StoreError`.
    func pass() async throws {
        guard try isNeeded else { return }
        guard confirmation.isGiven || confirmation.prompter.isAllowed else {
            var userFacingError = ErrorCatalog.userFacingError(of: PhotoSyncError(.ownershipDefect))
            userFacingError.hint =
                "keep all local originals; to test the server again with one upload, add --test-ownership"
            throw userFacingError
        }
        let lines = [
            "The last upload to \(ErrorCatalog.clean(account.server)) was not recorded as yours; such photos are deleted "
                + "by the server."
        ]
        guard try await confirmation.prompt(lines, Self.question, on: console) else {
            throw UserFacingError(.ownershipDefect, "nothing was pushed", exitCode: .failure)
        }
    }
}
