public import Testing

/// Runs a suite ahead of the others.
///
/// Swift Testing starts all tests concurrently on as many threads as there are processors. After each suspension, a
/// test continues only after hundreds of others have run, some of which block: many seconds after the event. A test
/// that must act within a limited time (a delayed response, a transfer in progress) cannot wait that long.
/// High-priority tasks have a separate queue.
public struct PromptTrait: SuiteTrait, TestScoping {
    /// Runs the suite in a high-priority task; the tasks of its tests inherit the priority.
    public func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        try await withoutActuallyEscaping(function) { function in
            try await Task(priority: .high) { try await function() }.value
        }
    }
}

extension Trait where Self == PromptTrait {
    /// For suites that must react to events within a limited time.
    public static var prompt: PromptTrait { PromptTrait() }
}
