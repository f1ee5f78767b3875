import Foundation
import MediaFiles
import TestSupport
import Testing

/// Files written by cjpeg, ffmpeg, ImageMagick, cwebp, heif-enc and exiftool (fixtures/media/photos), intact and
/// damaged.
@Suite struct PhotoStructureTests {
    /// As `identify` and `heif-info` print them.
    static let files: [(name: String, format: PhotoStructure.Format, width: Int, height: Int)] = [
        ("baseline-420.jpg", .jpeg, 203, 157), ("restart-422.jpg", .jpeg, 203, 157),
        ("progressive-420.jpg", .jpeg, 203, 157), ("progressive-444-restart.jpg", .jpeg, 47, 31),
        ("sequential-scans.jpg", .jpeg, 203, 157), ("gray.jpg", .jpeg, 203, 157), ("ffmpeg.jpg", .jpeg, 203, 157),
        ("stamped-baseline-420.jpg", .jpeg, 203, 157),
        ("ffmpeg.png", .png, 47, 31), ("adam7.png", .png, 47, 31), ("stamped-ffmpeg.png", .png, 47, 31),
        ("still.gif", .gif, 47, 31), ("animated.gif", .gif, 47, 31), ("stamped-still.gif", .gif, 47, 31),
        ("lossy.webp", .webP, 47, 31), ("lossless.webp", .webP, 47, 31), ("stamped-lossy.webp", .webP, 47, 31),
        ("stamped-lossless.webp", .webP, 47, 31), ("still.heic", .heif, 47, 31), ("stamped-still.heic", .heif, 47, 31),
    ]

    @Test(arguments: files)
    func foreignFilesAreIntact(name: String, format: PhotoStructure.Format, width: Int, height: Int) throws {
        let structure = try examine(Self.bytes(of: name))
        #expect(structure.format == format)
        #expect(structure.integrity == .intact)
        #expect(structure.dimensions == PhotoStructure.Dimensions(width: width, height: height))
    }

    /// None of these has a byte after its end, so each missing byte is a missing part.
    @Test(arguments: files)
    func truncatedFilesAreDamaged(name: String, format: PhotoStructure.Format, width: Int, height: Int) throws {
        let bytes = try Self.bytes(of: name)
        let third = bytes.count / 3
        for count in [1, 2, 8, 20, third, bytes.count / 2, 2 * third, bytes.count - 9, bytes.count - 1] {
            let structure = try examine(Array(bytes.prefix(count)))
            #expect(isDamaged(structure), "\(name) truncated to \(count) bytes: \(structure)")
        }
    }

    /// The end marker does not replace missing lines: a decoder would fill them with gray.
    @Test(arguments: files.filter { $0.format == .jpeg })
    func aJPEGWithFewerLinesThanItsHeaderIsDamaged(
        name: String,
        format: PhotoStructure.Format,
        width: Int,
        height: Int
    ) throws {
        let bytes = try Self.bytes(of: name)
        // The last bytes of the last scan may be padding.
        for count in stride(from: bytes.count - 24, to: bytes.count / 3, by: -97) {
            let structure = try examine(bytes.prefix(count) + [0xFF, 0xD9])
            #expect(isDamaged(structure), "\(name) truncated to \(count) bytes: \(structure)")
        }
    }

    @Test func theFirstMissingLineIsReported() throws {
        // One scan: 10 rows of units of 16 lines; half of the data cannot contain the last row.
        let bytes = try Self.bytes(of: "baseline-420.jpg")
        let structure = try examine(bytes.prefix(bytes.count / 2) + [0xFF, 0xD9])
        guard case .damaged(let reason) = structure.integrity else {
            Issue.record("\(structure)")
            return
        }
        #expect(reason.wholeMatch(of: /image data ends at line \d+ of 157/) != nil, "\(reason)")
    }

    @Test func aChangedByteOfAPNGIsDetectedByItsChecksum() throws {
        var bytes = try Self.bytes(of: "ffmpeg.png")
        bytes[bytes.count / 2] ^= 4
        #expect(try examine(bytes).integrity == .damaged("chunk checksum mismatch"))
    }

    @Test func uncheckedFormatsAreNotReportedAsIntact() throws {
        #expect(try examine(Self.bytes(of: "arithmetic.jpg")).integrity == .unchecked("unsupported JPEG coding"))
    }

    @Test func otherFilesAreNotImages() throws {
        for text in ["<html><body>Not found</body></html>", "x", "{\"error\":\"Photo not found.\"}"] {
            let structure = try examine(Array(text.utf8))
            #expect(structure.format == nil)
            #expect(structure.integrity == .damaged("not an image"))
        }
    }

    /// Cameras store previews and videos after the photo (CIPA DC-007).
    @Test func dataAfterTheEndMarkerOfAJPEGIsAllowed() throws {
        let bytes = try Self.bytes(of: "baseline-420.jpg")
        #expect(try examine(bytes + Array("ftypmp42".utf8)).integrity == .intact)
    }

    /// Thousands of complete scans of 480 bytes, each of which requires work for 4,194,304 blocks.
    @Test func aProgressiveBombIsLimited() throws {
        var bytes: [UInt8] = [0xFF, 0xD8, 0xFF, 0xC2, 0, 11, 8, 0x40, 0, 0x3F, 0xFF, 1, 1, 0x11, 0]
        // One code of one bit, for a run of 16,384 blocks or more, whose exact length takes 14 bits.
        bytes += [0xFF, 0xC4, 0, 20, 0x10, 1] + [UInt8](repeating: 0, count: 15) + [0xE0]
        for _ in 0..<5_000 {
            bytes += [0xFF, 0xDA, 0, 8, 1, 1, 0, 1, 63, 0] + [UInt8](repeating: 0, count: 480)
        }
        #expect(try examine(bytes + [0xFF, 0xD9]).integrity == .unchecked("a JPEG with too many scans"))
    }

    @Test func changedBytesNeverTrap() throws {
        var random = SystemRandomNumberGenerator()
        for file in Self.files {
            let bytes = try Self.bytes(of: file.name)
            for _ in 0..<40 {
                var changed = bytes
                for _ in 0..<Int.random(in: 1...8, using: &random) {
                    changed[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
                }
                _ = try examine(changed)
            }
        }
    }

    // MARK: Stamps

    static let stamp = "4ad8a4cc-3164-4b56-b986-11cd9f6d52da"

    @Test(arguments: files.filter { $0.name.hasPrefix("stamped-") }.map(\.name))
    func stampsOfExiftoolAreRead(name: String) throws {
        #expect(try stamp(of: Self.bytes(of: name)) == Self.stamp)
    }

    @Test(arguments: files.filter { !$0.name.hasPrefix("stamped-") }.map(\.name))
    func otherFilesHaveNoStamp(name: String) throws {
        #expect(try stamp(of: Self.bytes(of: name)) == nil)
    }

    @Test func aStampMayBeAnAttribute() throws {
        let element = Array("<exif:ImageUniqueID>\(Self.stamp)</exif:ImageUniqueID>".utf8)
        let attribute = Array(" exif:ImageUniqueID='\(Self.stamp)' ".utf8)
        var bytes = try Self.bytes(of: "stamped-still.gif")
        let range = try #require(bytes.firstRange(of: element))
        // Padded to the same length, because the trailer of the packet counts bytes.
        bytes.replaceSubrange(range, with: attribute + [UInt8](repeating: 0x20, count: element.count - attribute.count))
        #expect(try stamp(of: bytes) == Self.stamp)
    }

    // MARK: Support

    static func bytes(of name: String) throws -> [UInt8] {
        try [UInt8](Repository.data("fixtures/media/photos/\(name)"))
    }

    private func examine(_ bytes: [UInt8]) throws -> PhotoStructure {
        try withFile(of: bytes) { PhotoStructure(of: $0) }
    }

    private func stamp(of bytes: [UInt8]) throws -> String? {
        try withFile(of: bytes) { PhotoStamp.read(from: $0) }
    }

    private func withFile<Value>(of bytes: [UInt8], _ body: (SourceFile) -> Value) throws -> Value {
        let directory = try TemporaryDirectory()
        try Data(bytes).write(to: URL(filePath: directory.file("photo")))
        return body(try SourceFile(path: Array(directory.file("photo").utf8)))
    }

    private func isDamaged(_ structure: PhotoStructure) -> Bool {
        if case .damaged = structure.integrity { return true }
        return false
    }
}
