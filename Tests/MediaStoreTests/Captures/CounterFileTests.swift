import Foundation
import TestSupport
import Testing

@testable import MediaStore

/// Hash-only contract trap 12: a counter is never used twice, regardless of when a process is killed.
@Suite("Counter file")
struct CounterFileTests {
    let fixture: StoreFixture
    static let device = "11111111-1111-4111-8111-111111111111"

    init() throws { fixture = try StoreFixture() }

    private var path: String { fixture.directory.file("capture-counters/" + Self.device) }

    private func lock(timeout: Duration = .seconds(60)) async throws -> CounterFile {
        try await CounterFile.lock(device: Self.device, in: fixture.directory, timeout: timeout)
    }

    private func put(_ text: String) throws {
        _ = try fixture.directory.make(.captureCounters)
        try fixture.write(Array(text.utf8), to: path)
    }

    @Test("counters start at 1 and continue in later exchanges")
    func ascending() async throws {
        let file = try await lock()
        #expect(file.last == 0)
        #expect(try file.take(2) == 1)
        #expect(try file.take(1) == 3)
        #expect(file.last == 3)
        file.release()
        let next = try await lock()
        #expect(next.last == 3)
        #expect(try next.take(1) == 4)
    }

    @Test("a counter is in the file before it is returned; directory and files are readable only by their owner")
    func durable() async throws {
        let file = try await lock()
        _ = try file.take(7)
        #expect(try fixture.bytes(path) == Array("7\n".utf8))
        #expect(try permissions(path) == 0o600)
        #expect(try permissions(fixture.directory.file("capture-counters")) == 0o700)
        let counters = fixture.directory.file("capture-counters")
        #expect(try FileManager.default.contentsOfDirectory(atPath: counters) == [Self.device])
    }

    @Test(
        "the file is synced before it gets its name, then the directory",
        .enabled(if: WorkerProcess.hasStrace, "requires strace: scripts/setup.sh test")
    )
    func synchronized() throws {
        let trace = fixture.temporary.file("trace")
        let worker = try WorkerProcess(
            ["counters", fixture.directory.path, Self.device, "1"],
            through: ["strace", "-f", "-e", "trace=openat,fsync,rename,renameat,renameat2,write", "-y", "-o", trace]
        )
        #expect(try worker.wait() == 0)
        let steps = try String(contentsOfFile: trace, encoding: .utf8).split(separator: "\n").compactMap { line in
            if line.contains("fsync("), line.contains(Self.device + ".new") { return "file" }
            if line.contains("rename"), line.contains(Self.device + ".new") { return "rename" }
            if line.contains("fsync("), line.contains("capture-counters>") { return "directory" }
            return line.contains(#""1\n""#) && line.contains("write(1<") ? "printed" : nil
        }
        #expect(steps == ["file", "rename", "directory", "printed"])
    }

    @Test("the case of the ID does not create a second counter, and an invalid ID is refused")
    func names() async throws {
        let directory = fixture.directory
        let upper = "ABCDEF01-0000-4000-8000-000000000001"
        let file = try await CounterFile.lock(device: upper, in: directory)
        _ = try file.take(5)
        file.release()
        #expect(try await CounterFile.lock(device: upper.lowercased(), in: directory).last == 5)
        for name in ["", "..", "../\(Self.device)", Self.device + "/x", Self.device + "\0"] {
            await #expect(throws: StoreError.self) { try await CounterFile.lock(device: name, in: directory) }
        }
    }

    @Test(
        "a file without a valid counter is refused and left unchanged",
        arguments: ["", "\n", "12", "x\n", "-1\n", "+1\n", "01\n", " 1\n", "1\n\n", "1\n2\n", "4294967296\n", "1.0\n"]
    )
    func corrupt(text: String) async throws {
        try put(text)
        let error = await #expect(throws: StoreError.self) { try await lock() }
        #expect(error?.kind == .corrupt)
        #expect(try fixture.bytes(path) == Array(text.utf8))
        // The error does not keep the lock.
        try put("4\n")
        #expect(try await lock(timeout: .zero).last == 4)
    }

    @Test("a link or a directory in place of the file is refused", arguments: [true, false])
    func unsafe(isLink: Bool) async throws {
        _ = try fixture.directory.make(.captureCounters)
        if isLink {
            try fixture.write(Array("9\n".utf8), to: fixture.temporary.file("elsewhere"))
            try makeLink(path, to: fixture.temporary.file("elsewhere"))
        } else {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        }
        let error = await #expect(throws: StoreError.self) { try await lock() }
        #expect(error?.kind == .unsafe)
    }

    @Test("the last counter is 2^32 - 1; nothing wraps around")
    func overflow() async throws {
        try put("4294967293\n")
        let file = try await lock()
        #expect(throws: StoreError.self) { try file.take(3) }
        #expect(try file.take(2) == 4_294_967_294)
        #expect(throws: StoreError.self) { try file.take(1) }
        #expect(throws: StoreError.self) { try file.take(0) }
        #expect(file.last == .max)
        #expect(try fixture.bytes(path) == Array("4294967295\n".utf8))
    }

    @Test("a partial file left by a process that was killed while writing is not a counter")
    func leftover() async throws {
        try put("41\n")
        try fixture.write(Array("4".utf8), to: path + ".new")
        let file = try await lock()
        #expect(try file.take(1) == 42)
    }

    // MARK: Many owners

    @Test("exchanges run one at a time; the next one starts when the lock is released or its object is freed")
    func exclusive() async throws {
        let first = try await lock()
        let error = await #expect(throws: StoreError.self) { try await lock(timeout: .milliseconds(20)) }
        #expect(error?.kind == .busy)
        async let second = lock()
        first.release()
        let held = try await second
        #expect(throws: StoreError.self) { try first.take(1) }
        #expect(try held.take(1) == 1)
        held.release()
        _ = try await lock(timeout: .zero)
        _ = try await lock(timeout: .seconds(5))
    }

    @Test("waiting stops when the task is canceled, and does not block any thread of the pool", .timeLimit(.minutes(1)))
    func cancelled() async throws {
        let owner = try await lock()
        let tasks = (0..<64).map { _ in Task { try await lock(timeout: .seconds(3600)) } }
        // The pool has a thread for each core; this task would not continue if all of them were blocked.
        for _ in 0..<100 { await Task.yield() }
        for task in tasks { task.cancel() }
        for task in tasks { await #expect(throws: CancellationError.self) { try await task.value } }
        owner.release()
    }

    @Test("processes that share a device never take the same counter")
    func manyProcesses() throws {
        let path = fixture.directory.path
        let workers = try (0..<4).map { _ in try WorkerProcess(["counters", path, Self.device, "25"]) }
        var taken: [Int] = []
        for worker in workers {
            while let line = try worker.line() { taken.append(try #require(Int(line))) }
            #expect(try worker.wait() == 0)
        }
        #expect(taken.sorted() == (0..<100).map { $0 * 2 + 1 })
    }

    @Test("counters of a process killed at any moment are not reused")
    func killed() async throws {
        var last: UInt32 = 0
        for round in 0..<8 {
            last = try takeUntilKilled(after: round % 3 + 1, from: last)
            let file = try await lock(timeout: .seconds(10))
            #expect(file.last >= last)
            last = try file.take(1)
        }
    }

    /// Takes counters in a process that is killed, and returns the last one that it printed.
    private func takeUntilKilled(after exchanges: Int, from before: UInt32) throws -> UInt32 {
        let worker = try WorkerProcess(["counters", fixture.directory.path, Self.device])
        var last = before
        var count = 0
        while let line = try worker.line() {
            let first = try #require(UInt32(line))
            #expect(first > last)
            last = first + 1
            count += 1
            if count == exchanges { worker.killNow() }
        }
        return last
    }

    // MARK: Disks

    @Test(
        "on a full disk no counter is taken, and the file is unchanged",
        .enabled(if: SmallDisk.isAvailable, SmallDisk.requirement)
    )
    func fullDisk() async throws {
        let disk = try SmallDisk(kibibytes: 256)
        let directory = try DataDirectory.open(disk.path + "/data")
        let file = try await CounterFile.lock(device: Self.device, in: directory)
        #expect(try file.take(2) == 1)
        try disk.fill()
        #expect(try storeErrorKind { _ = try file.take(2) } == .full)
        #expect(file.last == 2)
        let path = directory.file("capture-counters/" + Self.device)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "2\n")
        try disk.empty()
        #expect(try file.take(2) == 3)
    }

    @Test(
        "after a read error no counter is taken, and the file is unchanged",
        .enabled(if: WorkerProcess.hasStrace, "requires strace: scripts/setup.sh test")
    )
    func unreadable() throws {
        try put("8\n")
        let worker = try WorkerProcess(
            ["counters", fixture.directory.path, Self.device, "1"],
            through: WorkerProcess.failing("pread64", of: path)
        )
        #expect(try worker.line() == "error other")
        #expect(try worker.wait() == 12)
        #expect(try fixture.bytes(path) == Array("8\n".utf8))
    }

    @Test("in a directory without write permission no counter is taken")
    func readOnly() throws {
        try put("8\n")
        let counters = fixture.directory.file("capture-counters")
        #expect(chmod(counters, 0o500) == 0)
        defer { chmod(counters, 0o700) }
        let command = ["counters", fixture.directory.path, Self.device, "1"]
        let worker = try WorkerProcess(command, through: WorkerProcess.withoutPrivileges)
        #expect(try worker.line() == "error notWritable")
        #expect(try fixture.bytes(path) == Array("8\n".utf8))
    }
}
