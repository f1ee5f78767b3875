import Foundation

/// A photo for tests of files that a server rewrites and a client verifies.
public enum SmallPhoto {
    /// 16×16 pixels, created by ImageMagick and `cjpeg -quality 60 -optimize -sample 1x1`.
    public static let jpeg = [UInt8](Data(base64Encoded: base64, options: .ignoreUnknownCharacters) ?? Data())

    /// The photo with a text after its end, for files with different bytes and of any length.
    public static func jpeg(_ text: String) -> [UInt8] { jpeg + Array(text.utf8) }

    /// A WebP image of one pixel with an `ImageUniqueID`, in bytes that are valid UTF-8 for servers that send text (RFC
    /// 9649; Exif 2.32 section 4.6). Further bytes follow its end.
    public static func stampedText(_ id: String, _ text: String = "") -> String {
        let value = join(Array(id.utf8), [UInt8](repeating: 0, count: max(8 - id.utf8.count, 1)))
        // The value of the previous entry ends with a byte that makes the following tag a two-byte character.
        func directory(_ tag: [UInt8], _ type: UInt8, _ count: Int, _ offset: Int) -> [UInt8] {
            join(
                [0, 2, 1, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0xC2],
                tag,
                [0, type, 0, 0, 0, UInt8(count), 0, 0, 0, UInt8(offset), 0, 0, 0, 0]
            )
        }
        let tiff = join(
            [0x4D, 0x4D, 0, 0x2A, 0, 0, 0, 8],
            directory([0x87, 0x69], 4, 1, 38),
            directory([0xA4, 0x20], 2, value.count, 68),
            value
        )
        var chunks = chunk("VP8L", [0x2F, 0, 0, 0, 0, 0, 0, 0, 0, 0]) + chunk("EXIF", tiff)
        // The lowest byte of each length must be less than 128.
        while (chunks.count + 4) & 0x80 != 0 { chunks += chunk("FILL", []) }
        let bytes = join(Array("RIFF".utf8), number(chunks.count + 4), Array("WEBP".utf8), chunks)
        return String(decoding: bytes, as: UTF8.self) + text
    }

    private static func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
        join(Array(type.utf8), number(content.count), content, [UInt8](repeating: 0, count: content.count % 2))
    }

    private static func join(_ parts: [UInt8]...) -> [UInt8] { Array(parts.joined()) }

    private static func number(_ value: Int) -> [UInt8] { [UInt8(value & 255), UInt8(value >> 8), 0, 0] }

    private static let base64 = """
        /9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAA0JCgsKCA0LCgsODg0PEyAVExISEyccHhcgLikxMC4pLSwzOko+MzZGNywtQFdBRkxO
        UlNSMj5aYVpQYEpRUk//2wBDAQ4ODhMREyYVFSZPNS01T09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09P
        T09PT09PT0//wAARCAAQABADAREAAhEBAxEB/8QAFwAAAwEAAAAAAAAAAAAAAAAAAgMEBv/EAB8QAAEEAgIDAAAAAAAAAAAAAAEA
        AgMREkEEISMxwf/EABkBAAIDAQAAAAAAAAAAAAAAAAEGAgMEBf/EAB8RAAICAgIDAQAAAAAAAAAAAAECAAQRIQMxEhUiQf/aAAwD
        AQACEQMRAD8AzUby1uVgCvS0tWJGhGbjtYfxJhtn8d5tom99qpa4x1sQm4rPj9EkbNHvtpGjSZnocgGpwHtKcMNGMdyuPIysaOz9
        UfXPjIgawh+h2J//2Q==
        """
}
