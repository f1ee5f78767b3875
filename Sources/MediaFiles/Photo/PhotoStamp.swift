/// The ID that a photo server writes into the files it rewrites (photosync contract, new fact 1).
package enum PhotoStamp {
    /// More XMP data than any software writes; exiftool writes about 3 KiB.
    private static let maximumXMP = 256 << 10

    /// The `ImageUniqueID` of a file, from its Exif data in JPEG, PNG, WebP and HEIF, and from its XMP data in GIF.
    /// Cameras write this property as well, so it is a server's stamp only if it is the ID of a photo.
    ///
    /// - Returns: The text without surrounding whitespace; nil if the file does not have the property.
    package static func read(from file: SourceFile) -> String? {
        let text =
            PhotoExif(of: file)?.imageUniqueID ?? ofGIF(BoundedContent(of: file, reads: 16_384))
        guard let stamp = text?.drop(while: \.isWhitespace).prefix(while: { !$0.isWhitespace }), !stamp.isEmpty else {
            return nil
        }
        return String(stamp)
    }

    /// The XMP packet of a GIF follows the application identifier unmodified. When it is read as sub-blocks, it ends at
    /// its trailer (XMP specification, part 3, section 1.1.2).
    static func ofGIF(_ content: BoundedContent) -> String? {
        var bytes = ByteWindow(content)
        guard content.bytes(at: 0, count: 4)?.elementsEqual("GIF8".utf8) == true else { return nil }
        var packet: Range<Int64>?
        // A file that is damaged after its XMP data still has a stamp.
        try? GIFStructure.forEachBlock(&bytes, { _ in }) { (range, block) throws(StructureError) in
            if case .application(let name) = block, name.elementsEqual("XMP DataXMP".utf8) { packet = packet ?? range }
        }
        guard let packet, packet.count <= maximumXMP,
            let text = content.bytes(at: packet.lowerBound, count: packet.count)
        else { return nil }
        return uniqueID(inXMP: text)
    }

    /// The property as an element or as an attribute. A stamp is a UUID, so no entities need to be decoded.
    static func uniqueID(inXMP text: [UInt8]) -> String? {
        let name = Array("exif:ImageUniqueID".utf8)
        guard let found = text.firstRange(of: name) else { return nil }
        let rest = text[found.upperBound...].prefix(256)
        let marks: [UInt8] = [UInt8(ascii: ">"), UInt8(ascii: "\""), UInt8(ascii: "'")]
        guard let begin = rest.firstIndex(where: marks.contains) else { return nil }
        let end: UInt8 = rest[begin] == UInt8(ascii: ">") ? UInt8(ascii: "<") : rest[begin]
        let value = rest[rest.index(after: begin)...].prefix { $0 != end }
        return String(validating: value, as: UTF8.self)
    }
}
