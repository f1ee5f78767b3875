public import Testing

/// Runs a suite ahead of the others.
///
/// Swift Testing starts all tests at once on as many threads as there are processors. Whatever a test awaits, it then
/// goes on only after hundreds of others have had their turn, some of which block: many seconds after the event. A test
/// that must act while something lasts (an answer that is held back, a transfer under way) cannot wait that long.
/// Tasks of high priority have a queue of their own.
public struct PromptTrait: SuiteTrait, TestScoping {
    /// Runs the suite in a task of high priority, which the tasks of its tests inherit.
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
    /// For suites that act on events while something lasts.
    public static var prompt: PromptTrait { PromptTrait() }
}
