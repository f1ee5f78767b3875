import Foundation
import GRDB
import Testing

@testable import MediaStore

@Suite("The sync index and several processes")
struct SyncProcessTests {
    let fixture: IndexFixture
    let server = IndexFixture.server

    init() throws { fixture = try IndexFixture() }

    @Test(
        "a kill while a page is stored leaves both page and cursor, or neither, and the next process completes the run"
    )
    func killed() throws {
        var pages = 0
        for round in 1...6 {
            let worker = try WorkerProcess(["sync", fixture.directory.path, server, "100000", "200"])
            #expect(try worker.line() == "begun")
            var reported = pages
            for _ in 1...round { reported = Int(try worker.line() ?? "") ?? 0 }
            worker.killNow()
            pages = try checkWholePages(of: 200)
            #expect(pages >= reported)
        }
        try checkContinues(after: pages, of: 200)
    }

    @Test(
        "a kill at any single write leaves both a page and its cursor, or neither",
        .enabled(if: WorkerProcess.hasStrace, "requires strace: scripts/setup.sh test")
    )
    func killedAtEachWrite() throws {
        _ = try fixture.index()
        // Opening and starting take some of these writes, and a page of five photos takes about fifteen.
        for write in 1...48 {
            let worker = try WorkerProcess(
                ["sync", fixture.directory.path, server, "100000", "5"],
                through: ["strace", "-f", "-o", "/dev/null", "-e", "inject=pwrite64:signal=KILL:when=\(write)"]
            )
            _ = try worker.wait()
            _ = try checkWholePages(of: 5)
        }
        let pages = try checkWholePages(of: 5)
        #expect(pages > 20)
        try checkContinues(after: pages, of: 5)
    }

    /// The number of pages that the cursor indicates; checks that this many are stored, counted and seen.
    private func checkWholePages(of size: Int) throws -> Int {
        let row = try fixture.rawDatabase().read { db in
            try Row.fetchOne(
                db,
                sql: """
                    SELECT cursor, pages_seen, photos_seen, (SELECT count(*) FROM photos),
                        (SELECT ifnull(sum(present), 0) FROM origins), total_count
                    FROM runs
                    """
            )
        }
        // Killed before the run started.
        guard let row else { return 0 }
        let pages = (row[0] as String?).flatMap { Int($0) } ?? 0
        let photos = pages * size
        #expect((1...5).map { row[$0] as Int } == [pages, photos, photos, photos, pages == 0 ? 0 : 100_000 * size])
        return pages
    }

    private func checkContinues(after pages: Int, of size: Int) throws {
        let path = fixture.directory.path
        let worker = try WorkerProcess(["sync", path, server, "\(pages + 2)", "\(size)"])
        #expect(try worker.line() == "begun")
        #expect(try worker.line() == "\(pages + 1)")
        #expect(try worker.line() == "\(pages + 2)")
        #expect(try worker.line() == "finished \((pages + 2) * size)")
        #expect(try worker.wait() == 0)
        let ids = try fixture.index().all().map(\.id)
        #expect(ids == (0..<(pages + 2) * size).map(String.init))
    }

    @Test("processes that synchronize different servers concurrently both finish with all photos")
    func differentServers() throws {
        let path = fixture.directory.path
        let workers = try (1...4).map { try WorkerProcess(["sync", path, "https://\($0).example", "25", "200"]) }
        #expect(try workers.map { try $0.wait() } == [0, 0, 0, 0])
        let index = try fixture.index()
        for number in 1...4 {
            #expect(try index.counts(of: "https://\(number).example", device: nil).legacy == 5000)
            #expect(try index.photos(["4999"], of: "https://\(number).example").count == 1)
        }
    }

    @Test("a run taken over by another process is refused, and the other process continues with its pages")
    func takenOver() throws {
        let path = fixture.directory.path
        let first = try WorkerProcess(["sync", path, server, "3", "200", "wait"])
        #expect(try first.line() == "begun")
        first.send("\n")
        #expect(try first.line() == "1")
        let second = try WorkerProcess(["sync", path, server, "3", "200", "wait"])
        #expect(try second.line() == "begun")
        first.send("\n")
        #expect(try first.line() == "error busy")
        #expect(try first.wait() == 12)
        second.send("\n\n")
        #expect(try second.line() == "2")
        #expect(try second.line() == "3")
        #expect(try second.line() == "finished 600")
        #expect(try second.wait() == 0)
        #expect(try fixture.index().counts(of: server, device: nil).legacy == 600)
    }

    @Test(
        "16 processes that create the index, or replace a corrupt one, concurrently all get the same one",
        arguments: [true, false]
    )
    func concurrentCreation(isCorrupt: Bool) throws {
        if isCorrupt { try Data("no database".utf8).write(to: URL(fileURLWithPath: fixture.path)) }
        let workers = try (1...16).map {
            try WorkerProcess(["sync", fixture.directory.path, "https://\($0)", "1", "200"])
        }
        #expect(try workers.map { try $0.wait() } == Array(repeating: 0, count: 16))
        let index = try fixture.index()
        for number in 1...16 { #expect(try index.counts(of: "https://\(number)", device: nil).total == 200) }
    }
}
