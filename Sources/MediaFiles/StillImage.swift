/// Still images. The upload servers do not accept them, so `MediaType` does not include their extensions.
package enum StillImage {
    /// Whether an extension, ignoring case and without the dot, belongs to a still image format.
    package static func isNamed(byExtension pathExtension: String) -> Bool {
        extensions.contains(pathExtension.lowercased())
    }

    /// Whether the first bytes show that a file is a still image; 64 bytes are sufficient. False for raw images that
    /// resemble other formats; their extension is more reliable.
    package static func isSniffed(_ prefix: [UInt8]) -> Bool {
        if magics.contains(where: { prefix.has($0, at: 0) }) { return true }
        switch prefix.fourCharacters(at: 0) {
        case "RIFF": return prefix.fourCharacters(at: 8) == "WEBP"
        // Two letters are not sufficient: the size of the second header, which has one of these values, is checked as
        // well.
        case let text where text.hasPrefix("BM"):
            return prefix.littleEndian(at: 14, count: 4).map { [12, 40, 52, 56, 64, 108, 124].contains($0) } ?? false
        default: break
        }
        return prefix.fourCharacters(at: 4) == "ftyp" && brands.contains(prefix.fourCharacters(at: 8))
    }

    private static let magics: [[UInt8]] = [
        // ISO/IEC 10918-1: start of image, then a marker.
        [0xFF, 0xD8, 0xFF],
        [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A],
        Array("GIF87a".utf8),
        Array("GIF89a".utf8),
        // TIFF 6.0, in either byte order.
        [0x49, 0x49, 0x2A, 0x00],
        [0x4D, 0x4D, 0x00, 0x2A],
        // JPEG XL (ISO/IEC 18181-2) and JPEG 2000 (ISO/IEC 15444-1) in their containers.
        [0x00, 0x00, 0x00, 0x0C, 0x4A, 0x58, 0x4C, 0x20, 0x0D, 0x0A, 0x87, 0x0A],
        [0x00, 0x00, 0x00, 0x0C, 0x6A, 0x50, 0x20, 0x20, 0x0D, 0x0A, 0x87, 0x0A],
        Array("FUJIFILMCCD-RAW".utf8),
    ]

    /// HEIF (ISO/IEC 23008-12), AVIF, and Canon's raw images in the same container.
    private static let brands: Set = ["heic", "heix", "heim", "heis", "mif1", "msf1", "avif", "avis", "crx "]

    private static let extensions: Set = [
        "jpg", "jpeg", "jpe", "png", "gif", "webp", "heic", "heif", "hif", "avif", "tif", "tiff", "bmp", "jxl", "jp2",
        "insp", "mpo",
        // Raw formats.
        "3fr", "ari", "arw", "cap", "cr2", "cr3", "crw", "dcr", "dng", "erf", "fff", "iiq", "k25", "kdc", "mef", "mos",
        "mrw", "nef", "nrw", "orf", "ori", "pef", "raf", "raw", "rw2", "rwl", "sr2", "srf", "srw", "x3f",
    ]
}
