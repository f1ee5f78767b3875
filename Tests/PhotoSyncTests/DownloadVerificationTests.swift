import Foundation
import MediaStore
import MediaTransport
import TestSupport
import Testing

@testable import PhotoSync

/// The four rules of photosync contract section 6, and ranges.
@Suite struct DownloadVerificationTests {
    private typealias File = DownloadServer.File

    private let uploaded = "the bytes as uploaded"

    private func bench(_ server: DownloadServer, body: String? = nil) throws -> DownloadBench {
        let bench = try DownloadBench(server.address, indexing: [try .of(body ?? uploaded, id: "a")])
        return bench
    }

    /// Expects no file with the photo's name, no temporary file, and no copy that is present.
    private func expectNothing(_ bench: DownloadBench) throws {
        #expect(try bench.files().isEmpty)
        #expect(try bench.copies().allSatisfy { $0.state == .planned })
    }

    // MARK: Rules

    /// Rule 2.
    @Test func equalBytesAreVerifiedWithoutTheHeaderAsWell() async throws {
        let server = try DownloadServer(files: ["a": File(body: uploaded)])
        #expect(try await bench(server).run().only?.state == .verified)
    }

    /// Rule 3, traps 12 and 13: the server has rewritten the file and reports the digest of the uploaded one, in a
    /// header field with different spelling.
    @Test func aRewrittenFileIsAcceptedAndItsOwnDigestRecorded() async throws {
        let rewritten = SmallPhoto.stampedText("a", uploaded)
        let server = try DownloadServer(files: ["a": File(body: rewritten, digest: try digest(of: uploaded))])
        let bench = try bench(server)
        let item = try #require(await bench.run().only)
        #expect(item.state == .rewritten)
        #expect(item.sha256 == (try digest(of: rewritten)))
        #expect(item.serverSHA256 == (try digest(of: uploaded)))
        let copy = try #require(try bench.copies().first)
        #expect(copy.sha256 == (try digest(of: rewritten)))
        #expect(copy.serverSHA256 == (try digest(of: uploaded)))
        // The photo is not downloaded again. Push checks this digest, so the photo is not uploaded again either.
        #expect(await bench.run().items.isEmpty)
        let known = try bench.account.library.copies(
            withDigests: [try digest(of: rewritten)],
            server: bench.account.server
        )
        #expect(known.map(\.photoID) == ["a"])
    }

    /// Rule 4: the file has the uploaded length, but different bytes.
    @Test func corruptBytesAreDownloadedOnceMore() async throws {
        let (good, bad) = (uploaded, String(uploaded.reversed()))
        let server = try DownloadServer { request in
            .file(File(body: request.number == 1 ? bad : good, digest: try digest(of: good)))
        }
        let bench = try bench(server)
        let item = try #require(await bench.run().only)
        #expect(item.state == .verified)
        #expect(item.attempts == 2)
        #expect(server.requests.map(\.range) == [nil, nil])
        #expect(try bench.files() == ["2024/03/IMG_1.jpg": uploaded])
    }

    /// Rule 4.
    @Test func bytesCorruptTwiceAreAFailureThatLeavesNoFile() async throws {
        let bad = String(uploaded.reversed())
        let server = try DownloadServer(files: ["a": File(body: bad, digest: try digest(of: uploaded))])
        let bench = try bench(server)
        let outcome = await bench.run(retries: 3)
        #expect(outcome.only?.state == .failed)
        #expect(outcome.only?.error?.code == .checksumMismatch)
        #expect(outcome.error == nil)
        #expect(server.requests.count == 2)
        try expectNothing(bench)
    }

    /// The photo with a given ID never changes, so if two digests differ, one belongs to a different photo.
    @Test func aFileThatCannotBeThePhotoIsRefused() async throws {
        let (original, other) = (try digest(of: uploaded), try digest(of: "another photo"))
        let gzip = ["Content-Encoding: gzip"]
        for (file, code) in [
            (File(body: uploaded, digest: other), OutcomeCode.checksumMismatch),
            (File(body: "another photo", digest: other), .checksumMismatch),
            (File(body: "<html>please log in</html>"), .unexpectedResponse),
            (File(body: "squeezed", digest: original, headers: gzip), .unexpectedResponse),
        ] {
            let server = try DownloadServer(files: ["a": file])
            let bench = try bench(server)
            #expect(await bench.run().only?.error?.code == code, "\(file.body)")
            #expect(!server.requests.isEmpty)
            try expectNothing(bench)
        }
    }

    @Test func anEmptyFileIsNotARewrittenPhoto() async throws {
        let server = try DownloadServer(files: ["a": File(body: "", digest: try digest(of: uploaded))])
        let bench = try bench(server)
        let item = try #require(await bench.run().only)
        #expect(item.state == .undeliverable && item.error?.code == .undeliverable)
        try expectNothing(bench)
    }

    // MARK: Rule 1, lengths

    @Test func aBodyThatEndsEarlyIsNotAPhoto() async throws {
        let rewritten = uploaded + " and more"
        let file = File(body: rewritten, digest: try digest(of: uploaded))
        let server = try DownloadServer { _ in .cut(file, after: 5) }
        let bench = try bench(server)
        let outcome = await bench.run(retries: 2)
        #expect(outcome.only?.state == .failed)
        #expect(outcome.only?.error?.code == .transport)
        #expect(outcome.only?.attempts == 3)
        #expect(try bench.files()["2024/03/IMG_1.jpg"] == nil)
    }

    @Test func aBodyWithoutLengthIsNotTrusted() async throws {
        let server = try DownloadServer { [uploaded] _ in
            .raw("HTTP/1.1 200 OK\r\nX-Photosync-Hash: \(try digest(of: uploaded))\r\n\r\nsome bytes")
        }
        let bench = try bench(server)
        #expect(await bench.run().only?.error?.code == .unexpectedResponse)
        try expectNothing(bench)
    }

    @Test func bytesBeyondTheLengthAreNotWritten() async throws {
        let server = try DownloadServer { [uploaded] _ in
            .raw("HTTP/1.1 200 OK\r\nContent-Length: \(uploaded.utf8.count)\r\n\r\n\(uploaded)and then some")
        }
        let bench = try bench(server)
        #expect(await bench.run().only?.state == .verified)
        #expect(try bench.files() == ["2024/03/IMG_1.jpg": uploaded])
    }

    // MARK: Resuming

    private let long = filler(3 << 20)

    private func file(_ body: String) throws -> File { File(body: body, digest: try digest(of: long)) }

    /// A server that interrupts the first response after 1,000,000 characters, and responds with a different file
    /// later.
    private func cut(_ file: File, then other: File? = nil) throws -> (DownloadServer, DownloadBench) {
        let server = try DownloadServer { $0.number == 1 ? .cut(file, after: 1_000_000) : .file(other ?? file) }
        return (server, try bench(server, body: long))
    }

    @Test func anInterruptedDownloadResumesInTheSameRun() async throws {
        let file = try file(long)
        let (server, bench) = try cut(file)
        let item = try #require(await bench.run(retries: 1).only)
        #expect(item.state == .verified)
        #expect(item.isResumed)
        #expect(item.attempts == 2)
        #expect(item.bytesReceived == 3 << 20)
        #expect(server.requests.map(\.range) == [nil, "bytes=1000000-"])
        #expect(server.requests.map(\.ifRange) == [nil, file.lastModified])
    }

    @Test func anInterruptedDownloadResumesInTheNextRun() async throws {
        let file = try file(long)
        let (server, bench) = try cut(file)
        #expect(await bench.run().only?.error?.code == .transport)
        #expect(try bench.files().mapValues(\.utf8.count) == ["2024/03/.IMG_1.jpg.mediactl-part": 1_000_000])
        let item = try #require(await bench.run().only)
        #expect(item.state == .verified)
        #expect(item.isResumed)
        #expect(item.bytesReceived == (3 << 20) - 1_000_000)
        #expect(server.requests.last?.range == "bytes=1000000-")
        #expect(try bench.files() == ["2024/03/IMG_1.jpg": long])
    }

    /// The bytes on the disk are hashed again: they may have changed, and after a power loss a file may have its length
    /// without its bytes. A changed prefix of a rewritten file, which has no digest, is not used at all.
    @Test(arguments: [false, true])
    func aDamagedPrefixIsDetected(_ isRewritten: Bool) async throws {
        let body = isRewritten ? SmallPhoto.stampedText("a", filler(3 << 20, seed: 1)) : long
        let (server, bench) = try cut(try file(body))
        await bench.run()
        try bench.put(String(repeating: "x", count: 1_000_000), "2024/03/.IMG_1.jpg.mediactl-part")
        let item = try #require(await bench.run().only)
        #expect(item.state == (isRewritten ? .rewritten : .verified))
        #expect(server.requests.map(\.range) == (isRewritten ? [nil, nil] : [nil, "bytes=1000000-", nil]))
        #expect(try bench.files() == ["2024/03/IMG_1.jpg": body])
    }

    /// Rule 3 has no digest to compare with, but a run that exited normally has read every byte and synced it to the
    /// disk.
    @Test func anInterruptedDownloadOfARewrittenFileResumesInTheNextRun() async throws {
        let rewritten = SmallPhoto.stampedText("a", filler(3 << 20, seed: 1))
        let file = try file(rewritten)
        let (server, bench) = try cut(file)
        await bench.run()
        let item = try #require(await bench.run().only)
        #expect(item.state == .rewritten)
        #expect(item.isResumed)
        // Two of the characters before the interruption take two bytes.
        #expect(server.requests.map(\.range) == [nil, "bytes=1000002-"])
        #expect(try bench.files() == ["2024/03/IMG_1.jpg": rewritten])
    }

    /// 200 to a request for the rest: `If-Range` was stale. Its time has a resolution of seconds: for a file that was
    /// rewritten within the second, the total length shows the change (contract section 6).
    @Test(arguments: ["Wed, 01 Jan 2025 10:00:01 GMT", nil])
    func anotherFileRestartsTheDownload(_ modified: String?) async throws {
        let (old, new) = (try file(filler(3 << 20, seed: 1)), SmallPhoto.stampedText("a", filler(3 << 20, seed: 2)))
        var other = try file(new)
        if let modified { other.lastModified = modified }
        let (server, bench) = try cut(old, then: other)
        let item = try #require(await bench.run(retries: 1).only)
        #expect(item.state == .rewritten)
        #expect(!item.isResumed)
        #expect(item.sha256 == (try digest(of: new)))
        #expect(server.requests.map(\.range) == [nil, "bytes=1000000-"] + (modified == nil ? [nil] : []))
        #expect(try bench.files() == ["2024/03/IMG_1.jpg": new])
    }

    /// A `Last-Modified` no older than `Date` may belong to two versions (RFC 9110 section 8.8.2.2).
    @Test(arguments: ["Wed, 01 Jan 2025 10:00:00 GMT", nil])
    func aFileModifiedJustNowIsNotResumed(_ date: String?) async throws {
        var file = try file(long)
        file.date = date
        let (server, bench) = try cut(file)
        #expect(await bench.run(retries: 1).only?.state == .verified)
        #expect(server.requests.map(\.range) == [nil, nil])
    }

    @Test(arguments: [
        "Content-Range: bytes 0-3145727/3145728", "Content-Range: bytes 999999-3145727/3145728",
        "Content-Range: bytes 1000000-2000000/3145728", "Content-Range: bytes 1000000-3145727/*",
        "Content-Range: bytes 1000000-3145727/9999999", "Content-Range: nonsense", "X-None: 1",
    ])
    func aWrongRangeRestartsTheDownload(_ range: String) async throws {
        let file = try file(long)
        let server = try DownloadServer { [long] request in
            switch request.number {
            case 1: .cut(file, after: 1_000_000)
            case 2: .raw("HTTP/1.1 206 Partial Content\r\n\(range)\r\n\r\n" + long.suffix((3 << 20) - 1_000_000))
            default: .file(file)
            }
        }
        let bench = try bench(server, body: long)
        #expect(await bench.run(retries: 1).only?.state == .verified)
        #expect(server.requests.map(\.range) == [nil, "bytes=1000000-", nil])
        #expect(try bench.files() == ["2024/03/IMG_1.jpg": long])
    }

    @Test func anEmptyRestRestartsTheDownload() async throws {
        let (old, new) = (try file(long), SmallPhoto.stampedText("a", filler(1000, seed: 3)))
        let (server, bench) = try cut(old, then: try file(new))
        // A photo that was 3 MiB when uploaded cannot have this length.
        #expect(await bench.run(retries: 1).only?.state == .unverified)
        #expect(server.requests.map(\.range) == [nil, "bytes=1000000-", nil])
        #expect(try bench.files() == ["2024/03/IMG_1.jpg.unverified": new])
    }

    @Test func aServerThatNeverSendsTheRestIsAFailure() async throws {
        let file = try file(long)
        let server = try DownloadServer { request in
            request.range == nil ? .cut(file, after: 1_000_000) : .refusal(416, "invalid range: failed to overlap")
        }
        let bench = try bench(server, body: long)
        let outcome = await bench.run(retries: 20)
        #expect(outcome.only?.error?.code == .unexpectedResponse)
        #expect(server.requests.count < 10)
        try expectNothing(bench)
    }

    /// All bytes are stored, but the run stopped before it verified them: one byte is requested, so that the server
    /// reports whether its file is unchanged.
    @Test func aCompleteTemporaryFileIsConfirmedByItsLastByte() async throws {
        let file = try file(long)
        let (server, bench) = try cut(file)
        await bench.run()
        try bench.put(long, "2024/03/.IMG_1.jpg.mediactl-part")
        let item = try #require(await bench.run().only)
        #expect(item.state == .verified)
        #expect(item.bytesReceived == 1)
        #expect(server.requests.last?.range == "bytes=\((3 << 20) - 1)-")
    }
}
