import Foundation
import HTTPTypes
import HummingbirdCore
import NIOCore

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
