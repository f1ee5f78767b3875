import HTTPTypes
import HummingbirdCore

/// `/video/`, `/audio/` and `/media/` as PHP serves them in D4: any stored file, with or without a row (gighive-d4
/// contract 2, 7).
struct StreamEndpoint {
    let folder: DataFolder

    /// Searches the directories of these kinds.
    func reply(_ kinds: [MediaKind], _ fileName: String, _ request: Request) -> Reply {
        guard fileName.wholeMatch(of: /[0-9a-f]{64}\.[A-Za-z0-9]{2,5}/) != nil else { return .emptyPHP(.badRequest) }
        let files = kinds.lazy.compactMap { OpenFile(path: folder.mediaPath($0, fileName)) }
        guard let file = files.first else { return .emptyPHP(.notFound) }
        var reply = MediaEndpoint.reply(
            serving: StoredRange(file: file, offset: 0, count: file.size),
            type: Self.type(of: fileName),
            request
        )
        if reply.status.kind == .successful {
            reply.headers += [
                ("ETag", "\"\(Digest.hex(of: "\(fileName) \(file.modifiedAt)"))\""),
                ("Cache-Control", "private, max-age=3600"),
            ]
        }
        return reply
    }

    /// The type follows the extension, not the row: a `.bin` is `application/octet-stream` whatever it contains.
    private static func type(of fileName: String) -> String {
        switch fileName.split(separator: ".").last {
        case "mp4": "video/mp4"
        case "mov": "video/quicktime"
        case "webm": "video/webm"
        case "mkv": "video/x-matroska"
        case "avi": "video/x-msvideo"
        case "mp3": "audio/mpeg"
        case "wav": "audio/wav"
        case "aac": "audio/aac"
        case "ogg": "audio/ogg"
        case "m4a": "audio/mp4"
        case "flac": "audio/flac"
        default: "application/octet-stream"
        }
    }
}
