/// The Exif data of a photo as they stand in the file, for a library that reads them.
package enum PhotoExif {
    /// As much as a segment of a JPEG file can hold; pictures inside, which come last, may be cut off.
    package static let byteLimit = 65_527

    /// The TIFF structure in JPEG, PNG, WebP and HEIF, at most `byteLimit` bytes of it; nil where there is none.
    ///
    /// - Parameter file: Its kind is told by its first bytes, not by its name.
    /// - Returns: The bytes, byte order mark first.
    package static func structure(of file: SourceFile) -> [UInt8]? {
        var content = BoundedContent(of: file, reads: 16_384)
        guard let block = ExifBlock.find(in: &content), block.end > block.start else { return nil }
        return content.bytes(at: block.start, count: Int(min(block.end - block.start, Int64(byteLimit))))
    }
}
