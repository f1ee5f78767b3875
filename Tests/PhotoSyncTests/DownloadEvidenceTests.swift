import Foundation
import MediaStore
import TestSupport
import Testing

@testable import PhotoSync

/// Which files with a hash other than the listed one are accepted (photosync contract, new facts 1 and 2).
@Suite struct DownloadEvidenceTests {
    private typealias File = DownloadServer.File

    private static let uploaded = SmallPhoto.stampedText("", "the bytes as uploaded")

    private func bench(_ server: DownloadServer, dimensions: (Int, Int)? = nil) throws -> DownloadBench {
        let bench = try DownloadBench(server.address)
        var photo = try PhotoRecord.of(Self.uploaded, id: "a")
        photo.width = dimensions?.0
        photo.height = dimensions?.1
        try bench.index([photo])
        return bench
    }

    private func server(_ body: String) throws -> DownloadServer {
        try DownloadServer(files: ["a": File(body: body, digest: try digest(of: Self.uploaded))])
    }

    static let implausible: [(what: String, body: String)] = [
        ("one byte", "x"),
        ("a page", "<html><body>Bad gateway</body></html>"),
        ("random bytes", filler(5_000, seed: 3)),
        ("cut", String(SmallPhoto.stampedText("a").prefix(90))),
        ("an image without an ID", SmallPhoto.stampedText("", "other text after it")),
        ("an image with the serial number of a camera", SmallPhoto.stampedText("0123456789ABCDEF0123456789ABCDEF")),
        ("an image that is far too long", SmallPhoto.stampedText("a", filler(300_000))),
    ]

    @Test(arguments: implausible)
    func anUnverifiableFileIsNotAPhoto(what: String, body: String) async throws {
        let server = try server(body)
        let bench = try bench(server)
        for _ in 1...2 {
            // The file is downloaded again by each run, without leaving additional files.
            let item = try #require(await bench.run().only, "\(what)")
            #expect(item.state == .unverified, "\(what)")
            #expect(item.error?.code == .unverifiedPhoto)
            #expect(item.error?.detail.isEmpty == false)
            #expect(item.path == bench.path("2024/03/IMG_1.jpg.unverified"))
            #expect(try bench.files() == ["2024/03/IMG_1.jpg.unverified": body], "\(what)")
            #expect(try bench.copies().map(\.state) == [.unverified])
        }
    }

    @Test func aVerifiedDownloadReplacesTheUnverifiedFile() async throws {
        let digest = try digest(of: Self.uploaded)
        let server = try DownloadServer { request in
            .file(File(body: request.number == 1 ? "damaged" : Self.uploaded, digest: digest))
        }
        let bench = try bench(server)
        #expect(await bench.run().only?.state == .unverified)
        #expect(await bench.run().only?.state == .verified)
        #expect(try bench.files() == ["2024/03/IMG_1.jpg": Self.uploaded])
        #expect(await bench.run().items.isEmpty)
    }

    @Test func anUnverifiedFileThatWasChangedIsKept() async throws {
        let server = try server("damaged")
        let bench = try bench(server)
        await bench.run()
        try bench.put("repaired by hand", "2024/03/IMG_1.jpg.unverified")
        #expect(await bench.run().only?.state == .unverified)
        #expect(
            try bench.files() == [
                "2024/03/IMG_1.jpg.unverified": "repaired by hand", "2024/03/IMG_1.jpg.2.unverified": "damaged",
            ]
        )
    }

    @Test func aFileWithTheIDOfAnotherPhotoIsReported() async throws {
        let other = "4ad8a4cc-3164-4b56-b986-11cd9f6d52da"
        let server = try server(SmallPhoto.stampedText(other))
        let bench = try bench(server)
        let item = try #require(await bench.run().only)
        #expect(item.state == .failed)
        #expect(item.error?.code == .wrongPhoto)
        #expect(item.error?.value == other)
        #expect(try bench.files().isEmpty)
    }

    /// The hash is compared first: the file was uploaded with an ID written by another server or a camera.
    @Test func aFileWithTheRightHashIsValidRegardlessOfItsID() async throws {
        let body = SmallPhoto.stampedText("4ad8a4cc-3164-4b56-b986-11cd9f6d52da")
        let server = try DownloadServer(files: ["a": File(body: body, digest: try digest(of: body))])
        let bench = try DownloadBench(server.address, indexing: [try .of(body, id: "a")])
        #expect(await bench.run().only?.state == .verified)
    }

    /// A photo that was uploaded with another photo's ID, which the server has replaced with an ID of the same length.
    @Test func theUploadedLengthWithTheIDIsNotDamage() async throws {
        let uploaded = SmallPhoto.stampedText("b", "text")
        let server = try DownloadServer(
            files: ["a": File(body: SmallPhoto.stampedText("a", "text"), digest: try digest(of: uploaded))]
        )
        let bench = try DownloadBench(server.address, indexing: [try .of(uploaded, id: "a")])
        #expect(await bench.run().only?.state == .rewritten)
    }

    @Test(arguments: [(1, 1, true), (2, 1, false)])
    func listedDimensionsAreCompared(width: Int, height: Int, isPhoto: Bool) async throws {
        let server = try server(SmallPhoto.stampedText("a"))
        let bench = try bench(server, dimensions: (width, height))
        #expect(await bench.run().only?.state == (isPhoto ? .rewritten : .unverified))
    }

    // MARK: Photos that the server cannot deliver

    @Test(arguments: ["Photo not found", "404 page not found"])
    func aListedPhotoWithoutAFileIsUndeliverable(text: String) async throws {
        let server = try DownloadServer { request in
            request.target.hasSuffix("/download")
                ? .refusal(404, text)
                : .raw("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
        }
        let bench = try bench(server)
        let item = try #require(await bench.run().only)
        #expect(item.state == .undeliverable)
        #expect(item.error?.code == .undeliverable)
        #expect(server.requests.last?.target == "/api/photos/a")
    }

    @Test func aPhotoDeletedInTheMeantimeIsNotListed() async throws {
        let server = try DownloadServer { _ in .refusal(404, "Photo not found") }
        let bench = try bench(server)
        let item = try #require(await bench.run().only)
        #expect(item.state == .failed)
        #expect(item.error?.code == .notFound)
    }
}
