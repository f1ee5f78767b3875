import Foundation
import MediaStore
import Synchronization
import Testing

@Suite("Album lock")
struct AlbumLockTests {
    let fixture: StoreFixture

    init() throws { fixture = try StoreFixture() }

    private var directory: DataDirectory { fixture.directory }

    @Test("the lock is mutually exclusive between the tasks of one process as well")
    func oneTaskAtATime() async throws {
        let owners = Owners()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<16 {
                group.addTask {
                    for _ in 0..<20 {
                        let lock = try await AlbumLock.acquire(.tape("t"), in: directory)
                        owners.come()
                        await Task.yield()
                        owners.go()
                        lock.release()
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(owners.counts.withLock { $0.most } == 1)
        #expect(owners.counts.withLock { $0.total } == 320)
    }

    private final class Owners: Sendable {
        let counts = Mutex((now: 0, most: 0, total: 0))

        func come() { counts.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1), $0.total + 1) } }

        func go() { counts.withLock { $0.now -= 1 } }
    }

    @Test("locking another tape, or a library with the same ID, does not wait")
    func others() async throws {
        let locks = [
            try await AlbumLock.acquire(.tape("t"), in: directory),
            try await AlbumLock.acquire(.tape("u"), in: directory),
            try await AlbumLock.acquire(.folderLibrary("t"), in: directory),
        ]
        withExtendedLifetime(locks) {}
    }

    @Test("a lock held by another process blocks until it is released or that process exits")
    func otherProcess() async throws {
        let owner = try WorkerProcess(["album-lock", directory.path, "t"])
        #expect(try owner.line() == "locked")
        let waiter = Task { try await AlbumLock.acquire(.tape("t"), in: directory) }
        try await Self.untilAThreadWaits()
        owner.killNow()
        try await waiter.value.release()
    }

    @Test("canceling stops the wait and does not acquire the lock")
    func cancelling() async throws {
        let owner = try await AlbumLock.acquire(.tape("t"), in: directory)
        let waiter = Task { try await AlbumLock.acquire(.tape("t"), in: directory) }
        try await Self.untilAThreadWaits()
        waiter.cancel()
        await #expect(throws: CancellationError.self) { try await waiter.value }
        owner.release()
        // The thread that is still waiting releases the lock when it gets it.
        try await AlbumLock.acquire(.tape("t"), in: directory).release()
    }

    /// Waits until a thread of this process is in fcntl (72 on x86-64, 25 on arm64), as a thread waiting for a lock is.
    private static func untilAThreadWaits() async throws {
        let deadline = ContinuousClock.now + .seconds(20)
        while ContinuousClock.now < deadline {
            let tasks = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")
            let isWaiting = tasks.contains { task in
                let call = try? String(contentsOfFile: "/proc/self/task/\(task)/syscall", encoding: .utf8)
                return call.map { ["72", "25"].contains(String($0.prefix { $0 != " " })) } ?? false
            }
            if isWaiting { return }
            await Task.yield()
        }
        Issue.record("no process waits")
    }
}
