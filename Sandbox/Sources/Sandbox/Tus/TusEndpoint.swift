import Foundation
import HTTPTypes
import HummingbirdCore
import NIOCore

/// `/files/`: tus 1.0.0 as tusd answers it behind the web firewall (gighive contract 4.1).
struct TusEndpoint: TusService {
    let store: TusStore
    let settings: TusSettings

    func answer(_ call: TusCall, to exchange: Exchange) async throws -> Answer {
        do {
            let reply = try await reply(call, to: exchange)
            return Answer(reply: reply, isEarly: !exchange.isBodyRead)
        } catch let error as TusError {
            return Answer(reply: error.reply, isEarly: !exchange.isBodyRead)
        } catch let error as SystemError {
            return Answer(reply: TusError.system(error).reply, isEarly: !exchange.isBodyRead)
        }
    }

    func summaries() throws -> [TusSummary] {
        try store.all().map { upload in
            TusSummary(
                id: upload.id,
                offset: upload.offset,
                length: upload.length,
                isFinished: upload.finishedAt != nil
            )
        }
    }

    private func reply(_ call: TusCall, to exchange: Exchange) async throws -> Reply {
        let body = try await wholeBody(call, of: exchange)
        if case .options = call { return optionsReply }
        if case .head = call {} else { try checkVersion(exchange) }
        if let id = call.id { try strike(id, exchange.plan) }
        switch call {
        case .create: return try await create(exchange, body)
        case .patch(let id): return try await patch(id, exchange, body)
        case .head(let id): return try head(id, exchange)
        case .terminate(let id): return try terminate(id)
        case .options, .other: return .tus(.methodNotAllowed, body: .plainText("Method Not Allowed\n"))
        }
    }

    /// The body, if it is held back until it is complete: by the firewall, or tusd for the sake of a checksum.
    ///
    /// A body that is no chunk is read and dropped.
    private func wholeBody(_ call: TusCall, of exchange: Exchange) async throws -> IncomingFile? {
        let isChunk: Bool =
            switch call {
            case .patch: true
            case .create: holdsChunk(exchange)
            case .options, .head, .terminate, .other: false
            }
        guard isChunk else {
            try await exchange.readBody { _ in }
            return nil
        }
        let checksum = try? checksum(exchange)
        guard settings.buffersBodies || checksum != nil else { return nil }
        let body = try IncomingFile(path: store.folder.newIncomingPath(), hashedBy: checksum?.algorithm)
        try await exchange.receiveBody(body.append)
        return body
    }

    private func checkVersion(_ exchange: Exchange) throws(TusError) {
        guard exchange.header("Tus-Resumable") == "1.0.0" else { throw .unsupportedVersion }
    }

    /// Applies the faults that remove an upload, then removes expired uploads.
    private func strike(_ id: String, _ plan: FaultPlan) throws {
        if plan.has(.forget) { try store.forget(id) }
        if plan.has(.expire) { try store.expire(id) }
        guard let lifetime = settings.lifetime, let upload = try store.find(id), !upload.isComplete,
            let touched = store.lastTouched(id), touched + lifetime < Date().timeIntervalSince1970
        else { return }
        try store.expire(id)
    }

    // MARK: OPTIONS

    private var optionsReply: Reply {
        var headers = [("Tus-Version", "1.0.0"), ("Tus-Extension", settings.extensions)]
        if let size = settings.maxSize { headers.append(("Tus-Max-Size", String(size))) }
        if settings.offers(.checksum) {
            let names = Digest.Algorithm.allCases.map(\.rawValue)
            headers.append(("Tus-Checksum-Algorithm", names.joined(separator: ",")))
        }
        return .tus(.ok, headers)
    }

    func expiry(of id: String) -> [(name: String, value: String)] {
        guard let lifetime = settings.lifetime, let touched = store.lastTouched(id) else { return [] }
        return [("Upload-Expires", HTTPDate.text(time_t(touched + lifetime)))]
    }
}

/// POST (tus 1.0.0, Creation and Concatenation).
extension TusEndpoint {
    func create(_ exchange: Exchange, _ body: IncomingFile?) async throws -> Reply {
        var upload = try newUpload(exchange)
        if upload.isFinal {
            guard !holdsChunk(exchange) else { throw TusError.modifyFinal }
            upload.length = try upload.parts.reduce(0) { try $0 + completeLength(of: $1) }
        }
        if let limit = settings.maxSize, let length = upload.length, length > limit { throw TusError.maxSizeExceeded }
        try store.insert(upload)
        var headers = [("Location", location(of: upload.id, exchange))]
        if upload.isFinal {
            let bytes = try UploadBytes(appendingTo: store.folder.uploadPath(upload.id))
            for part in upload.parts { try await bytes.append(fileAt: store.folder.uploadPath(part)) }
            try store.finish(upload.id)
        } else if holdsChunk(exchange) {
            try store.lock(upload.id)
            defer { store.unlock(upload.id) }
            upload.offset = 0
            headers.append(("Upload-Offset", String(try await write(exchange, body, to: upload))))
        } else if upload.length == 0 {
            try store.finish(upload.id)
        }
        return .tus(.created, headers + expiry(of: upload.id))
    }

    private func newUpload(_ exchange: Exchange) throws(TusError) -> TusUpload {
        let concat = settings.offers(.concatenation) ? exchange.header("Upload-Concat") ?? "" : ""
        var upload = TusUpload(
            id: hexString(randomBytes(16)),
            length: nil,
            metadata: TusMetadata(exchange.header("Upload-Metadata") ?? "")
        )
        switch concat {
        case "": break
        case "partial": upload.isPartial = true
        default:
            guard concat.hasPrefix("final;") else { throw .invalidConcat }
            for url in concat.dropFirst("final;".count).split(separator: " ") {
                guard let id = url.range(of: "/files/").map({ url[$0.upperBound...] }) else { throw .notFound }
                upload.parts.append(String(id))
            }
            guard upload.isFinal else { throw .invalidConcat }
            return upload
        }
        upload.length = try announcedLength(exchange)
        return upload
    }

    /// Nil when the client will tell later.
    private func announcedLength(_ exchange: Exchange) throws(TusError) -> Int? {
        let length = exchange.header("Upload-Length") ?? ""
        let deferred = exchange.header("Upload-Defer-Length") ?? ""
        if deferred == "1", !settings.offers(.creationDeferLength) { throw .notImplemented }
        if !length.isEmpty, !deferred.isEmpty { throw .ambiguousLength }
        if !deferred.isEmpty {
            guard deferred == "1" else { throw .invalidDeferLength }
            return nil
        }
        guard let number = Int(length), number >= 0 else { throw .invalidLength }
        return number
    }

    private func completeLength(of part: String) throws -> Int {
        let upload = try store.upload(part)
        guard upload.isComplete, let length = upload.length else { throw TusError.notFinished }
        return length
    }

    func location(of id: String, _ exchange: Exchange) -> String {
        settings.location.url(ofUpload: id, exchange)
    }

    /// Other content types are taken for none, as some clients always send one.
    func holdsChunk(_ exchange: Exchange) -> Bool {
        settings.offers(.creationWithUpload) && exchange.header("Content-Type") == Self.chunkType
    }
}

/// PATCH, and chunks that come with POST.
extension TusEndpoint {
    static let chunkType = "application/offset+octet-stream"

    func patch(_ id: String, _ exchange: Exchange, _ body: IncomingFile?) async throws -> Reply {
        guard exchange.header("Content-Type") == Self.chunkType else { throw TusError.invalidContentType }
        guard let offset = Int(exchange.header("Upload-Offset") ?? ""), offset >= 0 else {
            throw TusError.invalidOffset
        }
        try store.lock(id)
        defer { store.unlock(id) }
        if body != nil { try await exchange.bodyIsComplete() }
        var upload = try store.upload(id)
        guard !upload.isFinal else { throw TusError.modifyFinal }
        guard upload.offset == offset else { throw TusError.mismatchedOffset }
        if upload.isComplete { return .tus(.noContent, [("Upload-Offset", String(offset))]) }
        try declareLength(&upload, exchange)
        let newOffset = try await write(exchange, body, to: upload)
        return .tus(.noContent, [("Upload-Offset", String(newOffset))] + expiry(of: id))
    }

    private func declareLength(_ upload: inout TusUpload, _ exchange: Exchange) throws {
        guard let header = exchange.header("Upload-Length") else { return }
        guard settings.offers(.creationDeferLength) else { throw TusError.notImplemented }
        guard upload.length == nil, let length = Int(header), length >= upload.offset ?? 0,
            length <= settings.maxSize ?? Int.max
        else { throw TusError.invalidLength }
        try store.declareLength(length, of: upload.id)
        upload.length = length
    }

    /// Appends the body; the lock is held by the caller.
    /// - Returns: The new offset.
    func write(_ exchange: Exchange, _ body: IncomingFile?, to upload: TusUpload) async throws -> Int {
        let offset = upload.offset ?? 0
        let room = (upload.length ?? settings.maxSize ?? Int.max) - offset
        guard body?.size ?? exchange.contentLength ?? 0 <= room else { throw TusError.sizeExceeded }
        let bytes = try UploadBytes(appendingTo: store.folder.uploadPath(upload.id))
        var written = 0
        if let body {
            if let checksum = try checksum(exchange), body.finishDigest() != checksum.digest {
                throw TusError.checksumMismatch
            }
            try await bytes.append(fileAt: body.path)
            written = body.size
        } else {
            _ = try checksum(exchange)
            var isTooMuch = false
            try await exchange.readBody { piece in
                var piece = piece
                isTooMuch = isTooMuch || piece.readableBytes > room - written
                guard let fitting = piece.readSlice(length: min(piece.readableBytes, room - written)) else { return }
                try bytes.append(fitting)
                written += fitting.readableBytes
            }
            if isTooMuch { throw TusError.sizeExceeded }
        }
        if offset + written == upload.length { try store.finish(upload.id) }
        return offset + written
    }

    func checksum(_ exchange: Exchange) throws(TusError) -> TusChecksum? {
        guard settings.offers(.checksum), let header = exchange.header("Upload-Checksum") else { return nil }
        return try TusChecksum(header)
    }
}

/// HEAD and DELETE.
extension TusEndpoint {
    func head(_ id: String, _ exchange: Exchange) throws -> Reply {
        try store.lock(id)
        defer { store.unlock(id) }
        let upload = try store.upload(id)
        var headers = [("Cache-Control", "no-store"), ("Upload-Offset", String(upload.offset ?? 0))]
        if upload.isPartial { headers.append(("Upload-Concat", "partial")) }
        if upload.isFinal {
            let parts = upload.parts.map { location(of: $0, exchange) }
            headers.append(("Upload-Concat", "final;" + parts.joined(separator: " ")))
        }
        let metadata = upload.metadata.header
        if !metadata.isEmpty { headers.append(("Upload-Metadata", metadata)) }
        if let length = upload.length {
            // The length of what GET would send: newer releases of tusd say it, though no byte follows.
            headers += [("Upload-Length", String(length)), ("Content-Length", String(length))]
        } else {
            headers.append(("Upload-Defer-Length", "1"))
        }
        return .tus(.ok, headers + (upload.isComplete ? [] : expiry(of: id)))
    }

    func terminate(_ id: String) throws -> Reply {
        guard settings.offers(.termination) else { throw TusError.notImplemented }
        try store.lock(id)
        defer { store.unlock(id) }
        _ = try store.upload(id)
        try store.terminate(id)
        return .tus(.noContent)
    }
}

/// What a request below `/files/` asks for.
enum TusCall: Sendable {
    case options
    case create
    case head(id: String)
    case patch(id: String)
    case terminate(id: String)
    /// tusd has no such method.
    case other

    /// The path is what follows `/files/`.
    init(method: HTTPRequest.Method, path: String) {
        switch (method, path.isEmpty) {
        case (.options, _): self = .options
        case (.post, true): self = .create
        case (.head, false): self = .head(id: path)
        case (.patch, false): self = .patch(id: path)
        case (.delete, false): self = .terminate(id: path)
        default: self = .other
        }
    }

    var place: Fault.Place? {
        switch self {
        case .options: .tusOptions
        case .create: .tusCreate
        case .head: .tusHead
        case .patch: .tusPatch
        case .terminate: .tusDelete
        case .other: nil
        }
    }

    var id: String? {
        switch self {
        case .head(let id), .patch(let id), .terminate(let id): id
        case .options, .create, .other: nil
        }
    }
}

extension TusSettings.Location {
    /// The value of `Location` for an upload.
    func url(ofUpload id: String, _ exchange: Exchange) -> String {
        switch self {
        case .relative: "/files/\(id)"
        case .foreign(let origin): "\(origin)/files/\(id)"
        case .absolute: "\(exchange.forwardedOrigin)/files/\(id)"
        }
    }
}

extension Exchange {
    /// Scheme and host as the client knows them, told by the proxies in front (as tusd asks them).
    fileprivate var forwardedOrigin: String {
        let forwarded = header("Forwarded") ?? ""
        let knownScheme: String = ["http", "https"].first { $0 == header("X-Forwarded-Proto") } ?? "http"
        let knownHost: String = header("X-Forwarded-Host") ?? request.head.authority ?? "localhost"
        let scheme: String = forwarded.firstMatch(of: /proto=(https?)/).map { String($0.1) } ?? knownScheme
        let host: String = forwarded.firstMatch(of: /host="?([^;",]+)/).map { String($0.1) } ?? knownHost
        return "\(scheme)://\(host)"
    }
}
