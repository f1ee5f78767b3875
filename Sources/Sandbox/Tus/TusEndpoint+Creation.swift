import Foundation
import HTTPTypes
import HummingbirdCore
import NIOCore

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
