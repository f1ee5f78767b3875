internal import MediaCore
internal import MediaFiles
internal import MediaSystem
internal import Synchronization

/// Directories of originals whose file systems do not respond (rule R14). Determined once for all steps of a command,
/// so no step waits for the same file system again.
package struct SilentDirectories: Sendable, Equatable {
    /// Paths as bytes.
    package private(set) var paths: Set<[UInt8]> = []

    /// Creates an empty set: all directories are assumed to respond.
    package init() {}

    /// Checks one file in each directory, in parallel, with one time limit for all. A directory that is not checked in
    /// time counts as silent.
    ///
    /// - Parameters:
    ///   - files: Paths of originals, absolute, as bytes.
    ///   - limit: The time limit for all directories together.
    ///   - noticeTime: The time until `onWait` is called.
    ///   - onWait: Called once with the directories that have not responded yet, in order.
    ///   - check: Accesses a file; may block.
    /// - Throws: `TapesError` `.cancelled`.
    init(
        of files: [[UInt8]],
        limit: Duration = OriginalReading.stepLimit,
        noticeTime: Duration = .seconds(2),
        onWait: @escaping @Sendable ([[UInt8]]) -> Void = { _ in },
        check: @escaping @Sendable ([UInt8]) -> Void = { _ = FileIdentity(ofRegularFile: $0) }
    ) async throws(TapesError) {
        let groups = Dictionary(files.map { ($0.directoryOfPath, $0) }) { first, _ in first }
        let waiting = Waiting(Set(groups.keys))
        let notice = Task {
            try await Task.sleep(for: noticeTime)
            let paths = waiting.paths
            if !paths.isEmpty { onWait(paths.sorted { $0.lexicographicallyPrecedes($1) }) }
        }
        defer { notice.cancel() }
        let deadline = ContinuousClock.now + limit
        let results = await withBoundedTasks(groups, limit: Self.maximumThreads) { directory, file in
            await Result(awaiting: { () async throws(TapesError) -> Void in
                let rest = ContinuousClock.now.duration(to: deadline)
                guard rest > .zero, try await OriginalReading.bounded(within: rest, { _ in check(file) }) != nil
                else { return }
                waiting.remove(directory)
            })
        }
        for result in results { try result.get() }
        paths = waiting.paths
    }

    /// Whether the directory of a file does not respond.
    package func contains(_ file: [UInt8]) -> Bool { paths.contains(file.directoryOfPath) }

    /// Each silent directory occupies a thread.
    private static let maximumThreads = 64

    private final class Waiting: Sendable {
        private let directories: Mutex<Set<[UInt8]>>

        init(_ paths: Set<[UInt8]>) {
            directories = Mutex(paths)
        }

        var paths: Set<[UInt8]> { directories.withLock { $0 } }

        func remove(_ path: [UInt8]) { directories.withLock { _ = $0.remove(path) } }
    }
}
