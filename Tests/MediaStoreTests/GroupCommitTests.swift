import Dispatch
import TestSupport
import Testing

@testable import MediaStore

@Suite("Group commit")
struct GroupCommitTests {
    let fixture: StoreFixture
    let timer = ManualTimer()

    init() throws { fixture = try StoreFixture() }

    private func store() throws -> TokenStore {
        try TokenStore(
            in: fixture.directory,
            fileSystem: .local,
            busyLimit: .seconds(5),
            groupTimer: { [timer] in timer.set($0, $1) }
        )
    }

    private func waits(_ count: Int, _ store: TokenStore, timers: Int = 1) async {
        while store.commits.waitingCount != count || timer.count != timers { await Task.yield() }
    }

    @Test("a deferred change is written after at most 2 ms")
    func timeUp() async throws {
        let store = try store()
        async let first: Void = commit(1, in: store, isUrgent: false)
        await waits(1, store)
        async let second: Void = commit(2, in: store, isUrgent: false)
        await waits(2, store)
        #expect(timer.count == 1)
        #expect(timer.longestDelay <= .milliseconds(2))
        #expect(try store.tokens(host: nil).isEmpty)
        let before = try fixture.commitCount()
        timer.expire(0)
        _ = try await (first, second)
        #expect(try store.tokens(host: nil).count == 2)
        #expect(try fixture.commitCount() - before == 1)
    }

    @Test("an urgent change includes the deferred ones in its commit")
    func urgent() async throws {
        let store = try store()
        async let patient: Void = commit(1, in: store, isUrgent: false)
        await waits(1, store)
        let before = try fixture.commitCount()
        try await commit(2, in: store, isUrgent: true)
        try await patient
        #expect(try store.tokens(host: nil).count == 2)
        #expect(try fixture.commitCount() - before == 1)
    }

    @Test("an urgent change by itself does not start a timer")
    func urgentAlone() async throws {
        let store = try store()
        try await commit(1, in: store, isUrgent: true)
        #expect(timer.count == 0)
    }

    @Test("64 changes are written without waiting for the timer")
    func fullGroup() async throws {
        let store = try store()
        let before = try fixture.commitCount()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for fileID in 1...Int64(GroupCommit.groupLimit) {
                group.addTask { try await commit(fileID, in: store, isUrgent: false) }
            }
            try await group.waitForAll()
        }
        #expect(GroupCommit.groupLimit == 64)
        #expect(try store.tokens(host: nil).count == 64)
        #expect(try fixture.commitCount() - before == 1)
    }

    @Test("changes that gather while the writer is busy are all written, even more than 64")
    func moreThanAGroup() async throws {
        let store = try store()
        store.commits.writer.suspend()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for fileID in 1...Int64(100) {
                group.addTask { try await commit(fileID, in: store, isUrgent: false) }
            }
            while store.commits.waitingCount != 100 { await Task.yield() }
            store.commits.writer.resume()
            try await group.waitForAll()
        }
        #expect(try store.tokens(host: nil).count == 100)
    }

    @Test("the timer of a group that was written does not commit the next one")
    func lateTimer() async throws {
        let store = try store()
        async let first: Void = commit(1, in: store, isUrgent: false)
        await waits(1, store)
        try await commit(2, in: store, isUrgent: true)
        try await first
        async let second: Void = commit(3, in: store, isUrgent: false)
        await waits(1, store, timers: 2)
        timer.expire(0)
        #expect(store.commits.waitingCount == 1)
        #expect(try store.tokens(host: nil).count == 2)
        timer.expire(1)
        try await second
        #expect(try store.tokens(host: nil).count == 3)
    }

    @Test("the store's own timer expires")
    func realTimer() async throws {
        let store = try fixture.store()
        try await commit(1, in: store, isUrgent: false)
        #expect(try store.tokens(host: nil).count == 1)
    }

    @Test("a withdrawn intent leaves no row")
    func withdrawal() async throws {
        let store = try fixture.store()
        let record = sampleRecord("u-1", state: .sending)
        try await store.plan(record, isUrgent: false)
        #expect(try store.upload("u-1") == record)
        try await store.withdraw("u-1")
        #expect(try store.upload("u-1") == nil)
    }
}

private func commit(_ fileID: Int64, in store: TokenStore, isUrgent: Bool) async throws {
    try await store.commit("u-none", UploadChange(), token: sampleEntry(fileID: fileID), isUrgent: isUrgent)
}
