internal import Synchronization

/// The result of a run, counted item by item.
protocol ReportedResult: Sendable {
    associatedtype Item: Sendable
    associatedtype Progress: Sendable
    static var nothing: (result: Self, progress: Progress) { get }
    mutating func count(_ item: Item)
}

/// Counts results, and delivers events to the caller one at a time.
final class RunReport<Outcome: ReportedResult>: Sendable {
    private let state = Mutex(Outcome.nothing)
    private let onItem: @Sendable (Outcome.Item) -> Void
    private let onProgress: (@Sendable (Outcome.Progress) -> Void)?

    init(
        onItem: @escaping @Sendable (Outcome.Item) -> Void,
        onProgress: (@Sendable (Outcome.Progress) -> Void)?
    ) {
        self.onItem = onItem
        self.onProgress = onProgress
    }

    var wantsProgress: Bool { onProgress != nil }

    var result: Outcome { state.withLock { $0.result } }

    func end(_ item: Outcome.Item) {
        state.withLock { state in
            state.result.count(item)
            onItem(item)
        }
    }

    /// Changes counts that are not determined by items.
    func change(_ change: (inout Outcome) -> Void) { state.withLock { change(&$0.result) } }

    func progress(_ change: (inout Outcome.Progress) -> Void) {
        state.withLock { state in
            change(&state.progress)
            onProgress?(state.progress)
        }
    }
}
