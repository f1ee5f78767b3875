internal import MediaSystem

/// Media types of files: by extension, checked against the content (gighive contract 2.4, trap T5).
package struct MediaType: Sendable, Hashable {
    package enum Kind: String, Sendable {
        case audio
        case video
        case other
    }

    /// For example `video/mp4`.
    package var mimeType: String
    package var kind: Kind

    static func audio(_ subtype: String) -> MediaType { MediaType(mimeType: "audio/" + subtype, kind: .audio) }
    static func video(_ subtype: String) -> MediaType { MediaType(mimeType: "video/" + subtype, kind: .video) }

    /// RealMedia is registered under `application/`, but the servers treat it as video.
    static let realMedia = MediaType(mimeType: "application/vnd.rn-realmedia", kind: .video)

    /// The type of an extension, ignoring case and without the dot; nil if unknown.
    ///
    /// Includes exactly the extensions that the servers accept (gighive contract 2.4).
    package static func named(byExtension pathExtension: String) -> MediaType? {
        byExtension[pathExtension.lowercased()]
    }

    /// The type to declare for a file, determined by its extension, or by its content if the extension is unknown or
    /// less specific.
    ///
    /// Never `application/octet-stream`: the servers store the declared type, and reject this one unless the extension
    /// is known (trap T5).
    ///
    /// `fileName` may be a path; only its extension is used. `prefix` contains the first bytes of the file; 4 KiB are
    /// sufficient. nil if both the name and the content are unknown.
    package static func declared(fileName: String, prefix: [UInt8]) -> MediaType? {
        let bySniffing = sniffed(prefix)
        guard let byName = named(byExtension: pathExtension(of: fileName)) else { return bySniffing }
        // `.ogg` is listed as audio, but the container may also contain video.
        if byName == .audio("ogg"), bySniffing == .video("ogg") { return bySniffing }
        return byName
    }

    /// The text after the last dot of the last path component; empty if there is no dot.
    package static func pathExtension(of fileName: String) -> String {
        let lastComponent = fileName.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).last
        guard let lastComponent, let dot = lastComponent.lastIndex(of: UInt8(ascii: ".")) else { return "" }
        return String(lastComponent[lastComponent.index(after: dot)...]) ?? ""
    }

    private static let byExtension: [String: MediaType] = [
        "mp3": .audio("mpeg"),
        "m2a": .audio("mpeg"),
        "wav": .audio("wav"),
        "flac": .audio("flac"),
        "aac": .audio("aac"),
        "m4a": .audio("mp4"),
        "m4p": .audio("mp4"),
        "aif": .audio("aiff"),
        "aifc": .audio("aiff"),
        "aiff": .audio("aiff"),
        "ogg": .audio("ogg"),
        "oga": .audio("ogg"),
        "au": .audio("basic"),
        "wma": .audio("x-ms-wma"),

        "mp4": .video("mp4"),
        "m4v": .video("mp4"),
        "mov": .video("quicktime"),
        "mkv": .video("x-matroska"),
        "webm": .video("webm"),
        "avi": .video("x-msvideo"),
        "mpg": .video("mpeg"),
        "mpeg": .video("mpeg"),
        "m2v": .video("mpeg"),
        // DVD files: streams, and the tables (`ifo`, `bup`) that describe them.
        "vob": .video("mpeg"),
        "ifo": .video("mpeg"),
        "bup": .video("mpeg"),
        "ts": .video("mp2t"),
        "m2t": .video("mp2t"),
        "m2ts": .video("mp2t"),
        "ogv": .video("ogg"),
        // RFC 4539 registers `application/mxf`; the servers distinguish audio and video by the part before the slash.
        "mxf": .video("mxf"),
        "flv": .video("x-flv"),
        "wmv": .video("x-ms-wmv"),
        "rm": .realMedia,
        "rmvb": .realMedia,
        "rv": .video("vnd.rn-realvideo"),
    ]
}

extension MediaType {
    /// The type of the container, determined by the first bytes, of which 4 KiB are sufficient; nil if unknown. A
    /// container may contain more than its extension suggests.
    package static func sniffed(_ prefix: [UInt8]) -> MediaType? {
        fixedMagics.first { prefix.has($0.bytes, at: 0) }?.type ?? byContainer(prefix) ?? byFrames(prefix)
    }

    /// Whether a file with these first bytes is a photo; 4 KiB are sufficient.
    package static func isPhoto(_ prefix: [UInt8]) -> Bool {
        photoMagics.contains { prefix.has($0, at: 0) }
            || prefix.fourCharacters(at: 0) == "RIFF" && prefix.fourCharacters(at: 8) == "WEBP"
            || sniffed(prefix)?.mimeType.hasPrefix("image/") == true
    }

    private static let photoMagics: [[UInt8]] = [
        // JPEG, PNG.
        [0xFF, 0xD8, 0xFF], [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A],
        // TIFF, including most camera raw formats (DNG, NEF, ARW, CR2); RW2 and ORF have their own magic numbers.
        [0x49, 0x49, 0x2A, 0x00], [0x4D, 0x4D, 0x00, 0x2A], [0x49, 0x49, 0x55, 0x00], Array("IIRO".utf8),
        Array("FUJIFILMCCD-RAW".utf8), Array("GIF8".utf8),
        // JPEG XL: codestream and container.
        [0xFF, 0x0A], [0x00, 0x00, 0x00, 0x0C, 0x4A, 0x58, 0x4C, 0x20],
    ]

    private static let fixedMagics: [(bytes: [UInt8], type: MediaType)] = [
        (Array("fLaC".utf8), .audio("flac")),
        (Array("ID3".utf8), .audio("mpeg")),
        (Array(".snd".utf8), .audio("basic")),
        (Array("FLV\u{1}".utf8), .video("x-flv")),
        (Array(".RMF".utf8), .realMedia),
        (Array(".ra".utf8) + [0xFD], .audio("x-pn-realaudio")),
        (Array("DVDVIDEO-".utf8), .video("mpeg")),
        // SMPTE ST 377-1: the key of a header partition pack.
        ([0x06, 0x0E, 0x2B, 0x34, 0x02, 0x05, 0x01, 0x01, 0x0D, 0x01, 0x02], .video("mxf")),
        // ISO/IEC 13818-1: a pack header; 13818-2: a sequence header.
        ([0x00, 0x00, 0x01, 0xBA], .video("mpeg")),
        ([0x00, 0x00, 0x01, 0xB3], .video("mpeg")),
    ]

    private static func byContainer(_ magic: [UInt8]) -> MediaType? {
        switch magic.fourCharacters(at: 0) {
        case "RIFF", "RF64", "BW64":
            switch magic.fourCharacters(at: 8) {
            case "AVI ": .video("x-msvideo")
            case "WAVE": .audio("wav")
            default: nil
            }
        case "FORM":
            ["AIFF", "AIFC"].contains(magic.fourCharacters(at: 8)) ? .audio("aiff") : nil
        case "OggS":
            ogg(magic)
        default:
            if magic.has([0x1A, 0x45, 0xDF, 0xA3], at: 0) {
                matroska(magic)
            } else if magic.has(asfHeader, at: 0) {
                asf(magic)
            } else {
                isoMedia(magic)
            }
        }
    }

    /// The type of the first box, then the major brand (ISO/IEC 14496-12 section 4.3 and the QuickTime file format).
    private static func isoMedia(_ magic: [UInt8]) -> MediaType? {
        switch magic.fourCharacters(at: 4) {
        case "ftyp":
            switch magic.fourCharacters(at: 8) {
            case "qt  ": .video("quicktime")
            case "M4A ", "M4B ", "M4P ": .audio("mp4")
            case "heic", "heix", "heim", "heis", "mif1", "msf1": MediaType(mimeType: "image/heic", kind: .other)
            case "avif", "avis": MediaType(mimeType: "image/avif", kind: .other)
            case let brand where brand.hasPrefix("3g"): .video("3gpp")
            default: .video("mp4")
            }
        case "moov", "mdat", "wide", "pnot":
            // Movies from before `ftyp` was introduced.
            .video("quicktime")
        default:
            nil
        }
    }

    /// RFC 8794 section 11.2.5: the DocType element (0x4282) of the EBML header.
    private static func matroska(_ magic: [UInt8]) -> MediaType? {
        guard let element = magic.firstIndex(of: [0x42, 0x82], before: 64) else { return nil }
        // One byte of length (its top bit marks a one-byte size), then the name.
        if magic.has(Array("webm".utf8), at: element + 3) { return .video("webm") }
        return magic.has(Array("matroska".utf8), at: element + 3) ? .video("x-matroska") : nil
    }

    /// RFC 3533 section 6 and RFC 5334: each stream has a "beginning of stream" page, and these come first.
    private static func ogg(_ magic: [UInt8]) -> MediaType {
        var page = 0
        while magic.fourCharacters(at: page) == "OggS", let flags = magic.byte(at: page + 5), flags & 0x02 != 0,
            let segmentCount = magic.byte(at: page + 26)
        {
            let content = page + 27 + Int(segmentCount)
            if magic.has([0x80] + Array("theora".utf8), at: content) { return .video("ogg") }
            page = content + (0..<Int(segmentCount)).reduce(0) { $0 + Int(magic.byte(at: page + 27 + $1) ?? 0) }
        }
        return .audio("ogg")
    }

    // ASF specification, section 10: object and stream type identifiers, in the byte order used in files.
    private static let asfHeader: [UInt8] = [0x30, 0x26, 0xB2, 0x75, 0x8E, 0x66, 0xCF, 0x11]
    private static let asfVideoStream: [UInt8] = [0xC0, 0xEF, 0x19, 0xBC, 0x4D, 0x5B, 0xCF, 0x11]
    private static let asfAudioStream: [UInt8] = [0x40, 0x9E, 0x69, 0xF8, 0x4D, 0x5B, 0xCF, 0x11]

    private static func asf(_ magic: [UInt8]) -> MediaType {
        if magic.firstIndex(of: asfVideoStream, before: magic.count) != nil { return .video("x-ms-wmv") }
        return magic.firstIndex(of: asfAudioStream, before: magic.count) != nil
            ? .audio("x-ms-wma") : .video("x-ms-asf")
    }

    /// Formats without a header: transport streams, ADTS, MPEG audio.
    private static func byFrames(_ magic: [UInt8]) -> MediaType? {
        // ISO/IEC 13818-1: packets of 188 bytes start with 0x47; cameras and Blu-ray prepend 4 bytes to each.
        let packets = [(start: 0, stride: 188), (start: 4, stride: 192)]
        if packets.contains(where: { packet in
            (0..<3).allSatisfy { magic.byte(at: packet.start + $0 * packet.stride) == 0x47 }
        }) {
            return .video("mp2t")
        }
        guard magic.byte(at: 0) == 0xFF, let second = magic.byte(at: 1), let third = magic.byte(at: 2) else {
            return nil
        }
        // ISO/IEC 13818-7: twelve sync bits, then layer 0.
        if second & 0xF6 == 0xF0 { return .audio("aac") }
        // ISO/IEC 11172-3: eleven sync bits, no reserved version, bit rate or sampling rate; layers II and III only,
        // since layer I resembles the byte order mark of UTF-16.
        let layer = (second >> 1) & 3
        let isFrame = second & 0xE0 == 0xE0 && (second >> 3) & 3 != 1 && third >> 4 != 15 && (third >> 2) & 3 != 3
        return isFrame && (layer == 1 || layer == 2) ? .audio("mpeg") : nil
    }
}

/// Access to the first bytes of a file; offsets beyond their end are allowed.
extension [UInt8] {
    func byte(at offset: Int) -> UInt8? { offset < count ? self[offset] : nil }

    func has(_ pattern: [UInt8], at offset: Int) -> Bool {
        offset + pattern.count <= count && self[offset...].starts(with: pattern)
    }

    func firstIndex(of pattern: [UInt8], before limit: Int) -> Int? {
        (0..<Swift.min(limit, count)).first { has(pattern, at: $0) }
    }
}
