import MediaStore
import Testing

@testable import PhotoSync

/// Expects an error with a given code, as `#expect(throws:)` expects an error of a given type.
@discardableResult
func expectFailure(
    _ code: OutcomeCode,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () async throws -> Void
) async -> PhotoSyncError? {
    do {
        try await body()
        Issue.record("no error instead of \(code)", sourceLocation: sourceLocation)
        return nil
    } catch {
        let error = error as? PhotoSyncError
        #expect(error?.code == code, sourceLocation: sourceLocation)
        return error
    }
}

extension SyncChanges {
    static func of(added: Int64 = 0, changed: Int64 = 0, gone: Int64 = 0) -> SyncChanges {
        var changes = SyncChanges()
        changes.added = added
        changes.changed = changed
        changes.gone = gone
        return changes
    }
}
