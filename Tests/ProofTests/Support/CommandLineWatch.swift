import Foundation
import Synchronization

/// Collects `/proc/<pid>/cmdline` until the process has exited.
final class CommandLineWatch: Sendable {
    private let seen = Mutex<Set<String>>([])
    private let isOver = Mutex(false)

    init(_ processID: Int32) {
        Thread.detachNewThread { [self] in
            while !isOver.withLock({ $0 }) {
                let path = "/proc/\(processID)/cmdline"
                guard let data = FileManager.default.contents(atPath: path), !data.isEmpty else { return }
                seen.withLock { _ = $0.insert(String(decoding: data, as: UTF8.self)) }
                usleep(1000)
            }
        }
    }

    func end() -> Set<String> {
        isOver.withLock { $0 = true }
        return seen.withLock { $0 }
    }
}
