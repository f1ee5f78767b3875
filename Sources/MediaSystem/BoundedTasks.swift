/// Runs `body` in at most `limit` tasks in parallel (at least 1); returns when all have finished.
///
/// `next` is called when a task is free, and not again after nil. `ended` receives each result, one at a time; while
/// tasks are free, it may be called only after the next piece of work has arrived. Both run on `isolation`. Canceling
/// cancels the tasks; only `next` determines whether more are started.
package func withBoundedTasks<Work: Sendable, Value: Sendable>(
    limit: Int,
    isolation: isolated (any Actor)? = #isolation,
    next: () async -> Work?,
    ended: (Value) -> Void,
    _ body: @escaping @Sendable (Work) async -> Value
) async {
    await withTaskGroup(of: Value.self) { group in
        var running = 0
        while let work = await next() {
            group.addTask { await body(work) }
            running += 1
            if running >= limit, let value = await group.next() {
                running -= 1
                ended(value)
            }
        }
        for await value in group { ended(value) }
    }
}

/// Runs `body` for the elements of a sequence, in at most `limit` tasks in parallel. Returns the results in the order
/// of the elements.
@discardableResult
package func withBoundedTasks<Work: Sendable, Value: Sendable>(
    _ work: some Sequence<Work>,
    limit: Int,
    isolation: isolated (any Actor)? = #isolation,
    _ body: @escaping @Sendable (Work) async -> Value
) async -> [Value] {
    var rest = work.enumerated().makeIterator()
    var values: [Int: Value] = [:]
    await withBoundedTasks(limit: limit, next: { rest.next() }, ended: { values[$0] = $1 }) { work in
        (work.offset, await body(work.element))
    }
    return values.sorted { $0.key < $1.key }.map(\.value)
}
