import Foundation
import GRDB
import Testing

@testable import MediaStore

@Suite("Many processes")
struct ManyProcessesTests {
    let fixture: StoreFixture

    init() throws { fixture = try StoreFixture() }

    /// Must match `Tests/StoreWorker/Mix.swift`.
    private static let rounds = 10

    @Test("16 processes mix upsert, delete, clear and list, one of them stopped during a write: nothing is lost")
    func mixed() throws {
        let store = try fixture.store()
        let mixers = try (1...15).map { try WorkerProcess(["mix", fixture.directory.path, "\($0)"]) }
        for mixer in mixers { #expect(try mixer.line() == "ready") }
        let stopped = try WorkerProcess(["commit-forever", fixture.directory.path])
        #expect(try stopped.line() == "ready")
        try stopInsideWrite(stopped, fixture)

        for mixer in mixers { mixer.send("go\n") }
        for mixer in mixers { try waitUntilAsleep(mixer) }
        #expect(mixers.allSatisfy { !$0.hasOutput })
        stopped.signal(SIGCONT)

        for mixer in mixers {
            #expect(try mixer.line() == "done")
            #expect(try mixer.wait() == 0)
        }
        let committed = try lastNumber(stopped)
        let kept = try store.tokens(host: "kept").map(\.fileID).sorted()
        #expect(kept == (1...15).flatMap { mixer in (0..<Self.rounds).map { Int64(mixer * 1000 + $0) } })
        #expect(try store.tokens(host: "deleted").isEmpty)
        #expect(try store.tokens(host: nil).allSatisfy { !$0.host.hasPrefix("cleared") })
        // Rows that were reported as committed are stored; the operation in progress when the worker was killed may be
        // stored as well.
        let forever = try store.tokens(host: "forever").map(\.fileID).sorted()
        #expect(forever == Array(1...Int64(forever.count)))
        #expect([committed, committed + 1].contains(forever.count))
        #expect(try store.connection.read { try String.fetchOne($0, sql: "PRAGMA integrity_check") } == "ok")
    }

    /// Stops the worker repeatedly until the database is locked while the worker is stopped.
    private func stopInsideWrite(_ worker: WorkerProcess, _ fixture: StoreFixture) throws {
        let probe = try fixture.rawDatabase()
        for _ in 0..<10_000 {
            worker.signal(SIGSTOP)
            try waitUntil { try worker.state() == "T" }
            if try isLocked(probe) { return }
            worker.signal(SIGCONT)
        }
        Issue.record("never stopped during a write")
    }

    private func isLocked(_ database: DatabaseQueue) throws -> Bool {
        do {
            try database.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE; ROLLBACK") }
            return false
        } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
            return true
        }
    }

    /// Waits until the worker sleeps, which it does only in the busy wait after the signal to start.
    private func waitUntilAsleep(_ worker: WorkerProcess) throws {
        try waitUntil { try worker.isInBusyWait() }
    }

    private func waitUntil(_ condition: () throws -> Bool) throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while try !condition() {
            guard ContinuousClock.now < deadline else { throw WorkerProcess.TimedOut() }
            sched_yield()
        }
    }

    /// Kills the worker, and reads all of its output.
    private func lastNumber(_ worker: WorkerProcess) throws -> Int {
        worker.killNow()
        var last = 0
        while let line = try worker.line() { last = Int(line) ?? last }
        return last
    }
}
