import Foundation
import MediaCrypto
import MediaStore
import MediaTransport
import TestSupport
import Testing

@testable import PhotoSync

/// A rewritten copy carries the photo's ID (photosync contract, new facts, 1), so another machine recognizes it.
@Suite struct PushRecognitionTests {
    let bench: PushBench
    let id: String

    /// A JPEG whose Exif data has an `ImageUniqueID`, as exiftool writes it (`exiftool -ImageUniqueID=ID`): TIFF 6.0
    /// header, an IFD with the pointer to the Exif IFD (0x8769), which has tag 0xA420, ASCII.
    static func stamped(_ id: String, _ comment: String = "a photo") -> Data {
        let text = Array(id.utf8) + [0]
        let directory = { (tag: [UInt8], type: UInt8, count: UInt8, value: UInt8) -> [UInt8] in
            [1, 0] + tag + [type, 0, count, 0, 0, 0, value, 0, 0, 0] + [0, 0, 0, 0]
        }
        let tiff =
            Array("II*\0".utf8) + [8, 0, 0, 0] + directory([0x69, 0x87], 4, 1, 26)
            + directory([0x20, 0xA4], 2, UInt8(text.count), 44) + text
        let exif = Array("Exif\0\0".utf8) + tiff
        let note = Array(comment.utf8)
        return Data(
            [0xFF, 0xD8, 0xFF, 0xE1, 0, UInt8(exif.count + 2)] + exif + [0xFF, 0xFE, 0, UInt8(note.count + 2)] + note
                + [0xFF, 0xD9]
        )
    }

    /// A photo from another machine whose file the server has rewritten.
    init() async throws {
        let bench = try await PushBench("--photosync-rewrite", "off")
        let json = #"{"content":"as uploaded","storedPath":"2024/01/x.jpg"}"#
        let id = try #require(try await bench.sandbox.addPhotos(json).first)
        (self.bench, self.id) = (bench, id)
        try Self.stamped(id).write(to: stored(bench))
    }

    private func stored(_ bench: PushBench) -> URL {
        URL(fileURLWithPath: bench.sandbox.data.file("photos/2024/01/x.jpg"))
    }

    /// Number of requests for the length of the stored file.
    private func lengths(_ bench: PushBench, _ id: String) async throws -> Int {
        try await bench.requests(to: "/api/photos/\(id)/download").count
    }

    @Test(arguments: [false, true]) func aRewrittenCopyOfAnotherMachineIsPresent(isDryRun: Bool) async throws {
        _ = try await Pull(bench.account).run()
        try bench.write("a.jpg", Self.stamped(id))
        try bench.write("sub/same.jpg", Self.stamped(id))
        let outcome = await bench.push(dryRun: isDryRun)
        #expect(outcome.states == ["a.jpg": .present, "same.jpg": .present])
        #expect(outcome.items.map(\.photoID) == [id, id])
        #expect(try await bench.uploads.isEmpty)
        #expect(try bench.copies.count == (isDryRun ? 0 : 2))
        guard !isDryRun else { return }
        // From then on, the file is recognized by its digest.
        let count = try await lengths(bench, id)
        #expect(await bench.push().result?.counts == [.present: 2])
        #expect(try await lengths(bench, id) == count)
    }

    /// An edited copy keeps the stamp.
    @Test func aStampedFileOfAnotherLengthIsChanged() async throws {
        try bench.write("a.jpg", Self.stamped(id, "a cropped photo"))
        let outcome = await bench.push()
        #expect(outcome.states == ["a.jpg": .changed])
        #expect(outcome.item("a.jpg")?.photoID == id)
        #expect(outcome.item("a.jpg")?.error?.code == .changedSinceUpload)
        #expect(try await bench.uploads.isEmpty)
        #expect(await bench.pushWith { $0.sendsChanged = true }.states == ["a.jpg": .uploaded])
    }

    /// This machine has downloaded the photo, and recorded the digest of the rewritten file.
    @Test func aStampedFileWithOtherBytesIsChanged() async throws {
        var hasher = try SHA256Hasher()
        Self.stamped(id).withUnsafeBytes { hasher.update($0) }
        let digest = try hasher.snapshot().hex
        let path = Array(bench.photos.file("elsewhere.jpg").utf8)
        let serverSHA256 = String(repeating: "0", count: 64)
        try await bench.account.keepCopy(of: id, at: path, sha256: digest, serverSHA256: serverSHA256)
        try bench.write("a.jpg", Self.stamped(id, "a phOto"))
        #expect(await bench.push().states == ["a.jpg": .changed])
    }

    @Test func aRewrittenCopyOfADeletedPhotoIsDeleted() async throws {
        _ = try await Pull(bench.account).run()
        try bench.write("a.jpg", Self.stamped(id))
        try await bench.sandbox.photoSync("DELETE", "photos/\(id)")
        _ = try await Pull(bench.account, options: Pull.Options(isFull: true)).run()
        #expect(await bench.push().states == ["a.jpg": .deleted])
        #expect(await bench.pushWith { $0.restores = true }.states == ["a.jpg": .uploaded])
    }

    /// Cameras write `ImageUniqueID` as well.
    @Test(arguments: ["0123456789abcdef0123456789abcdef", "11111111-0000-4000-8000-00000000ffff"])
    func anUnknownIDIsNotAStamp(id: String) async throws {
        try bench.write("a.jpg", Self.stamped(id))
        #expect(await bench.push().states == ["a.jpg": .uploaded])
    }

    /// It is not known whether the file is a copy, so it is reported neither as present nor as new.
    @Test func withoutALengthNothingIsReported() async throws {
        try bench.write("a.jpg", Self.stamped(id))
        try FileManager.default.removeItem(at: stored(bench))
        let outcome = await bench.push()
        #expect(outcome.states == ["a.jpg": .failed])
        #expect(outcome.item("a.jpg")?.error?.code == .undeliverable)
        #expect(try await bench.uploads.isEmpty)
        #expect(try bench.copies.isEmpty)
    }
}
