internal import Foundation
internal import MediaSystem

/// The buffers between the thread that appends bytes and the thread that hashes them.
///
/// Unchecked: three rules guard the state.
/// - `spare`, `filled` and the flags are accessed with `condition` locked.
/// - `open`, `byteCount`, `marked` and `markedByteCount` belong to the one caller of `append`, `mark`, `restart` and
///   `finish`.
/// - `hasher` and the bytes of the oldest filled block belong to the thread that has set `isHashing`; while that is
///   false, to the thread that holds the lock.
final class HashRing: @unchecked Sendable {
    typealias Outcome = Result<(digest: SHA256Digest, byteCount: Int64), CryptoError>

    static let blockSize = 256 << 10
    static let blockCount = 6
    /// This many full blocks (1 MiB) may wait for `finish` before a thread is started.
    static let blocksWithoutThread = 4

    /// Whether `append` itself hashes. For a short input, this takes little longer than copying it for another thread,
    /// and parallel uploads do not need separate buffers.
    private let hashesAtOnce: Bool
    private let condition = NSCondition()
    private var hasher: SHA256Hasher

    private var open: Block?
    private var byteCount: Int64 = 0
    private var marked: SHA256Hasher
    private var markedByteCount: Int64 = 0

    /// Number of allocated blocks; never more than `blockCount`.
    private(set) var allocated = 0
    private var spare: [Block] = []
    private var filled: [Block] = []
    private var isThreadRunning = false
    private var isHashing = false
    private var isAbandoned = false
    private var waiter: Waiter?

    /// Receives the digest of this many bytes.
    private struct Waiter {
        let byteCount: Int64
        let receive: @Sendable (Outcome) -> Void
    }

    init(hashesAtOnce: Bool) throws(CryptoError) {
        self.hashesAtOnce = hashesAtOnce
        hasher = try SHA256Hasher()
        marked = try SHA256Hasher()
        spare.reserveCapacity(Self.blockCount)
        filled.reserveCapacity(Self.blockCount)
    }

    deinit {
        open?.storage.deallocate()
        for block in spare { block.storage.deallocate() }
        while let block = filled.takeFirst() { block.storage.deallocate() }
    }

    func append(_ bytes: UnsafeRawBufferPointer) {
        byteCount += Int64(bytes.count)
        guard !hashesAtOnce else { return condition.withLock { hasher.update(bytes) } }
        var rest = bytes[...]
        while !rest.isEmpty {
            var block = open ?? takeEmptyBlock()
            let piece = rest.prefix(Self.blockSize - block.count)
            let target = UnsafeMutableRawBufferPointer(start: block.storage + block.count, count: piece.count)
            target.copyMemory(from: UnsafeRawBufferPointer(rebasing: piece))
            block.count += piece.count
            rest = rest.dropFirst(piece.count)
            if block.count == Self.blockSize {
                open = nil
                handOver(block)
            } else {
                open = block
            }
        }
    }

    func mark() {
        let last = open
        open = nil
        condition.lock()
        defer { condition.unlock() }
        if let last { filled.append(last) }
        condition.broadcast()
        while isThreadRunning && (isHashing || !filled.isEmpty) { condition.wait() }
        hashFilled()
        marked.resume(from: hasher)
        markedByteCount = byteCount
    }

    /// Drops all bytes since the mark, including bytes that have not been hashed yet.
    func restart() {
        byteCount = markedByteCount
        condition.withLock {
            while isHashing { condition.wait() }
            while let block = filled.takeFirst() { spare.append(block.emptied()) }
            if let open { spare.append(open.emptied()) }
            hasher.resume(from: marked)
        }
        open = nil
    }

    /// Hashes the rest and calls `receive` once, on the hashing thread if there is one, otherwise on the calling
    /// thread.
    func finish(_ receive: @escaping @Sendable (Outcome) -> Void) {
        let last = open
        open = nil
        condition.lock()
        if let last { filled.append(last) }
        guard isThreadRunning else {
            condition.unlock()
            receive(hashInline())
            return
        }
        waiter = Waiter(byteCount: byteCount, receive: receive)
        condition.broadcast()
        condition.unlock()
    }

    var hasThread: Bool { condition.withLock { isThreadRunning } }

    /// Stops the thread, even with bytes left to hash.
    func abandon() {
        condition.withLock {
            isAbandoned = true
            condition.broadcast()
        }
    }

    /// A spare block, a new one while the ring may grow, or else the next one that hashing releases.
    private func takeEmptyBlock() -> Block {
        condition.withLock {
            // The block used last is most likely still in the cache; if hashing is fast, the ring keeps a few blocks.
            while true {
                if let block = spare.popLast() { return block }
                if allocated < Self.blockCount {
                    allocated += 1
                    return Block()
                }
                condition.wait()
            }
        }
    }

    private func handOver(_ block: Block) {
        let needsThread = condition.withLock {
            filled.append(block)
            if isThreadRunning {
                condition.broadcast()
                return false
            }
            isThreadRunning = filled.count > Self.blocksWithoutThread
            return isThreadRunning
        }
        guard needsThread, DedicatedThread.start({ self.run() }) != 0 else { return }
        // Without a thread, hashing is slower but correct.
        condition.withLock { isThreadRunning = false }
        _ = hashInline()
    }

    /// Hashes the filled blocks on the calling thread. No hashing thread is running.
    private func hashInline() -> Outcome {
        condition.withLock {
            hashFilled()
            return outcome(of: byteCount)
        }
    }

    /// The caller holds the lock, and no hashing thread has bytes to hash.
    private func hashFilled() {
        while let block = filled.takeFirst() {
            hasher.update(block.bytes)
            spare.append(block.emptied())
        }
    }

    private func outcome(of byteCount: Int64) -> Outcome {
        do {
            return .success((try hasher.snapshot(), byteCount))
        } catch {
            return .failure(error)
        }
    }

    /// The hashing thread: runs until a waiter has its digest or the ring is abandoned.
    private func run() {
        condition.lock()
        while !isAbandoned {
            if let block = filled.takeFirst() {
                isHashing = true
                condition.unlock()
                hasher.update(block.bytes)
                condition.lock()
                isHashing = false
                spare.append(block.emptied())
                condition.broadcast()
            } else if let waiter {
                self.waiter = nil
                isThreadRunning = false
                let outcome = outcome(of: waiter.byteCount)
                condition.unlock()
                waiter.receive(outcome)
                return
            } else {
                condition.wait()
            }
        }
        condition.unlock()
    }
}

/// A buffer of `HashRing.blockSize` bytes and the number of bytes used. Freed by the ring.
private struct Block {
    let storage = UnsafeMutableRawPointer.allocate(byteCount: HashRing.blockSize, alignment: 64)
    var count = 0

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: storage, count: count) }

    func emptied() -> Block {
        var block = self
        block.count = 0
        return block
    }
}

extension [Block] {
    fileprivate mutating func takeFirst() -> Block? { isEmpty ? nil : removeFirst() }
}
