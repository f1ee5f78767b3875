import Foundation
import MediaStore
import TestSupport
import Testing

@testable import Tapes

/// R2, R4, R7: the process is killed between any two steps, is stopped, or is not alone: one album, each asset once, no
/// clip lost.
@Suite struct AlbumKillTests {
    private static let ofAdding: [TapeFailpoint] = [
        .clipsCommitted, .lockTaken, .intentKept, .albumCreated, .linkKept, .assetsResolved, .assetsAdded,
        .clipsRecorded,
    ]

    @Test("R2, R7: kill -9 between any two steps", arguments: ofAdding)
    func killed(_ point: TapeFailpoint) async throws {
        let bench = try AlbumBench.shared()
        let id = try bench.tape("Summer", ["a", "b"])
        let place = [point.rawValue, bench.temporary.path, id]
        await #expect(processExitsWith: .signal(SIGKILL)) { [place = place as [String]] in
            setenv("MEDIACTL_KILL_AT", place[0], 1)
            _ = try await AlbumBench.service(in: place[1]).associate(place[2])
        }
        // Committed clips stay committed.
        #expect(try bench.store.clips(of: id).count == 2)
        let outcome = try await bench.service().associate(id)
        #expect(outcome.state == .associated)
        #expect(bench.library.albums.count == 1)
        #expect(try bench.assets(id) == ["/a", "/b"] && bench.clips(id) == ["a linked", "b linked"])
        #expect(bench.library.calls.count { $0.name == "create" } == 1)
    }

    @Test("R4, R5: kill -9 while an album is recreated", arguments: [.intentKept, .albumCreated] as [TapeFailpoint])
    func killedAgain(_ point: TapeFailpoint) async throws {
        let bench = try AlbumBench.shared()
        let id = try await bench.associated("Summer", ["a"])
        bench.library.meddle { $0.albums = [:] }
        try bench.add(["b"], to: id)
        let place = [point.rawValue, bench.temporary.path, id]
        await #expect(processExitsWith: .signal(SIGKILL)) { [place = place as [String]] in
            setenv("MEDIACTL_KILL_AT", place[0], 1)
            _ = try await AlbumBench.service(in: place[1]).associate(place[2])
        }
        #expect(try bench.state(id) == "pending_association album_missing")
        #expect(try await bench.service().associate(id).state == .associated)
        #expect(bench.library.albums.count == 1)
        #expect(try bench.assets(id) == ["/a", "/b"])
    }

    @Test("R11: kill -9 while tape and album are deleted", arguments: [.tapeDeleted, .albumDeleted] as [TapeFailpoint])
    func killedDeleting(_ point: TapeFailpoint) async throws {
        let bench = try AlbumBench.shared()
        let id = try await bench.associated()
        let place = [point.rawValue, bench.temporary.path, id]
        await #expect(processExitsWith: .signal(SIGKILL)) { [place = place as [String]] in
            setenv("MEDIACTL_KILL_AT", place[0], 1)
            _ = try await AlbumBench.service(in: place[1], AlbumBench.deleting)
                .deleteTape(place[2], keepingAlbum: false)
        }
        #expect(try bench.store.tape(id) == nil && bench.store.albumTombstones().count == 1)
        #expect(try await bench.service(AlbumBench.deleting).reconcile(limit: 20) { _, _ in }.deletedAlbums == 1)
        #expect(try bench.library.albums.isEmpty && bench.store.albumTombstones().isEmpty)
    }

    @Test("R2.3: two processes that add concurrently create one album")
    func twoProcesses() async throws {
        let bench = try AlbumBench.shared()
        let id = try bench.tape()
        // Both reach the lock before either has it. An exit test occupies a thread of Swift's pool.
        let lock = try await AlbumLock.acquire(.tape(id), in: bench.directory)
        let count = min(2, ProcessInfo.processInfo.activeProcessorCount)
        let seen = Seen()
        Thread.detachNewThread {
            let deadline = ContinuousClock.now + .seconds(30)
            while (try? bench.store.clips(of: id).count) ?? 0 < count, ContinuousClock.now < deadline { usleep(1000) }
            seen.keep("calls \(bench.library.calls.count)")
            lock.release()
        }
        let place = [bench.temporary.path, id]
        async let first = #expect(processExitsWith: .success) { [place = place as [String]] in
            try await AlbumBench.addAndAssociate("a", in: place[0], place[1])
        }
        async let second = #expect(processExitsWith: .success) { [place = place as [String]] in
            try await AlbumBench.addAndAssociate("b", in: place[0], place[1])
        }
        _ = await (first, second)
        #expect(seen.all == ["calls 0"])
        #expect(bench.library.albums.count == 1)
        #expect(try bench.assets(id)?.sorted() == ["/a", "/b"])
        #expect(try bench.clips(id).sorted() == ["a linked", "b linked"])
    }

    @Test("R2.3: a clip that another process is adding is left to that process, and not counted as missing here")
    func clipOfAnotherProcess() async throws {
        let bench = try AlbumBench()
        let id = try bench.tape("Summer", ["a"])
        bench.library.configure { script in
            script.before = { call in
                if call.name == "add" { #expect(throws: Never.self) { try bench.add(["b"], to: id) } }
            }
        }
        // The bench has locked the library.
        defer { bench.library.configure { $0.before = nil } }
        let outcome = try await bench.service().associate(id)
        #expect(outcome.state == .associated && outcome.pendingClips == 0 && outcome.addedClips == 1)
        #expect(try bench.clips(id) == ["a linked", "b pending"])
    }

    @Test("R2.3: tasks of one process that add concurrently create one album")
    func manyTasks() async throws {
        let bench = try AlbumBench()
        let id = try bench.tape()
        bench.library.configure { script in
            // Time for the others to reach the same point.
            script.before = { call in
                if call.name == "create" { for _ in 0..<200 { await Task.yield() } }
            }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask {
                    try bench.add(["\(number)"], to: id)
                    _ = try await bench.service().associate(id)
                }
            }
            try await group.waitForAll()
        }
        #expect(bench.library.albums.count == 1 && bench.library.calls.count { $0.name == "create" } == 1)
        #expect(try bench.assets(id)?.count == 8 && bench.state(id) == "associated")
    }

    // MARK: Cancellation

    @Test(
        "cancellation at any step loses nothing, and the next run finishes the work",
        arguments: ["access", "identity", "create", "resolve", "add", "arrange"]
    )
    func cancelled(_ place: String) async throws {
        let bench = try AlbumBench()
        let id = try bench.tape("Summer", ["a", "b"])
        bench.library.configure { script in
            script.before = { call in
                if call.name == place { withUnsafeCurrentTask { $0?.cancel() } }
            }
        }
        let service = bench.service()
        let error = await #expect(throws: TapesError.self) {
            try await Task { () async throws in _ = try await service.associate(id) }.value
        }
        #expect(error?.code == .cancelled)
        // No failure: no reason, and no wait.
        #expect(try bench.store.clips(of: id).allSatisfy { $0.attempts == 0 && $0.reason == nil })
        bench.library.configure { $0.before = nil }
        #expect(try await bench.service().associate(id).state == .associated)
        #expect(bench.library.albums.count == 1)
        #expect(try bench.assets(id) == ["/a", "/b"])
    }

    @Test("canceled after the library has already applied the change", arguments: ["create", "add"])
    func cancelledLate(_ place: String) async throws {
        let bench = try AlbumBench()
        let id = try bench.tape("Summer", ["a", "b"])
        bench.library.configure { $0.lostResponses[place] = [AlbumError(.cancelled)] }
        let error = await #expect(throws: TapesError.self) { try await bench.service().associate(id) }
        #expect(error?.code == .cancelled)
        #expect(try await bench.service().associate(id).state == .associated)
        #expect(bench.library.albums.count == 1)
        #expect(try bench.assets(id) == ["/a", "/b"])
    }

    @Test("if canceled after a partial response, confirmed results are kept")
    func cancelledPartly() async throws {
        let bench = try AlbumBench()
        let id = try bench.tape("Summer", ["a", "b"])
        // The second request, about the asset that was refused, is canceled.
        bench.library.configure {
            $0.results["/b"] = [.notAllowed]
            $0.failures["resolve"] = [nil, AlbumError(.cancelled)]
        }
        await #expect(throws: TapesError.self) { try await bench.service().associate(id) }
        #expect(try bench.clips(id) == ["a linked", "b pending"])
    }

    @Test("canceled while another process works on the tape")
    func cancelledWaiting() async throws {
        let bench = try AlbumBench()
        let id = try bench.tape("Summer", ["a"])
        let lock = try await AlbumLock.acquire(.tape(id), in: bench.directory)
        let task = Task { [service = bench.service()] in try await service.associate(id) }
        task.cancel()
        let error = await #expect(throws: TapesError.self) { try await task.value }
        #expect(error?.code == .cancelled && bench.library.calls.isEmpty)
        lock.release()
        #expect(try await bench.service().associate(id).state == .associated)
    }
}
