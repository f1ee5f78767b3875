internal import CaptureSubmission
internal import MediaFiles

extension CaptureMediaType {
    /// What a file's first bytes show.
    ///
    /// - Parameter prefix: 4 KiB are enough.
    /// - Returns: nil when they show neither photo nor video.
    static func sniffed(_ prefix: [UInt8]) -> CaptureMediaType? {
        if photoMagics.contains(where: { prefix.starts(with: $0) }) || isWebP(prefix) { return .photo }
        guard let type = MediaType.sniffed(prefix) else { return nil }
        if type.kind == .video { return .video }
        return type.mimeType.hasPrefix("image/") ? .photo : nil
    }

    /// JPEG (ITU-T T.81, SOI and a marker).
    static func isJPEG(_ prefix: [UInt8]) -> Bool { prefix.starts(with: [0xFF, 0xD8, 0xFF]) }

    private static let photoMagics: [[UInt8]] = [
        [0xFF, 0xD8, 0xFF],
        // PNG.
        [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A],
        // TIFF, and with it most camera raws (DNG, NEF, ARW, CR2); RW2 and ORF have numbers of their own.
        [0x49, 0x49, 0x2A, 0x00], [0x4D, 0x4D, 0x00, 0x2A], [0x49, 0x49, 0x55, 0x00], Array("IIRO".utf8),
        Array("FUJIFILMCCD-RAW".utf8), Array("GIF8".utf8),
        // JPEG XL: codestream and container.
        [0xFF, 0x0A], [0x00, 0x00, 0x00, 0x0C, 0x4A, 0x58, 0x4C, 0x20],
    ]

    private static func isWebP(_ prefix: [UInt8]) -> Bool {
        prefix.starts(with: Array("RIFF".utf8)) && prefix.dropFirst(8).starts(with: Array("WEBP".utf8))
    }
}
