import Foundation
import TestSupport
import Testing

@testable import MediaStore

@Suite("Rescue files")
struct RescueFileTests {
    let fixture = Result { try StoreFixture() }
    private let id = "u-aaaaaaaaaaaaaaaa"

    private func append(_ text: String, to file: RescueFile) throws {
        try Array(text.utf8).withUnsafeBytes { try file.append($0) }
    }

    @Test("16 KiB are allocated, mode 0600, and the content is laid out as documented")
    func layout() throws {
        let fixture = try fixture.get()
        let file = try RescueFile(for: id, in: fixture.directory)
        try file.begin(status: 201)
        try append("{\"id\":", to: file)
        try append("18}", to: file)
        try file.synchronize()

        var status = stat()
        #expect(stat(file.path, &status) == 0)
        #expect(status.st_size == 16_384)
        #expect(status.st_blocks * 512 >= 16_384)
        #expect(try permissions(file.path) == 0o600)
        #expect(try fixture.names().filter { $0.hasPrefix("rescue-\(id)-") }.count == 1)

        let bytes = try fixture.bytes(file.path)
        let lines = String(decoding: bytes[..<128], as: UTF8.self).split(separator: "\n")
        #expect(lines.prefix(3) == ["mediactl rescue 1", "upload \(id)                      ", "status 201"])
        #expect(String(decoding: bytes[128..<137], as: UTF8.self) == "{\"id\":18}")
        #expect(bytes[137...].allSatisfy { $0 == 0 })
    }

    @Test("a reply is found after kill -9, with what had arrived and nothing else")
    func killed() throws {
        let fixture = try fixture.get()
        let worker = try WorkerProcess(["rescue", fixture.directory.path, id])
        #expect(try worker.line() == "created")
        worker.send("{\"id\":18,\"delete_token\":\"0f\n")
        #expect(try worker.line() == "appended")
        #expect(try RescueFile.abandoned(in: fixture.directory).isEmpty)
        worker.killNow()

        let replies = try RescueFile.abandoned(in: fixture.directory)
        #expect(replies.map(\.uploadID) == [id])
        #expect(replies.first?.status == 201)
        #expect(replies.first?.body == Array("{\"id\":18,\"delete_token\":\"0f".utf8))
        let age = try #require(replies.first).receivedAt.timeIntervalSinceNow
        #expect((-3600...60).contains(age))
    }

    @Test("a file without any reply is reported without status and body")
    func noReply() throws {
        let fixture = try fixture.get()
        let worker = try WorkerProcess(["rescue", fixture.directory.path, id])
        #expect(try worker.line() == "created")
        worker.killNow()
        let replies = try RescueFile.abandoned(in: fixture.directory)
        #expect(replies.map(\.uploadID) == [id])
        #expect(replies.allSatisfy { $0.status == nil && $0.body.isEmpty })
    }

    @Test("an adopted file belongs to one; released it is gone, let go it is found again")
    func adoption() throws {
        let fixture = try fixture.get()
        do {
            let file = try RescueFile(for: id, in: fixture.directory)
            try file.begin(status: 200)
        }
        do {
            let replies = try RescueFile.abandoned(in: fixture.directory)
            #expect(replies.count == 1)
            #expect(try RescueFile.abandoned(in: fixture.directory).isEmpty)
            withExtendedLifetime(replies) {}
        }
        let again = try RescueFile.abandoned(in: fixture.directory)
        #expect(again.count == 1)
        again.first?.file.release()
        #expect(try fixture.names() == ["locks"])
    }

    @Test("a second answer replaces the first, also one larger than the space allocated")
    func secondAnswer() throws {
        let fixture = try fixture.get()
        do {
            let file = try RescueFile(for: id, in: fixture.directory)
            try file.begin(status: 500)
            try append(String(repeating: "x", count: 20_000), to: file)
            try file.begin(status: 201)
            try append("{}", to: file)
        }
        let reply = try #require(try RescueFile.abandoned(in: fixture.directory).first)
        #expect(reply.status == 201)
        #expect(reply.body == Array("{}".utf8))
    }

    // MARK: One file for several uploads

    private let nextID = "u-bbbbbbbbbbbbbbbb"

    @Test("reset keeps space and lock, and shows the new upload without any reply", arguments: [0, 9, 5_000, 20_000])
    func reset(replyCount: Int) throws {
        let fixture = try fixture.get()
        do {
            let file = try RescueFile(for: id, in: fixture.directory)
            let before = try status(file.path)
            if replyCount > 0 {
                try file.begin(status: 201)
                try append(String(repeating: "f", count: replyCount), to: file)
                try file.synchronize()
            }
            try file.reset(for: nextID)
            #expect(try RescueFile.abandoned(in: fixture.directory).isEmpty)
            #expect(
                try fixture.names().filter { $0.hasPrefix("rescue-") }.allSatisfy { $0.hasPrefix("rescue-\(nextID)-") }
            )
            let after = try status(file.path)
            #expect(after.st_ino == before.st_ino)
            #expect(after.st_size == 16_384)
            #expect(after.st_blocks * 512 >= 16_384)
            #expect(try !fixture.bytes(file.path).contains(UInt8(ascii: "f")))
            let fresh = try RescueFile(for: nextID, in: fixture.directory)
            #expect(try fixture.bytes(file.path) == fixture.bytes(fresh.path))
            fresh.release()
        }
        let reply = try #require(try RescueFile.abandoned(in: fixture.directory).first)
        #expect(reply.uploadID == nextID)
        #expect(reply.status == nil)
        #expect(reply.body.isEmpty)
    }

    @Test("the next reply after a reset is read alone; release removes the file under its new name")
    func replyAfterReset() throws {
        let fixture = try fixture.get()
        do {
            let file = try RescueFile(for: id, in: fixture.directory)
            try file.begin(status: 500)
            try append(String(repeating: "x", count: 6_000), to: file)
            try file.reset(for: nextID)
            try file.begin(status: 201)
            try append("{}", to: file)
        }
        let reply = try #require(try RescueFile.abandoned(in: fixture.directory).first)
        #expect(reply.uploadID == nextID)
        #expect(reply.status == 201)
        #expect(reply.body == Array("{}".utf8))
        reply.file.release()
        #expect(try fixture.names() == ["locks"])
    }

    @Test("without a status there is no reply, whatever a power cut left behind the header")
    func leftoverBehindHeader() throws {
        let fixture = try fixture.get()
        let path: String
        do {
            let file = try RescueFile(for: id, in: fixture.directory)
            path = file.path
        }
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try handle.seek(toOffset: 8_192)
        try handle.write(contentsOf: Data("\"delete_token\":\"0f".utf8))
        try handle.close()
        #expect(try RescueFile.abandoned(in: fixture.directory).map(\.body) == [[]])
    }

    @Test("a released file is not used again, and an unsafe id changes nothing")
    func resetRefused() throws {
        let fixture = try fixture.get()
        let file = try RescueFile(for: id, in: fixture.directory)
        let before = try fixture.bytes(file.path)
        #expect(throws: StoreError.self) { try file.reset(for: "../u-1") }
        #expect(try fixture.bytes(file.path) == before)
        file.release()
        #expect(throws: StoreError.self) { try file.reset(for: nextID) }
        #expect(try fixture.names() == ["locks"])
    }

    @Test(
        "a reset writes once and synchronises nothing, unless the old reply was longer than a page",
        .enabled(if: WorkerProcess.hasStrace, "needs strace: scripts/setup.sh test"),
        arguments: [(100, 1, 0), (5_000, 2, 1)]
    )
    func systemCalls(replyCount: Int, writes: Int, syncs: Int) throws {
        let fixture = try fixture.get()
        let trace = fixture.temporary.file("trace")
        let worker = try WorkerProcess(
            ["rescue-reset", fixture.directory.path, "\(replyCount)"],
            through: ["strace", "-f", "-e", "trace=write,pwrite64,fsync,fdatasync,ftruncate", "-o", trace]
        )
        #expect(try worker.wait() == 0)
        let lines = try String(contentsOfFile: trace, encoding: .utf8).split(separator: "\n").map(String.init)
        let begin = try #require(lines.firstIndex { $0.contains("resetting") })
        let end = try #require(lines.firstIndex { $0.contains("was reset") })
        let calls = lines[begin + 1..<end]
        #expect(calls.count { $0.contains("pwrite64(") } == writes)
        #expect(calls.count { $0.contains("sync(") } == syncs)
        // The header goes last: until then the file shows the old upload.
        #expect(calls.last { $0.contains("pwrite64(") }?.contains("mediactl rescue 1") == true)
    }

    @Test("a kill at any instant of a reset never shows an old reply under the new id", arguments: 0..<10)
    func killedWhileResetting(round: Int) throws {
        let fixture = try fixture.get()
        let worker = try WorkerProcess(["rescue-forever", fixture.directory.path])
        for _ in 0..<(20 + round * 7) { _ = try worker.line() }
        worker.killNow()
        // The worker's reply number N is the id's last letters, over and over, up to 12 KB.
        for reply in try RescueFile.abandoned(in: fixture.directory) {
            let own = Set(Array(reply.uploadID.dropFirst(2).utf8))
            #expect(reply.body.allSatisfy { own.contains($0) || $0 == 0 })
        }
    }

    private func status(_ path: String) throws -> stat {
        var status = stat()
        guard stat(path, &status) == 0 else { throw CocoaError(.fileReadNoSuchFile) }
        return status
    }

    @Test("creation that was cut short is removed silently")
    func cutShort() throws {
        let fixture = try fixture.get()
        try fixture.write([], to: fixture.directory.file("rescue-\(id)-x"))
        try fixture.write(Array(repeating: 0, count: 16_384), to: fixture.directory.file("rescue-\(id)-y"))
        #expect(try RescueFile.abandoned(in: fixture.directory).isEmpty)
        #expect(try fixture.names() == ["locks"])
    }

    @Test("a file with another beginning that may hold a token is left alone and named", arguments: [0, 63, 64, 200])
    func unreadable(digits: Int) throws {
        let fixture = try fixture.get()
        let path = fixture.directory.file("rescue-\(id)-x")
        try fixture.write(
            Array(("{\"delete_token\":\"" + String(repeating: "aF", count: 100).prefix(digits) + "\"}").utf8),
            to: path
        )
        let mayHoldToken = digits >= 64
        #expect(try RescueFile.abandoned(in: fixture.directory).isEmpty)
        #expect(try RescueFile.unreadable(in: fixture.directory) == (mayHoldToken ? [path] : []))
        #expect(try fixture.names() == (mayHoldToken ? ["locks", "rescue-\(id)-x"] : ["locks"]))
    }

    @Test(
        "a full disk is found at creation; later it costs only what lies beyond the space allocated",
        .enabled(if: SmallDisk.isAvailable, SmallDisk.requirement)
    )
    func fullDisk() throws {
        let disk = try SmallDisk(kibibytes: 128)
        let directory = try DataDirectory.open(disk.path + "/data")
        do {
            let file = try RescueFile(for: id, in: directory)
            try disk.fill()
            #expect(try storeErrorKind { _ = try RescueFile(for: id, in: directory) } == .full)
            try file.begin(status: 201)
            try append(String(repeating: "a", count: 10_000), to: file)
            try file.synchronize()
            #expect(try storeErrorKind { try append(String(repeating: "b", count: 10_000), to: file) } == .full)
        }
        let replies = try RescueFile.abandoned(in: directory)
        #expect(replies.count == 1)
        let expected = String(repeating: "a", count: 10_000) + String(repeating: "b", count: 16_384 - 128 - 10_000)
        #expect(replies.first?.body == Array(expected.utf8))
    }

    @Test("an id that would leave the directory is refused", arguments: ["", "../u-1", "u 1", "U-1"])
    func unsafeID(id: String) throws {
        let directory = try fixture.get().directory
        #expect(throws: StoreError.self) { try RescueFile(for: id, in: directory) }
        #expect(throws: StoreError.self) { try UploadLock.acquire(id, in: directory) }
    }
}
