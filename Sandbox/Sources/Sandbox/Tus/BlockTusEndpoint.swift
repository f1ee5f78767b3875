import Foundation
import HTTPTypes
import HummingbirdCore
import NIOCore

/// `/files/` in PHP: tus 1.0.0 with `creation` alone (gighive-d4 contract 1, 4).
struct BlockTusEndpoint: TusService {
    /// The web firewall buffers this much: an interrupted body up to this size does not reach PHP.
    private static let firewallBuffer = 20_971_520

    let store: BlockStore
    let guests: GuestBook
    let settings: UploadArguments
    private let busy = BusyUploads()

    func uploads() throws -> [JSONValue] {
        try store.all().map {
            ["id": .string($0.id), "offset": .int($0.claimedOffset), "length": JSONValue($0.length)]
        }
    }

    func response(_ call: TusCall, to exchange: Exchange) async throws -> Response {
        if case .patch(let id) = call { return try await patch(id, exchange) }
        // The body of a creation is discarded.
        try await exchange.readBody()
        if case .options = call { return .blockTus(.noContent, [("Tus-Max-Size", String(maxSize))]) }
        let guest = try guestToken(exchange)
        switch call {
        case .create: return try await create(exchange, guest)
        case .head(let id): return try head(id, exchange)
        case .options, .patch, .terminate, .other: return refusal(of: exchange.request.method)
        }
    }

    private var maxSize: Int { settings.tusMaxSize ?? UploadEndpoint.applicationLimit }

    /// The validated token of a guest; nil for a user with a password.
    private func guestToken(_ exchange: Exchange) throws -> String? {
        do {
            _ = try guests.link(of: exchange)
        } catch is GuestRefusal {
            throw BlockTusError.invalidToken
        }
        return exchange.uploadToken
    }

    private func create(_ exchange: Exchange, _ guest: String?) async throws -> Response {
        guard let length = exchange.count("Upload-Length"), length > 0 else { throw BlockTusError.invalidLength }
        guard length <= maxSize else { throw BlockTusError.tooLong }
        let metadata = TusMetadata(exchange.header("Upload-Metadata") ?? "")
        let upload = try BlockUpload(guestToken: guest, length: length, metadata)
        try store.requirePlace(forGuest: guest)
        guard upload.fitsColumns else { throw BlockTusError.exception }
        let raceWindow = store.catalog.raceWindow
        if let raceWindow { try await Task.sleep(for: .seconds(raceWindow)) }
        try store.insert(upload, isCounted: raceWindow == nil)
        let location = "/files/" + upload.id
        return .blockTus(.created, [("Location", location), ("Upload-Offset", "0")])
    }

    private func head(_ id: String, _ exchange: Exchange) throws -> Response {
        let upload = try upload(id, exchange)
        return .blockTus(
            .ok,
            [
                ("Cache-Control", "no-store"), ("Upload-Offset", String(upload.claimedOffset)),
                ("Upload-Length", String(upload.length)),
            ]
        )
    }

    /// The upload of a request, after the faults that remove or age it.
    private func upload(_ id: String, _ exchange: Exchange) throws -> BlockUpload {
        if exchange.plan.has(.forget) { try store.forget(id) }
        if exchange.plan.has(.expire) { try store.age(id) }
        guard let upload = try store.find(id) else { throw BlockTusError.notFound }
        return upload
    }

    /// The response to other methods.
    private func refusal(of method: HTTPRequest.Method) -> Response {
        switch method {
        case .post:
            // The script sets no content type here.
            .blockTus(
                .badRequest,
                [Response.phpContentType],
                body: .json(["error": "POST must target /files/ not /files/{id}"])
            )
        case .get: .blockTus(.badRequest, body: .json(["error": "GET is not supported on the tus upload endpoint"]))
        case .patch, .head: .blockTus(.badRequest)
        default: .blockTus(.methodNotAllowed, [("Allow", "OPTIONS, POST, PATCH, HEAD")])
        }
    }

    private func patch(_ id: String, _ exchange: Exchange) async throws -> Response {
        let body = try IncomingFile(path: store.folder.newIncomingPath(), isHashed: false)
        do {
            try await exchange.receiveBody(body.append)
        } catch  where !(error is BodyTooLarge || error is SystemError) {
            if body.size > Self.firewallBuffer {
                // PHP treats the received bytes as a whole block, and continues without the client.
                _ = try await take(body, for: id, exchange)
            }
            throw error
        }
        try await exchange.bodyIsComplete()
        return try await take(body, for: id, exchange)
    }

    private func take(_ body: IncomingFile, for id: String, _ exchange: Exchange) async throws -> Response {
        _ = try guestToken(exchange)
        guard exchange.header("Content-Type")?.lowercased().contains(TusEndpoint.chunkType) ?? false else {
            throw BlockTusError.wrongContentType
        }
        guard let offset = exchange.count("Upload-Offset") else { throw BlockTusError.missingOffset }
        // One PATCH per upload at a time; the next one waits.
        while !busy.begin(id) { try await Task.sleep(for: .milliseconds(5)) }
        defer { busy.end(id) }
        let upload = try upload(id, exchange)
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
            // The script marks the upload as failed after any error.
            try store.fail(id)
            throw BlockTusError.exception
        }
    }

    private func append(_ body: IncomingFile, to upload: BlockUpload) async throws -> Response {
        let path = store.folder.uploadPath(upload.id)
        try await OpenFile(path, O_WRONLY | O_APPEND).append(fileAt: body.path)
        let newOffset = upload.claimedOffset + body.size
        guard newOffset >= upload.length else {
            try store.countBlock(ofSize: body.size, in: upload.id)
            return .blockTus(.noContent, [("Upload-Offset", String(newOffset))])
        }
        let file = try await IncomingFile(existing: path)
        // The length is wrong if blocks had different sizes.
        guard file.size == upload.length, let digest = file.finishDigest() else { throw BlockTusError.exception }
        let asset = try store.catalog.store(file, hexString(digest), upload)
        try store.complete(upload.id, asset: asset)
        return .blockTus(.noContent, [("Upload-Offset", String(upload.length)), ("X-Asset-Id", String(asset))])
    }
}
