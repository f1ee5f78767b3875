import Foundation
import HTTPTypes
import HummingbirdCore
import NIOCore

/// The program that serves `/files/`: tusd up to D3, PHP in D4.
protocol TusService: Sendable {
    func response(_ call: TusCall, to exchange: Exchange) async throws -> Response
    /// ID, length, and offset as HEAD reports it.
    func uploads() throws -> [JSONValue]
}

enum TusCall: Sendable {
    case options, create
    case head(id: String)
    case patch(id: String)
    case terminate(id: String)
    case other

    /// `path` is the part after `/files/`.
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
}

/// `/files/`: tus 1.0.0 as implemented by tusd behind the web firewall (gighive contract 4.1).
struct TusEndpoint: TusService {
    static let chunkType = "application/offset+octet-stream"

    let store: TusStore
    let settings: UploadArguments

    func uploads() throws -> [JSONValue] {
        try store.all().map { ["id": .string($0.id), "offset": JSONValue($0.offset), "length": JSONValue($0.length)] }
    }

    func response(_ call: TusCall, to exchange: Exchange) async throws -> Response {
        let body = try await body(call, of: exchange)
        if case .options = call { return optionsResponse }
        if case .head(let id) = call { return try head(id, exchange) }
        guard exchange.header("Tus-Resumable") == "1.0.0" else { throw TusError.unsupportedVersion }
        switch call {
        case .create: return try await create(exchange, body)
        case .patch(let id): return try await patch(id, exchange, body)
        case .terminate(let id): return try terminate(id, exchange)
        case .options, .head, .other: return .tus(.methodNotAllowed, body: .plainText("Method Not Allowed\n"))
        }
    }

    /// The web firewall buffers a chunk until it is complete (trap T14). Any other body is discarded.
    private func body(_ call: TusCall, of exchange: Exchange) async throws -> IncomingFile? {
        switch call {
        case .patch: break
        case .create where holdsChunk(exchange): break
        case .create, .options, .head, .terminate, .other:
            try await exchange.readBody()
            return nil
        }
        let body = try IncomingFile(path: store.folder.newIncomingPath(), isHashed: false)
        try await exchange.receiveBody(body.append)
        return body
    }

    /// The upload of a request, after the faults that remove it.
    private func upload(_ id: String, _ exchange: Exchange) throws -> TusUpload {
        if exchange.plan.has(.forget) { try store.forget(id) }
        if exchange.plan.has(.expire) { try store.expire(id) }
        return try store.upload(id)
    }

    private var optionsResponse: Response {
        var headers = [("Tus-Version", "1.0.0"), ("Tus-Extension", settings.extensions)]
        if let size = settings.tusMaxSize { headers.append(("Tus-Max-Size", String(size))) }
        return .tus(.ok, headers)
    }

    private func create(_ exchange: Exchange, _ body: IncomingFile?) async throws -> Response {
        var upload = try newUpload(exchange)
        if upload.isFinal {
            guard !holdsChunk(exchange) else { throw TusError.modifyFinal }
            upload.length = try upload.parts.reduce(0) { sum, part in
                let upload = try store.upload(part)
                guard upload.isComplete, let length = upload.length else { throw TusError.notFinished }
                return sum + length
            }
        }
        if upload.length ?? 0 > settings.tusMaxSize ?? Int.max { throw TusError.maxSizeExceeded }
        try store.insert(upload)
        var headers = [("Location", exchange.origin + "/files/" + upload.id)]
        if upload.isFinal {
            let bytes = try OpenFile(store.folder.uploadPath(upload.id), O_WRONLY | O_APPEND)
            for part in upload.parts { try await bytes.append(fileAt: store.folder.uploadPath(part)) }
            try store.finish(upload.id)
        } else if let body {
            guard store.busy.begin(upload.id) else { throw TusError.locked }
            defer { store.busy.end(upload.id) }
            upload.offset = 0
            headers.append(("Upload-Offset", String(try await write(body, to: upload))))
        } else if upload.length == 0 {
            try store.finish(upload.id)
        }
        return .tus(.created, headers)
    }

    private func newUpload(_ exchange: Exchange) throws(TusError) -> TusUpload {
        let concat = settings.offers("concatenation") ? exchange.header("Upload-Concat") ?? "" : ""
        let metadata = TusMetadata(exchange.header("Upload-Metadata") ?? "").header
        var upload = TusUpload(
            id: hexString(randomBytes(16)),
            metadata: metadata,
            isPartial: concat == "partial"
        )
        if concat.isEmpty || upload.isPartial {
            upload.length = exchange.count("Upload-Length")
            if let deferred = exchange.header("Upload-Defer-Length") {
                if deferred == "1", !settings.offers("creation-defer-length") { throw .notImplemented }
                if exchange.header("Upload-Length") != nil { throw .ambiguousLength }
                guard deferred == "1" else { throw .invalidDeferLength }
            } else if upload.length == nil {
                throw .invalidLength
            }
            return upload
        }
        guard concat.hasPrefix("final;") else { throw .invalidConcat }
        for url in concat.dropFirst("final;".count).split(separator: " ") {
            guard let path = url.range(of: "/files/") else { throw .notFound }
            upload.parts.append(String(url[path.upperBound...]))
        }
        guard upload.isFinal else { throw .invalidConcat }
        return upload
    }

    /// Bodies of other content types are ignored, since some clients always send a content type.
    private func holdsChunk(_ exchange: Exchange) -> Bool {
        settings.offers("creation-with-upload") && exchange.header("Content-Type") == Self.chunkType
    }

    private func patch(_ id: String, _ exchange: Exchange, _ body: IncomingFile?) async throws -> Response {
        guard exchange.header("Content-Type") == Self.chunkType else { throw TusError.invalidContentType }
        guard let offset = exchange.count("Upload-Offset") else { throw TusError.invalidOffset }
        guard store.busy.begin(id) else { throw TusError.locked }
        defer { store.busy.end(id) }
        try await exchange.bodyIsComplete()
        var upload = try upload(id, exchange)
        guard !upload.isFinal else { throw TusError.modifyFinal }
        guard upload.offset == offset else { throw TusError.mismatchedOffset }
        if exchange.header("Upload-Length") != nil, !upload.isComplete {
            guard upload.length == nil, let length = exchange.count("Upload-Length"), length >= offset else {
                throw TusError.invalidLength
            }
            try store.declareLength(length, of: id)
            upload.length = length
        }
        if let body, !upload.isComplete {
            return .tus(.noContent, [("Upload-Offset", String(try await write(body, to: upload)))])
        }
        return .tus(.noContent, [("Upload-Offset", String(offset))])
    }

    /// Returns the new offset. The caller holds the lock.
    private func write(_ body: IncomingFile, to upload: TusUpload) async throws -> Int {
        let offset = (upload.offset ?? 0) + body.size
        guard offset <= upload.length ?? settings.tusMaxSize ?? Int.max else { throw TusError.sizeExceeded }
        try await OpenFile(store.folder.uploadPath(upload.id), O_WRONLY | O_APPEND).append(fileAt: body.path)
        if offset == upload.length { try store.finish(upload.id) }
        return offset
    }

    private func head(_ id: String, _ exchange: Exchange) throws -> Response {
        guard store.busy.begin(id) else { throw TusError.locked }
        defer { store.busy.end(id) }
        let upload = try upload(id, exchange)
        var headers = [("Cache-Control", "no-store"), ("Upload-Offset", String(upload.offset ?? 0))]
        if upload.isPartial { headers.append(("Upload-Concat", "partial")) }
        if upload.isFinal {
            let parts = upload.parts.map { exchange.origin + "/files/" + $0 }
            headers.append(("Upload-Concat", "final;" + parts.joined(separator: " ")))
        }
        if !upload.metadata.isEmpty { headers.append(("Upload-Metadata", upload.metadata)) }
        guard let length = upload.length else { return .tus(.ok, headers + [("Upload-Defer-Length", "1")]) }
        // Newer releases of tusd send the length that GET would have.
        headers += [("Upload-Length", String(length)), ("Content-Length", String(length))]
        return .tus(.ok, headers)
    }

    private func terminate(_ id: String, _ exchange: Exchange) throws -> Response {
        guard settings.offers("termination") else { throw TusError.notImplemented }
        guard store.busy.begin(id) else { throw TusError.locked }
        defer { store.busy.end(id) }
        _ = try upload(id, exchange)
        try store.terminate(id)
        return .tus(.noContent)
    }
}
