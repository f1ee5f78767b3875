import Foundation
import HTTPTypes
import HummingbirdCore
import NIOCore

/// PATCH (gighive-d4 contract 4.2 to 4.4).
extension BlockTusEndpoint {
    /// Bytes that the web firewall holds back: an interrupted body up to this size never reaches PHP.
    static let firewallBuffer = 20_971_520

    func patch(_ id: String, _ exchange: Exchange) async throws -> Reply {
        let (body, interruption) = try await receive(exchange)
        guard let interruption else {
            try await exchange.bodyIsComplete()
            return try await take(body, for: id, exchange)
        }
        // PHP takes what arrived for a whole block, and continues although the client is gone.
        _ = try await take(body, for: id, exchange)
        throw interruption
    }

    /// The body as PHP receives it, and what interrupted it if PHP receives it anyway.
    private func receive(_ exchange: Exchange) async throws -> (body: IncomingFile, interruption: (any Error)?) {
        let body = try IncomingFile(path: store.folder.newIncomingPath(), hashedBy: nil)
        do {
            try await exchange.receiveBody(body.append)
            return (body, nil)
        } catch  where !(error is BodyTooLarge || error is SystemError) {
            guard body.size > (settings.buffersBodies ? Self.firewallBuffer : 0) else { throw error }
            return (body, error)
        }
    }

    private func take(_ body: IncomingFile, for id: String, _ exchange: Exchange) async throws -> Reply {
        _ = try guestToken(exchange)
        guard exchange.header("Content-Type")?.lowercased().contains(TusEndpoint.chunkType) ?? false else {
            throw BlockTusError.wrongContentType
        }
        guard let offset = Int(exchange.header("Upload-Offset") ?? ""), offset >= 0 else {
            throw BlockTusError.missingOffset
        }
        await turns.begin(id)
        defer { turns.end(id) }
        try strike(id, exchange.plan)
        guard let upload = try store.find(id) else { throw BlockTusError.notFound }
        switch upload.state {
        case .complete: return .blockTus(.noContent, [("Upload-Offset", String(upload.length))])
        case .failed: throw BlockTusError.hasFailed
        case .pending: break
        }
        guard offset == upload.claimedOffset else { throw BlockTusError.mismatch(claimed: upload.claimedOffset) }
        guard body.size > 0 else { throw BlockTusError.emptyBody }
        do {
            return try await append(body, to: upload)
        } catch {
            // Whatever went wrong, the script marks the upload as failed.
            try store.fail(id)
            throw BlockTusError.exception
        }
    }

    private func append(_ body: IncomingFile, to upload: BlockUpload) async throws -> Reply {
        let path = store.folder.uploadPath(upload.id)
        try await UploadBytes(appendingTo: path).append(fileAt: body.path)
        let newOffset = upload.claimedOffset + body.size
        guard newOffset >= upload.length else {
            try store.countBlock(ofSize: body.size, in: upload.id)
            return .blockTus(.noContent, [("Upload-Offset", String(newOffset))])
        }
        if ingestDelay > 0 { try await Task.sleep(for: .seconds(ingestDelay)) }
        let file = try await FinishedUpload(path: path)
        guard file.size == upload.length else { throw WrongSize() }
        let asset = try store.catalog.store(file, upload.metadata)
        try store.complete(upload.id, asset: asset)
        return .blockTus(.noContent, [("Upload-Offset", String(upload.length)), ("X-Asset-Id", String(asset))])
    }

    /// The file does not have the announced length: its blocks had different sizes.
    private struct WrongSize: Error {}
}
