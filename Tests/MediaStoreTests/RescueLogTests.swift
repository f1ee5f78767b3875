import Foundation
import TestSupport
import Testing

@testable import MediaStore

@Suite("Rescue logs")
struct RescueLogTests {
    let fixture: StoreFixture
    private let first = "u-aaaaaaaaaaaaaaaa"
    private let second = "u-bbbbbbbbbbbbbbbb"

    init() throws { fixture = try StoreFixture() }

    private func append(_ text: String, to record: RescueRecord) throws {
        try Array(text.utf8).withUnsafeBytes { try record.append($0) }
    }

    private func found(in directory: DataDirectory) throws -> [StoredResponse] {
        try StoredResponse.abandoned(in: directory)
    }

    @Test("the first upload creates a file of mode 0600 with its space allocated, in the documented layout")
    func layout() async throws {
        let log = RescueLog(in: fixture.directory)
        #expect(try fixture.names() == ["locks"])
        let record = try log.reserve(for: first)
        var status = stat()
        #expect(stat(record.path, &status) == 0)
        #expect(status.st_size == 17 * 4096)
        #expect(status.st_blocks * 512 >= 17 * 4096)
        #expect(try permissions(record.path) == 0o600)
        let empty = try fixture.bytes(record.path)
        #expect(String(decoding: empty.prefix(22), as: UTF8.self) == "mediactl rescue log 2\n")
        #expect(empty.dropFirst(22).allSatisfy { $0 == 0 })

        try record.begin(status: 201)
        try append("{\"id\":", to: record)
        try append("18}", to: record)
        try await record.synchronize()
        let page = try fixture.bytes(record.path).dropFirst(4096).prefix(4096)
        let lines = String(decoding: page.prefix(160), as: UTF8.self).components(separatedBy: "\n")
        #expect(
            lines.prefix(6) == [
                "mediactl response", "upload \(first)" + String(repeating: " ", count: 22), "status 201",
                "record 00000001", "page 00000", "bytes 0009",
            ]
        )
        let time = try #require(Double(lines[6].dropFirst(5)))
        #expect(abs(Date(timeIntervalSince1970: time / 1000).timeIntervalSinceNow) < 3600)
        #expect(lines[7].wholeMatch(of: /check [0-9a-f]{8}/) != nil)
        #expect(String(decoding: page.dropFirst(160).prefix(9), as: UTF8.self) == "{\"id\":18}")
        #expect(page.dropFirst(169).allSatisfy { $0 == 0 })
        record.release()
        #expect(try fixture.names() == ["locks"])
    }

    /// The value comes from an independent bit-by-bit CRC-32C, whose check value is e3069283.
    @Test("the check field is the CRC-32C of the bytes, then of the header before it")
    func check() {
        let page = RescuePage(
            uploadID: first,
            status: 201,
            record: 1,
            index: 0,
            receivedAt: Date(timeIntervalSince1970: 1_764_000_000),
            bytes: Array("{\"id\":18}".utf8)
        )
        let text = String(decoding: page.encoded, as: UTF8.self)
        #expect(text.contains("check 0c91fd21\n"))
        #expect(RescuePage(page.encoded[...]) == page)
    }

    /// Offsets and widths come from the format's description.
    @Test("numbers have leading zeros; a number that is too large becomes the largest one that fits")
    func numbers() {
        var page = RescuePage(
            uploadID: String(repeating: "u", count: 40),
            status: 7,
            record: 123_456_789,
            index: 12,
            receivedAt: Date(timeIntervalSince1970: 1.25)
        )
        let header = String(decoding: page.encoded, as: UTF8.self)
        #expect(page.encoded.count == 160)
        #expect(
            header.hasPrefix(
                """
                mediactl response
                upload \(page.uploadID)
                status 007
                record 99999999
                page 00012
                bytes 0000
                time 000000000001250
                check \

                """
            )
        )
        page.status = -1
        #expect(String(decoding: page.encoded, as: UTF8.self).contains("\nstatus 000\n"))
    }

    @Test("received bytes are found after kill -9, but not while the process is running")
    func killed() throws {
        let worker = try WorkerProcess(["rescue", fixture.directory.path, first])
        #expect(try worker.line() == "created")
        worker.send("{\"id\":18,\"delete_token\":\"0f\n")
        #expect(try worker.line() == "appended")
        #expect(try found(in: fixture.directory).isEmpty)
        worker.killNow()

        let responses = try found(in: fixture.directory)
        #expect(responses.map(\.uploadID) == [first])
        #expect(responses.first?.status == 201)
        #expect(responses.first?.body == Array("{\"id\":18,\"delete_token\":\"0f".utf8))
        let age = try #require(responses.first).receivedAt.timeIntervalSinceNow
        #expect((-3600...60).contains(age))
    }

    @Test("a log without a response is removed by the next process")
    func noResponse() throws {
        let worker = try WorkerProcess(["rescue", fixture.directory.path, first])
        #expect(try worker.line() == "created")
        worker.killNow()
        #expect(try found(in: fixture.directory).isEmpty)
        #expect(try fixture.names() == ["locks"])
    }

    @Test("several uploads share a file; each removes only its own response", arguments: [true, false])
    func shared(isOpen: Bool) async throws {
        let log = RescueLog(in: fixture.directory, isOpen: isOpen)
        do {
            let records = try (0..<9).map { try log.reserve(for: "u-\($0)") }
            for (number, record) in records.enumerated() {
                try record.begin(status: 200 + number)
                try append("answer \(number)", to: record)
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for record in records { group.addTask { try await record.synchronize() } }
                try await group.waitForAll()
            }
            #expect(try fixture.names().count { $0.hasPrefix("rescue-") } == 1)
            for (number, record) in records.enumerated() where number != 4 { record.release() }
            let text = String(decoding: try fixture.bytes(records[4].path), as: UTF8.self)
            #expect(text.contains("answer 4") && !text.contains("answer 3") && !text.contains("answer 8"))
            records[4].keep()
        }
        log.close()
        let responses = try found(in: fixture.directory)
        #expect(responses.map(\.uploadID) == ["u-4"])
        #expect(responses.map(\.body) == [Array("answer 4".utf8)])
        responses.first?.release()
        #expect(try fixture.names() == ["locks"])
    }

    @Test("an open log reuses its pages and keeps its file; a closed log removes its file with the last upload")
    func reuse() throws {
        let log = RescueLog(in: fixture.directory, isOpen: true)
        var sizes: Set<Int> = []
        for number in 0..<50 {
            let record = try log.reserve(for: "u-\(number)")
            sizes.insert(try fixture.bytes(record.path).count)
            try record.begin(status: 201)
            try append(String(repeating: "f", count: 9_000), to: record)
            record.release()
            #expect(try fixture.names().count { $0.hasPrefix("rescue-") } == 1)
        }
        #expect(sizes == [17 * 4096])
        let last = try log.reserve(for: first)
        #expect(try !fixture.bytes(last.path).contains(UInt8(ascii: "f")))
        log.close()
        #expect(try fixture.names().count { $0.hasPrefix("rescue-") } == 1)
        last.release()
        #expect(try fixture.names() == ["locks"])
    }

    @Test("after an upload whose response is kept, the next one uses a different file")
    func kept() throws {
        let log = RescueLog(in: fixture.directory)
        let record = try log.reserve(for: first)
        try record.begin(status: 502)
        try append("what is this", to: record)
        record.keep()
        let next = try log.reserve(for: second)
        #expect(next.path != record.path)
        #expect(try found(in: fixture.directory).map(\.uploadID) == [first])
        next.release()
        #expect(try fixture.names().count { $0.hasPrefix("rescue-") } == 1)
    }

    @Test("the responses of a file belong to one process until it has dropped all of them; release removes them")
    func adoption() throws {
        do {
            let log = RescueLog(in: fixture.directory)
            let records = [try log.reserve(for: first), try log.reserve(for: second)]
            for record in records { try record.begin(status: 200) }
        }
        do {
            let responses = try found(in: fixture.directory)
            #expect(responses.map(\.uploadID) == [first, second])
            #expect(try found(in: fixture.directory).isEmpty)
            responses[0].release()
            withExtendedLifetime(responses) {}
        }
        let again = try found(in: fixture.directory)
        #expect(again.map(\.uploadID) == [second])
        again.first?.release()
        #expect(try fixture.names() == ["locks"])
    }

    @Test("a second response replaces the first, even one larger than the allocated space")
    func secondResponse() throws {
        do {
            let record = try RescueLog(in: fixture.directory).reserve(for: first)
            try record.begin(status: 500)
            try append(String(repeating: "x", count: 90_000), to: record)
            try record.begin(status: 201)
            try append("{}", to: record)
        }
        let response = try #require(try found(in: fixture.directory).first)
        #expect(response.status == 201)
        #expect(response.body == Array("{}".utf8))
    }

    @Test(
        "a response of any length is read back unchanged",
        arguments: [0, 1, 3_935, 3_936, 3_937, 15_744, 15_745, 200_000]
    )
    func lengths(count: Int) throws {
        let body = (0..<count).map { UInt8(truncatingIfNeeded: $0 % 251) }
        do {
            let record = try RescueLog(in: fixture.directory).reserve(for: first)
            try record.begin(status: 201)
            for start in stride(from: 0, to: count, by: 1_000) {
                try body[start..<min(start + 1_000, count)].withUnsafeBytes { try record.append($0) }
            }
        }
        #expect(try found(in: fixture.directory).map(\.body) == [body])
    }

    @Test("reset returns when the response to the earlier attempt is erased from the disk")
    func reset() async throws {
        let log = RescueLog(in: fixture.directory)
        let record = try log.reserve(for: first)
        try record.begin(status: 503)
        try append(String(repeating: "x", count: 9_000), to: record)
        try await record.synchronize()
        try await record.reset()
        #expect(try !fixture.bytes(record.path).contains(UInt8(ascii: "x")))
        record.keep()
        #expect(try found(in: fixture.directory).isEmpty)
        #expect(try fixture.names() == ["locks"])
    }

    @Test("a kill at any instant leaves no response under the ID of another upload", arguments: 0..<10)
    func killedWhileUsedAgain(round: Int) throws {
        let worker = try WorkerProcess(["rescue-forever", fixture.directory.path])
        for _ in 0..<(20 + round * 7) { _ = try worker.line() }
        worker.killNow()
        // The worker's response to u-N consists of the letter N, up to 12 KB of it.
        for response in try found(in: fixture.directory) {
            let own = try #require(response.uploadID.utf8.last)
            #expect(response.body.allSatisfy { $0 == own })
        }
    }

    @Test(
        "an upload in a batch writes its response, waits once for the disk, and overwrites it",
        .enabled(if: WorkerProcess.hasStrace, "requires strace: scripts/setup.sh test")
    )
    func systemCalls() throws {
        let trace = fixture.temporary.file("trace")
        let worker = try WorkerProcess(
            ["rescue-again", fixture.directory.path],
            through: [
                "strace", "-f", "-e", "trace=write,pwrite64,fsync,fdatasync,ftruncate,rename,unlink", "-o", trace,
            ]
        )
        #expect(try worker.wait() == 0)
        let lines = try String(contentsOfFile: trace, encoding: .utf8).split(separator: "\n").map(String.init)
        let begin = try #require(lines.firstIndex { $0.contains("beginning") })
        let end = try #require(lines.firstIndex { $0.contains("ended") })
        let names = lines[begin + 1..<end].compactMap { $0.firstMatch(of: /[a-z0-9]+(?=\()/).map { String($0.0) } }
        #expect(names == ["pwrite64", "fdatasync", "pwrite64"])
    }

    @Test("a file whose creation was interrupted is removed without a message")
    func cutShort() throws {
        try fixture.write([], to: fixture.directory.file("rescue-x"))
        try fixture.write(Array(repeating: 0, count: 16_384), to: fixture.directory.file("rescue-y"))
        #expect(try found(in: fixture.directory).isEmpty)
        #expect(try fixture.names() == ["locks"])
    }

    @Test("a file of unknown format that may contain a token is left unchanged", arguments: [0, 63, 64, 200])
    func unknown(digits: Int) throws {
        let path = fixture.directory.file("rescue-x")
        let content = "{\"delete_token\":\"" + String(repeating: "aF", count: 100).prefix(digits) + "\"}"
        try fixture.write(Array(content.utf8), to: path)
        let mayHoldToken = digits >= 64
        let responses = try found(in: fixture.directory)
        #expect(responses.map(\.path) == (mayHoldToken ? [path] : []))
        #expect(responses.allSatisfy { !$0.isReadable && $0.body == Array(content.utf8) })
        #expect(try fixture.names() == (mayHoldToken ? ["locks", "rescue-x"] : ["locks"]))
    }

    @Test(
        "a full disk is detected before anything is sent; later it loses only bytes beyond the allocated space",
        .enabled(if: SmallDisk.isAvailable, SmallDisk.requirement)
    )
    func fullDisk() async throws {
        let disk = try SmallDisk(kibibytes: 160)
        let directory = try DataDirectory.open(disk.path + "/data")
        do {
            let log = RescueLog(in: directory)
            let records = try (0..<4).map { try log.reserve(for: "u-\($0)") }
            try disk.fill()
            #expect(try storeErrorKind { _ = try log.reserve(for: first) } == .full)
            #expect(try storeErrorKind { _ = try RescueLog(in: directory).reserve(for: first) } == .full)
            try records[0].begin(status: 201)
            try append(String(repeating: "a", count: 10_000), to: records[0])
            try await records[0].synchronize()
            #expect(try storeErrorKind { try append(String(repeating: "b", count: 10_000), to: records[0]) } == .full)
            for record in records.dropFirst() { record.release() }
        }
        let responses = try found(in: directory)
        #expect(responses.count == 1)
        let expected = String(repeating: "a", count: 10_000) + String(repeating: "b", count: 4 * 3_936 - 10_000)
        #expect(responses.first?.body == Array(expected.utf8))
    }

    @Test("an ID that refers outside the directory is refused", arguments: ["", "../u-1", "u 1", "U-1"])
    func unsafeID(id: String) throws {
        #expect(throws: StoreError.self) { try RescueLog(in: fixture.directory).reserve(for: id) }
        #expect(throws: StoreError.self) { try UploadLock.acquire(id, in: fixture.directory) }
        #expect(try fixture.names() == ["locks"])
    }
}
