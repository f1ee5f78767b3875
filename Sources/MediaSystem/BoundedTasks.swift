/// Runs work in tasks, a limited number of them in parallel; returns when all have ended.
///
/// Cancelling cancels the tasks; only `next` decides what is still begun.
///
/// - Parameters:
///   - limit: Tasks in parallel, at least 1.
///   - isolation: Of `next` and `ended`.
///   - next: The next piece of work, requested when a task is free for it; nil ends the requests.
///   - ended: Takes each result, one at a time. With tasks free it may be called only after the next piece has arrived.
///   - body: Does a piece of work.
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

/// As above, for the elements of a sequence.
///
/// - Returns: The results, in the order of the elements.
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
