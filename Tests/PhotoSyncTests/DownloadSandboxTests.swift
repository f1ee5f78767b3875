import Foundation
import MediaStore
import MediaTransport
import TestSupport
import Testing

@testable import PhotoSync

/// Uploads by curl, listed and downloaded by this client, from the sandbox that rewrites stored files.
@Suite struct DownloadSandboxTests {
    private struct Site {
        let sandbox: SandboxProcess
        let bench: DownloadBench

        init(_ arguments: [String] = []) async throws {
            sandbox = try await SandboxProcess.start(arguments: arguments)
            bench = try DownloadBench(sandbox.baseURL, key: SandboxProcess.aliceKey)
        }

        func upload(_ text: String, _ name: String) async throws {
            try await upload(Array(text.utf8), name)
        }

        func upload(_ bytes: [UInt8], _ name: String) async throws {
            let path = try bench.temporary.write("upload", bytes)
            let result = try await ChildProcess.run(
                "curl",
                [
                    "-sf", "-H", "X-API-Key: \(SandboxProcess.aliceKey)", "-F", "file=@\(path);filename=\(name)",
                    "-F", "dateTaken=2024-03-05T10:20:30Z", sandbox.baseURL + "/api/photos/upload",
                ]
            )
            try #require(result.status == 0)
        }

        /// Stores the listing in the index.
        func pull() async throws {
            try bench.index(try await bench.account.client.photos(cursor: nil, device: nil).photos)
        }
    }

    /// Trap 12: the file differs from the one that was uploaded.
    @Test func aRewrittenFileIsDownloadedOnce() async throws {
        let site = try await Site(["--photosync-rewrite", "0"])
        try await site.upload(SmallPhoto.jpeg, "a.jpg")
        try await site.pull()
        let item = try #require(await site.bench.run().only)
        #expect(item.state == .rewritten)
        let content = try Data(contentsOf: URL(fileURLWithPath: site.bench.target + "/2024/03/a.jpg"))
        // The file has an additional Exif segment before the uploaded bytes.
        #expect(content.count > SmallPhoto.jpeg.count)
        #expect(content.suffix(300) == Data(SmallPhoto.jpeg).suffix(300))
        #expect(content.firstRange(of: Data(item.id.utf8)) != nil)
        #expect(await site.bench.run().items.isEmpty)
    }

    /// The server stamps every supported format.
    @Test(arguments: [
        "baseline-420.jpg", "progressive-420.jpg", "ffmpeg.png", "still.gif", "lossy.webp", "lossless.webp",
        "still.heic",
    ])
    func rewrittenFilesOfAllFormatsAreVerified(name: String) async throws {
        let site = try await Site(["--photosync-rewrite", "0"])
        try await site.upload([UInt8](try Repository.data("fixtures/media/photos/\(name)")), name)
        try await site.pull()
        let item = try #require(await site.bench.run().only)
        #expect(item.state == .rewritten, "\(item.error?.description ?? "")")
    }

    @Test func aFileRewrittenBetweenTwoAttemptsIsNotSpliced() async throws {
        let site = try await Site(["--photosync-rewrite", "600000"])
        let photo = SmallPhoto.jpeg(filler(2 << 20))
        try await site.upload(photo, "a.jpg")
        try await site.pull()
        try await site.sandbox.addFaults("photos-download:truncate=1500000,times=1")
        #expect(await site.bench.run().only?.error?.code == .transport)
        try await site.sandbox.photoSync("POST", "rewrite")
        let item = try #require(await site.bench.run().only)
        #expect(item.state == .rewritten)
        let content = try Data(contentsOf: URL(fileURLWithPath: site.bench.target + "/2024/03/a.jpg"))
        #expect(content.suffix(photo.count - 20) == Data(photo).suffix(photo.count - 20))
    }

    @Test func aWrongByteIsDetected() async throws {
        let site = try await Site(["--photosync-rewrite", "off"])
        try await site.upload("as uploaded", "a.jpg")
        try await site.pull()
        try await site.sandbox.addFaults("photos-download:corrupt-byte,times=2")
        #expect(await site.bench.run().only?.error?.code == .checksumMismatch)
        #expect(try site.bench.files().isEmpty)
        #expect(await site.bench.run().only?.state == .verified)
    }

    @Test func aServerThatIgnoresRangesIsReadFromTheStart() async throws {
        let site = try await Site(["--photosync-rewrite", "off"])
        let text = filler(2 << 20)
        try await site.upload(text, "a.jpg")
        try await site.pull()
        try await site.sandbox.addFaults("photos-download:truncate=1500000,times=1", "photos-download:ignore-range")
        #expect(await site.bench.run(retries: 2).only?.state == .verified)
        #expect(try site.bench.files() == ["2024/03/a.jpg": text])
    }
}
