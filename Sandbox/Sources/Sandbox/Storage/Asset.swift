import Foundation
import GRDB

struct Asset: Sendable, SnakeCaseRecord {
    var id: Int
    var checksum: String
    var fileExtension: String
    var kind: MediaKind
    var mimeType: String
    var size: Int
    var duration: Int?
    var sourceName: String
    var deleteTokenHash: String?
    var createdAt: String

    var fileName: String { Self.fileName(checksum, fileExtension) }

    static func fileName(_ checksum: String, _ fileExtension: String) -> String {
        fileExtension.isEmpty ? checksum : "\(checksum).\(fileExtension)"
    }

    static func find(_ id: Int, _ db: Database) throws -> Asset? { try fetchOne(db, key: id) }

    static func find(checksum: String, _ db: Database) throws -> Asset? {
        try fetchOne(db, key: ["checksum": checksum])
    }

    /// Inserts a row; the caller moves the file.
    static func insert(
        _ file: IncomingFile,
        _ checksum: String,
        _ fileExtension: String,
        _ kind: MediaKind,
        mimeType: String,
        sourceName: String,
        tokenHash: String?,
        _ db: Database
    ) throws -> Asset {
        let asset = try fetchOne(
            db,
            sql: """
                INSERT INTO asset (checksum, file_extension, kind, mime_type, size, duration, source_name, delete_token_hash,
                    created_at)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, datetime('now')) RETURNING *
                """,
            arguments: [
                checksum, fileExtension, kind.rawValue, mimeType, file.size, MovieDuration.seconds(ofFileAt: file.path),
                sourceName, tokenHash,
            ]
        )
        guard let asset else { throw DatabaseError(message: "asset was not inserted") }
        return asset
    }
}

/// The type of a file, and how the server determines it (gighive contract 2.4).
enum MediaKind: String, Sendable, CaseIterable, Codable {
    case audio, video

    private static let audioExtensions = "mp3 wav flac aac m4a m4p aif aifc aiff ogg oga au m2a wma".split(
        separator: " "
    )
    private static let videoExtensions =
        "mp4 mov mkv webm m4v avi mpg mpeg ts m2t m2ts ogv mxf flv rm rmvb rv wmv vob m2v bup ifo".split(separator: " ")

    /// `fileExtension` is in lowercase.
    init?(fileExtension: String) {
        let isAudio = Self.audioExtensions.contains { $0 == fileExtension }
        guard isAudio || Self.videoExtensions.contains(where: { $0 == fileExtension }) else { return nil }
        self = isAudio ? .audio : .video
    }

    init?(mimeType: String) {
        guard let kind = Self.allCases.first(where: { mimeType.hasPrefix($0.rawValue + "/") }) else { return nil }
        self = kind
    }

    /// Nil for an unsupported media type.
    static func judged(declaredType: String, fileExtension: String, prefix: [UInt8]) -> MediaKind? {
        let byExtension = MediaKind(fileExtension: fileExtension)
        let byType = MediaKind(mimeType: declaredType)
        let isMedia = byExtension != nil || byType != nil || MediaKind(mimeType: sniffedType(prefix)) != nil
        return isMedia ? byType ?? byExtension : nil
    }

    /// The type by content: a simplified form of the server's detection.
    static func sniffedType(_ prefix: [UInt8]) -> String {
        let known = signatures.first { prefix.dropFirst($0.offset).starts(with: $0.bytes) }?.type
        return known ?? (prefix.contains { $0 < 9 } ? "application/octet-stream" : "text/plain")
    }

    private static let signatures: [(offset: Int, bytes: [UInt8], type: String)] = [
        (4, Array("ftypqt  ".utf8), "video/quicktime"), (4, Array("ftypM4A ".utf8), "audio/mp4"),
        (4, Array("ftyp".utf8), "video/mp4"), (0, Array("ID3".utf8), "audio/mpeg"), (0, [0xFF, 0xFB], "audio/mpeg"),
        (0, Array("OggS".utf8), "audio/ogg"), (0, Array("fLaC".utf8), "audio/flac"),
        (0, [0x1A, 0x45, 0xDF, 0xA3], "video/x-matroska"), (8, Array("WAVE".utf8), "audio/x-wav"),
        (8, Array("AVI ".utf8), "video/x-msvideo"),
    ]
}

/// Reads the duration of an MP4 or QuickTime file from its `mvhd` box (ISO/IEC 14496-12, 8.2.2).
enum MovieDuration {
    /// Whole seconds; nil for other files, and for 64-bit boxes and numbers.
    static func seconds(ofFileAt path: String) -> Int? {
        guard let file = try? OpenFile(path, O_RDONLY), let end = try? Int(file.status().st_size),
            let movie = box("moov", in: file, 0..<end), let header = box("mvhd", in: file, movie),
            number(file, at: header.lowerBound, 1) == 0, let scale = number(file, at: header.lowerBound + 12, 4),
            let duration = number(file, at: header.lowerBound + 16, 4), scale > 0
        else { return nil }
        return Int((Double(duration) / Double(scale)).rounded())
    }

    /// The contents of the first box of a type among siblings.
    private static func box(_ type: String, in file: OpenFile, _ range: Range<Int>) -> Range<Int>? {
        var position = range.lowerBound
        while let size = number(file, at: position, 4), size >= 8, size <= range.upperBound - position {
            if (try? file.read(at: position + 4, count: 4)) == Array(type.utf8) {
                return position + 8..<position + size
            }
            position += size
        }
        return nil
    }

    /// A big-endian number; nil beyond the end of the file.
    private static func number(_ file: OpenFile, at offset: Int, _ count: Int) -> Int? {
        guard let bytes = try? file.read(at: offset, count: count), bytes.count == count else { return nil }
        return bytes.reduce(0) { $0 << 8 | Int($1) }
    }
}
