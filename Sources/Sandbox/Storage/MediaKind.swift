import Foundation

/// Audio or video: the two shelves of the server, and its rules for what goes where (gighive contract 2.4).
enum MediaKind: String, Sendable, CaseIterable {
    case audio
    case video

    private static let audioExtensions = Set(
        "mp3 wav flac aac m4a m4p aif aifc aiff ogg oga au m2a wma".split(separator: " ").map(String.init)
    )
    private static let videoExtensions = Set(
        "mp4 mov mkv webm m4v avi mpg mpeg ts m2t m2ts ogv mxf flv rm rmvb rv wmv vob m2v bup ifo"
            .split(separator: " ").map(String.init)
    )

    /// The kind a known extension (lower case) stands for.
    init?(fileExtension: String) {
        if Self.audioExtensions.contains(fileExtension) {
            self = .audio
        } else if Self.videoExtensions.contains(fileExtension) {
            self = .video
        } else {
            return nil
        }
    }

    /// The kind of a MIME type.
    init?(mimeType: String) {
        guard let kind = Self.allCases.first(where: { mimeType.hasPrefix($0.rawValue + "/") }) else { return nil }
        self = kind
    }

    /// The two gates of an upload: is it media at all, then which kind; nil is "Unsupported media type".
    static func judged(declaredType: String, fileExtension: String, prefix: [UInt8]) -> MediaKind? {
        let byExtension = MediaKind(fileExtension: fileExtension)
        guard byExtension != nil || looksLikeMedia(prefix) || MediaKind(mimeType: declaredType) != nil else {
            return nil
        }
        return MediaKind(mimeType: declaredType) ?? byExtension
    }

    /// The type that the content shows: a small stand-in for the server's sniffing.
    static func sniffedType(_ prefix: [UInt8]) -> String {
        let known = signatures.first { prefix.dropFirst($0.offset).starts(with: $0.bytes) }?.type
        return known ?? (prefix.contains { $0 < 9 } ? "application/octet-stream" : "text/plain")
    }

    private static func looksLikeMedia(_ prefix: [UInt8]) -> Bool {
        MediaKind(mimeType: sniffedType(prefix)) != nil
    }

    /// The first match counts.
    private static let signatures: [(offset: Int, bytes: [UInt8], type: String)] = [
        (4, Array("ftypqt  ".utf8), "video/quicktime"), (4, Array("ftypM4A ".utf8), "audio/mp4"),
        (4, Array("ftyp".utf8), "video/mp4"), (0, Array("ID3".utf8), "audio/mpeg"), (0, [0xFF, 0xFB], "audio/mpeg"),
        (0, Array("OggS".utf8), "audio/ogg"), (0, Array("fLaC".utf8), "audio/flac"),
        (0, [0x1A, 0x45, 0xDF, 0xA3], "video/x-matroska"), (8, Array("WAVE".utf8), "audio/x-wav"),
        (8, Array("AVI ".utf8), "video/x-msvideo"),
    ]
}
