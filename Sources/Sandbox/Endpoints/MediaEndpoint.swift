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
