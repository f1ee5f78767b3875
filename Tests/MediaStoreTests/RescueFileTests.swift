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
        .enabled(if: geteuid() == 0, "needs root")
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
