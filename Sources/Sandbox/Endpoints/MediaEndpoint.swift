import Foundation
import HTTPTypes
import HummingbirdCore

/// `/video/<sha256>.<ext>` and `/audio/<sha256>.<ext>`, with single ranges (gighive contract 7).
struct MediaEndpoint {
    let catalog: Catalog

    func reply(_ kind: MediaKind, _ fileName: String, _ request: Request) throws -> Reply {
        guard request.method == .get || request.method == .head else { return .webServerError(.methodNotAllowed) }
        guard let asset = try catalog.asset(kind: kind, fileName: fileName) else { return .webServerError(.notFound) }
        return reply(serving: asset, request)
    }

    /// The bytes of an asset, or the range of them that was asked for.
    func reply(serving asset: Asset, _ request: Request) -> Reply {
        let path = catalog.folder.mediaPath(asset.kind, asset.fileName)
        var reply = Reply(
            status: .ok,
            origin: .application,
            body: .file(StoredRange(path: path, offset: 0, count: asset.size)),
            headers: [("Accept-Ranges", "bytes"), ("Content-Type", asset.mimeType)]
        )
        guard let header = request.headers[.range], let range = ByteRange(header, size: asset.size) else {
            return reply
        }
        guard let bytes = range.bytes else {
            reply = .webServerError(.rangeNotSatisfiable)
            reply.headers.append(("Content-Range", "bytes */\(asset.size)"))
            return reply
        }
        reply.status = .partialContent
        reply.body = .file(StoredRange(path: path, offset: bytes.lowerBound, count: bytes.count))
        reply.headers.append(
            ("Content-Range", "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/\(asset.size)")
        )
        return reply
    }
}

/// One range of a `Range` header (RFC 9110 section 14.1.2).
struct ByteRange: Equatable {
    /// Nil when no byte of the file is in it.
    var bytes: Range<Int>?

    /// Nil when the header is none that this server serves: other units, several ranges, bad syntax.
    init?(_ header: String, size: Int) {
        guard let match = header.wholeMatch(of: /bytes=([0-9]*)-([0-9]*)/) else { return nil }
        switch (Int(match.1), Int(match.2)) {
        case (nil, nil): return nil
        case (nil, let suffix?): bytes = suffix == 0 || size == 0 ? nil : max(0, size - suffix)..<size
        case (let first?, nil): bytes = first < size ? first..<size : nil
        case (let first?, let last?):
            guard first <= last else { return nil }
            bytes = first < size ? first..<min(last, size - 1) + 1 : nil
        }
    }
}
