import Foundation
import HTTPTypes
import HummingbirdCore

/// `/video/<sha256>.<ext>` and `/audio/<sha256>.<ext>`, with single ranges (gighive contract 7).
struct MediaEndpoint {
    let catalog: Catalog

    func reply(_ kind: MediaKind, _ fileName: String, _ request: Request) throws -> Reply {
        guard request.method == .get || request.method == .head else { return .webServerError(.methodNotAllowed) }
        if let asset = try catalog.asset(kind: kind, fileName: fileName) { return reply(serving: asset, request) }
        guard let file = orphan(kind, fileName) else { return .webServerError(.notFound) }
        return Reply(
            status: .ok,
            origin: .application,
            body: .file(StoredRange(file: file, offset: 0, count: file.size)),
            headers: [("Accept-Ranges", "bytes"), ("Content-Type", "\(kind.rawValue)/mpeg")]
        )
    }

    /// Bytes without a row, which a lost race on D1 and D2 leaves behind: they are served like any others.
    private func orphan(_ kind: MediaKind, _ fileName: String) -> OpenFile? {
        guard fileName.wholeMatch(of: /[0-9a-f]{64}(\.[a-z0-9]+)?/) != nil else { return nil }
        return OpenFile(path: catalog.folder.mediaPath(kind, fileName))
    }

    /// The bytes of an asset, or the range of them that was asked for.
    func reply(serving asset: Asset, _ request: Request) -> Reply {
        let path = catalog.folder.mediaPath(asset.kind, asset.fileName)
        let file = StoredRange(path: path, offset: 0, count: asset.size)
        return Self.reply(serving: file, type: asset.mimeType, request)
    }

    /// The bytes of a whole file, or the range of them that was requested.
    static func reply(serving file: StoredRange, type: String, _ request: Request) -> Reply {
        let size = file.count
        var reply = Reply(
            status: .ok,
            origin: .application,
            body: .file(file),
            headers: [("Accept-Ranges", "bytes"), ("Content-Type", type)]
        )
        guard let header = request.headers[.range], let range = ByteRange(header, size: size) else { return reply }
        guard let bytes = range.bytes else {
            reply = .webServerError(.rangeNotSatisfiable)
            reply.headers.append(("Content-Range", "bytes */\(size)"))
            return reply
        }
        var part = file
        part.offset = bytes.lowerBound
        part.count = bytes.count
        reply.status = .partialContent
        reply.body = .file(part)
        reply.headers.append(("Content-Range", "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/\(size)"))
        return reply
    }
}
