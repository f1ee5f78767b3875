import Foundation
import HTTPTypes
import HummingbirdCore
import NIOCore

/// `/files/` in PHP: tus 1.0.0 with `creation` alone (gighive-d4 contract 1, 4).
struct BlockTusEndpoint: TusService {
    let store: BlockStore
    let guests: GuestBook
    let settings: TusSettings
    /// Seconds that storing takes.
    let ingestDelay: Double
    let turns = UploadTurns()

    func answer(_ call: TusCall, to exchange: Exchange) async throws -> Answer {
        let reply: Reply
        do {
            reply = try await self.reply(call, to: exchange)
        } catch let error as BlockTusError {
            reply = error.reply
        }
        return Answer(reply: reply, isEarly: !exchange.isBodyRead)
    }

    func summaries() throws -> [TusSummary] {
        try store.all().map { upload in
            TusSummary(
                id: upload.id,
                offset: upload.claimedOffset,
                length: upload.length,
                isFinished: upload.state == .complete
            )
        }
    }

    private func reply(_ call: TusCall, to exchange: Exchange) async throws -> Reply {
        if case .patch(let id) = call { return try await patch(id, exchange) }
        // A body that comes with a creation is dropped.
        try await exchange.readBody { _ in }
        if case .options = call { return .blockTus(.noContent, [("Tus-Max-Size", String(maxSize))]) }
        let guest = try guestToken(exchange)
        switch call {
        case .create: return try await create(exchange, guest)
        case .head(let id): return try head(id, exchange)
        case .options, .patch, .terminate, .other: return refusal(of: exchange.request.method)
        }
    }

    private var maxSize: Int { settings.maxSize ?? UploadEndpoint.applicationLimit }

    /// The token of a guest, checked; nil for a user with a password.
    func guestToken(_ exchange: Exchange) throws -> String? {
        guard let token = exchange.uploadToken else { return nil }
        guard case .valid = try guests.check(token) else { throw BlockTusError.invalidToken }
        return token
    }

    private func create(_ exchange: Exchange, _ guest: String?) async throws -> Reply {
        guard let length = Int(exchange.header("Upload-Length") ?? ""), length > 0 else {
            throw BlockTusError.invalidLength
        }
        guard length <= maxSize else { throw BlockTusError.tooLong }
        let metadata = try BlockMetadata(TusMetadata(exchange.header("Upload-Metadata") ?? ""))
        try store.requirePlace(forGuest: guest)
        guard metadata.fitsColumns else { throw BlockTusError.exception }
        let upload = BlockUpload(id: newUUID(), guestToken: guest, length: length, metadata: metadata)
        let raceWindow = store.catalog.raceWindow
        if let raceWindow { try await Task.sleep(for: .seconds(raceWindow)) }
        try store.insert(upload, isCounted: raceWindow == nil)
        return .blockTus(
            .created,
            [("Location", settings.location.url(ofUpload: upload.id, exchange)), ("Upload-Offset", "0")]
        )
    }

    private func head(_ id: String, _ exchange: Exchange) throws -> Reply {
        try strike(id, exchange.plan)
        guard let upload = try store.find(id) else { throw BlockTusError.notFound }
        return .blockTus(
            .ok,
            [
                ("Cache-Control", "no-store"), ("Upload-Offset", String(upload.claimedOffset)),
                ("Upload-Length", String(upload.length)),
            ]
        )
    }

    /// Applies the faults that remove or age an upload.
    func strike(_ id: String, _ plan: FaultPlan) throws {
        if plan.has(.forget) { try store.forget(id) }
        if plan.has(.expire) { try store.age(id) }
    }

    /// The response to a method that is not served at this path.
    private func refusal(of method: HTTPRequest.Method) -> Reply {
        switch method {
        case .post:
            Reply.blockTus(
                .badRequest,
                // The script sets no type here.
                [Reply.phpContentType],
                body: .json(["error": "POST must target /files/ not /files/{id}"])
            )
        case .get: .blockTus(.badRequest, body: .json(["error": "GET is not supported on the tus upload endpoint"]))
        case .patch, .head: .blockTus(.badRequest)
        default: .blockTus(.methodNotAllowed, [("Allow", "OPTIONS, POST, PATCH, HEAD")])
        }
    }
}

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
