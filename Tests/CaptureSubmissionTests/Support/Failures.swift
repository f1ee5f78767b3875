import CaptureSubmission
import Testing

/// Expects an error with a given code, as `#expect(throws:)` expects an error of a given type.
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
