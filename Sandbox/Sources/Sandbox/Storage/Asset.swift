import Foundation
import GRDB

/// One stored file.
struct Asset: Sendable {
    var id: Int
    var checksum: String
    var fileExtension: String
    var kind: MediaKind
    var mimeType: String
    var size: Int
    var duration: Int?
    var sourceName: String
    var tokenHash: String?
    var createdAt: String

    /// The name it is served by.
    var fileName: String { fileExtension.isEmpty ? checksum : "\(checksum).\(fileExtension)" }

    init(_ row: Row) {
        id = row["id"]
        checksum = row["checksum"]
        fileExtension = row["file_ext"]
        kind = MediaKind(rawValue: row["file_type"]) ?? .video
        mimeType = row["mime_type"]
        size = row["size_bytes"]
        duration = row["duration_seconds"]
        sourceName = row["source_relpath"]
        tokenHash = row["delete_token_hash"]
        createdAt = row["created_at"]
    }

    static func find(_ id: Int, _ db: Database) throws -> Asset? {
        try Row.fetchOne(db, sql: "SELECT * FROM asset WHERE id = ?", arguments: [id]).map(Asset.init)
    }

    static func find(checksum: String, _ db: Database) throws -> Asset? {
        try Row.fetchOne(db, sql: "SELECT * FROM asset WHERE checksum = ?", arguments: [checksum]).map(Asset.init)
    }

    /// Makes a row; the file must be put in place by the caller.
    static func insert(
        checksum: String,
        fileExtension: String,
        kind: MediaKind,
        mimeType: String,
        size: Int,
        duration: Int?,
        sourceName: String,
        tokenHash: String?,
        _ db: Database
    ) throws -> Asset {
        let row = try Row.fetchOne(
            db,
            sql: """
                INSERT INTO asset (checksum, file_ext, file_type, mime_type, size_bytes, duration_seconds,
                    source_relpath, delete_token_hash, created_at)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, datetime('now')) RETURNING *
                """,
            arguments: [
                checksum, fileExtension, kind.rawValue, mimeType, size, duration, sourceName, tokenHash,
            ]
        )
        guard let row else { throw DatabaseError(message: "asset was not inserted") }
        return Asset(row)
    }
}

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

    /// The type that the content shows: a simple form of the server's sniffing.
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

/// Reads the duration of an MP4 or QuickTime file from its `mvhd` box (ISO/IEC 14496-12, 8.2.2).
enum MovieDuration {
    /// Whole seconds, or nil when the file is something else.
    static func seconds(ofFileAt path: String) -> Int? {
        guard let file = FileHandle(forReadingAtPath: path) else { return nil }
        defer { try? file.close() }
        guard let end = try? file.seekToEnd(),
            let movie = box("moov", in: file, from: 0, to: end),
            let header = box("mvhd", in: file, from: movie.lowerBound, to: movie.upperBound)
        else { return nil }
        let isVersion1 = bytes(file, at: header.lowerBound, count: 1)?.first == 1
        guard let fields = bytes(file, at: header.lowerBound, count: isVersion1 ? 32 : 20) else { return nil }
        let timescale = integer(fields[isVersion1 ? 20..<24 : 12..<16])
        let duration = integer(fields[isVersion1 ? 24..<32 : 16..<20])
        guard timescale > 0, duration < 1 << 48 else { return nil }
        return Int((Double(duration) / Double(timescale)).rounded())
    }

    /// The contents of the first box of a type among siblings.
    private static func box(
        _ type: String,
        in file: FileHandle,
        from start: UInt64,
        to end: UInt64
    ) -> Range<UInt64>? {
        var position = start
        while position + 8 <= end, let header = bytes(file, at: position, count: 8) {
            var size = integer(header[0..<4])
            var headerSize: UInt64 = 8
            if size == 1, let large = bytes(file, at: position + 8, count: 8) {
                size = integer(large[0..<8])
                headerSize = 16
            } else if size == 0 {
                size = end - position
            }
            guard size >= headerSize, size <= end - position else { return nil }
            if header[4..<8].elementsEqual(type.utf8) { return position + headerSize..<position + size }
            position += size
        }
        return nil
    }

    private static func bytes(_ file: FileHandle, at offset: UInt64, count: Int) -> [UInt8]? {
        guard (try? file.seek(toOffset: offset)) != nil, let data = try? file.read(upToCount: count),
            data.count == count
        else { return nil }
        return Array(data)
    }

    /// A big-endian number.
    private static func integer(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }
}
