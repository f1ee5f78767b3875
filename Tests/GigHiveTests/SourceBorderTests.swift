import Foundation
import MediaStore
import MediaSystem
import Synchronization
import TestSupport
import Testing

@testable import GigHive

/// A file of at most 256 KiB is hashed on the thread that sends it, a larger one in blocks (docs/adr/0051).
@Suite(.prompt) struct SourceBorderTests {
    static let border = 256 << 10
    static let sizes = [3, border - 1, border, border + 1, 1 << 20]

    /// Bytes without a repeating pattern, in which a lost byte could go undetected.
    private func content(_ size: Int) -> String {
        var text = ""
        var number = 0
        while text.utf8.count < size {
            text += "\(number) "
            number += 1
        }
        return String(text.prefix(size))
    }

    @Test(arguments: sizes) func theDigestIsThatOfTheBytesSent(_ size: Int) async throws {
        let bench = try Workbench(try FakeGigHive())
        let path = try bench.file(content(size))
        let result = await bench.uploader.upload(try bench.uploader.prepare(path, details: bench.details()))
        #expect(result.state == .done)
        #expect(result.isVerified == true)
        #expect(result.checksumSHA256 == FakeFile(id: 18, content: content(size)).checksum)
        #expect(bench.server.files.map(\.size) == [size])
    }

    /// After a refusal the same bytes are hashed again.
    @Test(arguments: sizes) func theDigestOfASecondAttemptIsThatOfItsBytes(_ size: Int) async throws {
        let bench = try Workbench.overriding(retries: 1) { request, connection, _, number in
            guard request.path == "/api/uploads.php", number == 1 else { return false }
            try connection.respond(503, "")
            return true
        }
        let result = await bench.uploader.upload(try bench.prepare(content(size)))
        #expect(result.state == .done && result.attempts == 2)
        #expect(result.checksumSHA256 == FakeFile(id: 18, content: content(size)).checksum)
    }

    @Test(arguments: sizes) func damageInTransitIsDetected(_ size: Int) async throws {
        let bench = try Workbench { request, connection, server, _ in
            try connection.respond(201, server.store(String(request.fileContent.dropLast()) + "x").response)
        }
        let result = await bench.uploader.upload(try bench.prepare(content(size)))
        #expect(result.state == .failed)
        #expect(result.error?.code == .checksumMismatch)
        #expect(try bench.store.tokens(host: nil).count == 1)
    }

    enum Change: CaseIterable { case grown, rewritten, replaced, shortened }

    @Test(arguments: sizes, Change.allCases) func aChangeDuringTheUploadIsDetected(_ size: Int, _ change: Change)
        async throws
    {
        let (bench, result) = try await upload(size) { try Self.change($0, change) }
        #expect(result.state == .failed)
        #expect(result.error?.code == .sourceChanged)
        #expect(result.hasDeleteToken)
        #expect(try bench.row()?.failureCode == "source_changed")
        #expect(try bench.store.tokens(host: nil).count == 1)
    }

    enum Touch: CaseIterable { case touched, protected, linked, renamed, replacedBySameBytes, removed }

    /// The status of a file may change at any time, for example when a backup creates a link to it: only its bytes
    /// matter.
    @Test(arguments: sizes, Touch.allCases) func aFileWithTheSameBytesIsUnchanged(_ size: Int, _ touch: Touch)
        async throws
    {
        let (bench, result) = try await upload(size) { try Self.touch($0, touch) }
        #expect(result.state == .done, "\(String(describing: result.error))")
        #expect(try bench.row()?.state == .done)
    }

    /// A cached digest shows that the file was read again.
    @Test(arguments: [true, false]) func onlyAStoredFileIsReadAgain(_ isStored: Bool) async throws {
        let path = Mutex("")
        let bench = try Workbench.overriding { request, connection, _, _ in
            guard request.path == "/api/uploads.php" else { return false }
            let path = path.withLock { $0 }
            try Self.waitForLaterTime(than: path)
            try Self.touch(path, .touched)
            guard !isStored else { return false }
            try connection.respond(400, #"{"error":"Bad Request","message":"Label is required"}"#)
            return true
        }
        let name = bench.temporary.file("clip.mp4")
        path.withLock { $0 = name }
        var client = bench.client
        // The digest of a file that was changed a moment ago is not cached.
        client.now = { Date(timeIntervalSinceNow: 60) }
        let hashes = HashCache(directory: bench.temporary.file("cache"))
        let uploader = Uploader(
            client: client,
            store: bench.store,
            directory: bench.directory,
            options: bench.options,
            hashes: hashes
        )
        let result = await uploader.upload(try bench.prepare())
        #expect(result.state == (isStored ? .done : .failed))
        let identity = try #require(FileIdentity(ofRegularFile: Array(name.utf8)))
        #expect((hashes.digest(of: identity) != nil) == isStored)
    }

    /// Uploads a file, and calls `modify` with its path after the last byte was sent and before the response.
    private func upload(
        _ size: Int,
        modifiedBy modify: @escaping @Sendable (_ path: String) throws -> Void
    ) async throws -> (Workbench, UploadResult) {
        let path = Mutex("")
        let bench = try Workbench.overriding { request, _, _, _ in
            guard request.path == "/api/uploads.php" else { return false }
            let path = path.withLock { $0 }
            try Self.waitForLaterTime(than: path)
            try modify(path)
            return false
        }
        path.withLock { $0 = bench.temporary.file("clip.mp4") }
        return (bench, await bench.uploader.upload(try bench.prepare(content(size))))
    }

    private static func touch(_ path: String, _ touch: Touch) throws {
        switch touch {
        case .touched: #expect(utimes(path, nil) == 0)
        case .protected: #expect(chmod(path, 0o400) == 0)
        case .linked: #expect(link(path, path + ".link") == 0)
        case .renamed: #expect(rename(path, path + ".renamed") == 0)
        case .replacedBySameBytes:
            try Data(contentsOf: URL(fileURLWithPath: path)).write(to: URL(fileURLWithPath: path + ".new"))
            #expect(rename(path + ".new", path) == 0)
        case .removed: #expect(unlink(path) == 0)
        }
    }

    /// Waits until a change would get a later time than the file's: the clock for these times advances in steps of up
    /// to 10 ms.
    private static func waitForLaterTime(than path: String) throws {
        var status = stat()
        try #require(stat(path, &status) == 0)
        var now = timespec()
        repeat {
            try #require(clock_gettime(CLOCK_REALTIME_COARSE, &now) == 0)
        } while (now.tv_sec, now.tv_nsec) <= (status.st_ctim.tv_sec, status.st_ctim.tv_nsec)
    }

    private static func change(_ path: String, _ change: Change) throws {
        switch change {
        case .grown, .rewritten:
            let file = try #require(FileHandle(forWritingAtPath: path))
            if change == .grown { try file.seekToEnd() }
            try file.write(contentsOf: Data("!".utf8))
            try file.close()
        case .replaced:
            let content = try Data(contentsOf: URL(fileURLWithPath: path))
            try (content.dropLast() + Data("!".utf8)).write(to: URL(fileURLWithPath: path + ".new"))
            #expect(rename(path + ".new", path) == 0)
        case .shortened: #expect(truncate(path, 1) == 0)
        }
    }
}
