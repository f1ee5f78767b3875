internal import Foundation

/// Reads `/proc/*/cmdline` of watched children and their descendants, three levels deep, repeatedly while they run.
public final class ArgumentSampler: Sendable {
    /// One thread for all children.
    public static let shared = ArgumentSampler()

    private let watches = Locked<[Int32: SecretWatch]>([:])
    private let isRunning = Locked(false)
    private let waiters = Locked<[Waiter]>([])

    private struct Waiter {
        var rounds: Int
        let continuation: CheckedContinuation<Void, Never>
    }

    func add(_ processID: Int32, _ watch: SecretWatch) {
        watches.withLock { $0[processID] = watch }
        let isFirst = isRunning.withLock { isRunning in
            defer { isRunning = true }
            return !isRunning
        }
        if isFirst {
            Thread.detachNewThread { [self] in sample() }
        }
    }

    /// Waits until the arguments of every watched process have been read; there must be a child.
    public func nextRound() async {
        await withCheckedContinuation { continuation in
            // The current pass may already have missed a process.
            waiters.withLock { $0.append(Waiter(rounds: 2, continuation: continuation)) }
        }
    }

    func remove(_ processID: Int32) {
        watches.withLock { _ = $0.removeValue(forKey: processID) }
    }

    /// Forty times a second: a program started by mediactl runs longer, and its output is read in any case.
    private func sample() {
        while true {
            for (processID, watch) in watches.withLock({ $0 }) {
                look(at: processID, watch, depth: 0)
            }
            endRound()
            usleep(25_000)
        }
    }

    private func endRound() {
        let served = waiters.withLock { waiters in
            for index in waiters.indices { waiters[index].rounds -= 1 }
            let served = waiters.filter { $0.rounds == 0 }
            waiters.removeAll { $0.rounds == 0 }
            return served
        }
        for waiter in served { waiter.continuation.resume() }
    }

    private func look(at processID: Int32, _ watch: SecretWatch, depth: Int) {
        let place = "/proc/\(processID)"
        // A process that has exited has no arguments.
        guard depth < 4, let arguments = Self.bytes(place + "/cmdline") else { return }
        watch.look(at: arguments)
        for thread in Self.names(in: place + "/task") {
            guard let children = Self.bytes("\(place)/task/\(thread)/children") else { continue }
            for child in String(decoding: children, as: UTF8.self).split(separator: " ").compactMap({ Int32($0) }) {
                look(at: child, watch, depth: depth + 1)
            }
        }
    }

    // Not through Foundation, which leaks a buffer for each file of `/proc` that it reads, and is too slow for forty
    // passes a second.

    /// The first 64 KiB; nil if there are none.
    private static func bytes(_ path: String) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let bytes = [UInt8](unsafeUninitializedCapacity: 64 << 10) { buffer, count in
            count = max(0, read(descriptor, buffer.baseAddress, buffer.count))
        }
        return bytes.isEmpty ? nil : bytes
    }

    private static func names(in directory: String) -> [String] {
        guard let stream = opendir(directory) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }
}
