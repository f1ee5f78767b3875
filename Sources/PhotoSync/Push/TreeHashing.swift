package import Foundation
internal import MediaCore
package import MediaStore
package import MediaSystem
package import MediaTransport
internal import Synchronization

/// Computes the SHA-256 of many files on all cores.
///
/// Files unchanged since they were cached are not opened. Other files are read once, sequentially, with one buffer per
/// thread to bound memory; a file that changes while it is read does not get a digest.
package struct TreeHashing: Sendable {
    package struct Digest: Sendable, Equatable {
        /// SHA-256, 64 lowercase hexadecimal digits.
        package var sha256: String
        /// The file's identity, equal before and after it was read.
        package var identity: FileIdentity
    }

    /// The digest of a file, or an error: `.fileNotFound`, `.fileUnreadable`, `.notRegularFile`, `.emptyFile`,
    /// `.sourceChanged`, `.cancelled`.
    package typealias Outcome = Result<Digest, PhotoSyncError>

    fileprivate let hashes: HashCache?
    fileprivate let now: @Sendable () -> Date
    private let threads: Int

    /// `hashes` is read and updated; nil to read all files. `threads` is the number of files read in parallel; nil for one
    /// per core.
    package init(hashes: HashCache?, threads: Int? = nil, now: @escaping @Sendable () -> Date = { Date() }) {
        self.hashes = hashes
        self.now = now
        self.threads = max(1, threads ?? ProcessInfo.processInfo.activeProcessorCount)
    }

    /// The outcomes for at most a few thousand files, in the order of the files; `forEachBlock` accepts any number. A
    /// stop stops reading after the current block; files without a digest are then `.cancelled`. `onRead` is called
    /// with the number of bytes read, block by block, from any thread and possibly concurrently.
    package func digests(
        of paths: [[UInt8]],
        control: TransferControl = TransferControl(),
        onRead: @escaping @Sendable (Int) -> Void = { _ in }
    ) async -> [Outcome] {
        let work = HashWork(self, paths, control: control, onRead: onRead)
        await BlockingWork.run { work.lookUp() }
        let count = min(threads, work.unknownCount)
        await withBoundedTasks(0..<count, limit: count) { _ in await BlockingWork.run { work.hashUnknown() } }
        return work.outcomes
    }

    /// The digest of one file. Blocks. Stopping `control` stops reading with `.cancelled`.
    func digest(of path: [UInt8], control: TransferControl) -> Outcome {
        let work = HashWork(self, [path], control: control, onRead: { _ in })
        work.lookUp()
        work.hashUnknown()
        return work.outcomes[0]
    }

    /// Like `digests`, for any number of files; each block of `blockSize` files is hashed while `body` processes the
    /// previous one. Blocks are not started after a stop. `body` receives a block's range in `paths` and its outcomes;
    /// an error that it throws stops the hashing.
    package func forEachBlock(
        of paths: [[UInt8]],
        blockSize: Int = 1_000,
        control: TransferControl = TransferControl(),
        onRead: @escaping @Sendable (Int) -> Void = { _ in },
        _ body: (Range<Int>, [Outcome]) async throws -> Void
    ) async throws {
        let blocks = paths.indices.chunks(of: blockSize)
        guard let first = blocks.first else { return }
        var outcomes = await digests(of: Array(paths[first]), control: control, onRead: onRead)
        for (number, block) in blocks.enumerated() {
            let following = number + 1 < blocks.count && !control.isStopRequested ? blocks[number + 1] : nil
            // Stopped when `body` throws, so reading does not delay the error.
            let reading = control.linked()
            async let next = digests(of: following.map { Array(paths[$0]) } ?? [], control: reading, onRead: onRead)
            do {
                try await body(block, outcomes)
            } catch {
                reading.abandon()
                throw error
            }
            outcomes = await next
            if following == nil { return }
        }
    }
}

private final class HashWork: Sendable {
    private let hashing: TreeHashing
    private let paths: [[UInt8]]
    private let control: TransferControl
    private let onRead: @Sendable (Int) -> Void
    private let state: Mutex<State>

    private struct State {
        var outcomes: [TreeHashing.Outcome?]
        /// Indexes of the files to read, in reverse order.
        var unknown: [Int] = []
    }

    init(
        _ hashing: TreeHashing,
        _ paths: [[UInt8]],
        control: TransferControl,
        onRead: @escaping @Sendable (Int) -> Void
    ) {
        self.hashing = hashing
        self.paths = paths
        self.control = control
        self.onRead = onRead
        state = Mutex(State(outcomes: [TreeHashing.Outcome?](repeating: nil, count: paths.count)))
    }

    var unknownCount: Int { state.withLock { $0.unknown.count } }

    var outcomes: [TreeHashing.Outcome] {
        state.withLock { $0.outcomes.map { $0 ?? .failure(PhotoSyncError(.cancelled)) } }
    }

    func lookUp() {
        let identities = paths.map { control.isStopRequested ? nil : FileIdentity(ofRegularFile: $0) }
        var known = (hashing.hashes?.digests(of: identities.compactMap(\.self)) ?? []).makeIterator()
        var unknown: [Int] = []
        var outcomes: [TreeHashing.Outcome?] = []
        outcomes.reserveCapacity(paths.count)
        for (position, identity) in identities.enumerated() {
            // Opening a file without an identity yields the error.
            if let identity, let sha256 = known.next() ?? nil {
                outcomes.append(.success(TreeHashing.Digest(sha256: sha256, identity: identity)))
            } else {
                outcomes.append(nil)
                unknown.append(position)
            }
        }
        state.withLock { $0 = State(outcomes: outcomes, unknown: unknown.reversed()) }
    }

    /// Reads files until none are left. Runs on several threads.
    func hashUnknown() {
        let reader = Result { () throws(PhotoSyncError) in try FileReader(control: control, onRead: onRead) }
        while !control.isStopRequested, let position = state.withLock({ $0.unknown.popLast() }) {
            let outcome = Result { () throws(PhotoSyncError) in try hash(paths[position], with: reader.get()) }
            state.withLock { $0.outcomes[position] = outcome }
        }
    }

    private func hash(_ path: [UInt8], with reader: FileReader) throws(PhotoSyncError) -> TreeHashing.Digest {
        let began = hashing.now()
        let digest = try reader.digest(of: path)
        hashing.hashes?.keep(digest.sha256, for: digest.identity, readingBegan: began)
        return digest
    }
}
