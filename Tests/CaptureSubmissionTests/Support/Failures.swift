import CaptureSubmission
import Testing

/// Expects an error by its code, like `#expect(throws:)` by its type.
@discardableResult
func expectFailure(
    _ code: OutcomeCode,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () async throws -> Void
) async -> CaptureError? {
    do {
        try await body()
        Issue.record("no error instead of \(code)", sourceLocation: sourceLocation)
        return nil
    } catch {
        let error = error as? CaptureError
        #expect(error?.code == code, "\(String(describing: error))", sourceLocation: sourceLocation)
        return error
    }
}
