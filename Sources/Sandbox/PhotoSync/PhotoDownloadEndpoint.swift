import Foundation
import HTTPTypes

/// The stored files, with single ranges and dates (photosync contract 6).
struct PhotoDownloadEndpoint {
    let catalog: PhotoCatalog

    func reply(id: String, to exchange: Exchange, from user: UserRecord) throws -> Reply {
        guard let photo = try catalog.photo(id) else { return .photoSyncText(.notFound, "Photo not found") }
        guard photo.userID == user.id else { return .photoSyncText(.forbidden, "Access denied") }
        return try serve(photo, Self.headers(photo), exchange)
    }

    /// Only the user's own photos exist here.
    func reply(hash: String, to exchange: Exchange, from user: UserRecord) throws -> Reply {
        guard let photo = try catalog.photo(hash: hash), photo.userID == user.id else {
            return .photoSyncText(.notFound, "Photo not found")
        }
        return try serve(photo, Self.headers(photo) + [("X-Photosync-Id", photo.id)], exchange)
    }

    /// The sandbox makes no thumbnails: of files that are no pictures there is none, of pictures it was lost.
    func thumbnail(id: String, from user: UserRecord) throws -> Reply {
        guard let photo = try catalog.photo(id) else { return .photoSyncText(.notFound, "Photo not found") }
        guard photo.userID == user.id else { return .photoSyncText(.forbidden, "Access denied") }
        return .photoSyncText(.notFound, photo.pixels == nil ? "Thumbnail not available" : "Thumbnail not found")
    }

    private static func headers(_ photo: PhotoRecord) -> [(name: String, value: String)] {
        [
            ("Content-Disposition", "attachment; filename=\"\(photo.name)\""),
            ("X-Photosync-Hash", photo.hash),
            ("X-Photosync-Datetaken", photo.takenAt.wholeSecondText),
        ]
    }

    private func serve(
        _ photo: PhotoRecord,
        _ headers: [(name: String, value: String)],
        _ exchange: Exchange
    ) throws -> Reply {
        guard PhotoName.isSafe(photo.path) else { return .photoSyncText(.notFound, "File not found") }
        guard let file = OpenFile(path: catalog.folder.photoPath(photo.path)) else {
            var reply = Reply.photoSyncNotFound
            reply.headers += headers
            return reply
        }
        let modified = HTTPDate.text(time_t(file.modifiedAt))
        let common = headers + [("Accept-Ranges", "bytes"), ("Last-Modified", modified)]
        if let since = exchange.header("If-Modified-Since").flatMap(HTTPDate.seconds), file.modifiedAt <= since {
            return Reply(status: .notModified, origin: .photoSync, body: .empty, headers: common)
        }
        let type = ("Content-Type", PhotoName.contentType(photo.path) ?? "application/octet-stream")
        let whole = Reply(
            status: .ok,
            origin: .photoSync,
            body: .file(StoredRange(file: file, offset: 0, count: file.size)),
            headers: common + [type]
        )
        guard let header = exchange.header("Range"), !exchange.plan.has(.ignoreRange), isRangeMeant(exchange, file)
        else { return whole }
        return range(header, of: file, whole, common)
    }

    /// `If-Range` with another date means: all of it if it has changed (RFC 9110 section 13.1.5).
    private func isRangeMeant(_ exchange: Exchange, _ file: OpenFile) -> Bool {
        guard let condition = exchange.header("If-Range") else { return true }
        return HTTPDate.seconds(condition) == file.modifiedAt
    }

    private func range(
        _ header: String,
        of file: OpenFile,
        _ whole: Reply,
        _ common: [(name: String, value: String)]
    ) -> Reply {
        // Several ranges are ignored.
        guard !header.contains(",") else { return whole }
        guard let range = ByteRange(header, size: file.size) else {
            return Self.refusal("invalid range", common)
        }
        guard let bytes = range.bytes else {
            return Self.refusal(
                "invalid range: failed to overlap",
                common + [("Content-Range", "bytes */\(file.size)")]
            )
        }
        var part = whole
        part.status = .partialContent
        part.body = .file(StoredRange(file: file, offset: bytes.lowerBound, count: bytes.count))
        part.headers.append(
            ("Content-Range", "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/\(file.size)")
        )
        return part
    }

    private static func refusal(_ text: String, _ headers: [(name: String, value: String)]) -> Reply {
        var reply = Reply.photoSyncText(.rangeNotSatisfiable, text)
        reply.headers += headers
        return reply
    }
}
