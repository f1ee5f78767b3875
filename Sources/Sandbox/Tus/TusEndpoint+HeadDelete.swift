import Foundation
import HTTPTypes
import HummingbirdCore
import NIOCore

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
