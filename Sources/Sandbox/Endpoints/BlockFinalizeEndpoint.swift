import GRDB
import HTTPTypes

/// Finalize of D4: a query, because the last PATCH stored everything (gighive-d4 contract 5, for guests 8).
struct BlockFinalizeEndpoint: FinalizeService {
    private static let bodyLimit = 1 << 20

    let store: BlockStore
    let guests: GuestBook

    func reply(to exchange: Exchange) async throws -> Reply {
        let body = try await exchange.collectBody(upTo: Self.bodyLimit)
        let request = FinalizeRequest(body, contentType: exchange.header("Content-Type") ?? "")
        return try reply(to: request, exchange).asPage(when: exchange.wantsHTML)
    }

    private func reply(to request: FinalizeRequest, _ exchange: Exchange) throws -> Reply {
        let link: EventLink?
        switch try guests.admission(exchange.uploadToken) {
        case .refused(let reply): return reply
        case .user: link = nil
        case .guest(let found): link = found
        }
        guard let id = request.blockUploadID else { return .badRequest("Missing or invalid upload_id") }
        if link != nil, request.guestLabel == nil { return .badRequest(.string(FinalizeRequest.invalidGuestFields)) }
        if exchange.plan.has(.forget) { try store.forget(id) }
        guard let upload = try store.find(id) else { return .serverError("Upload not found: upload_id=\(id)") }
        switch upload.state {
        case .failed: return .serverError("Upload failed: upload_id=\(id)")
        case .pending: return .json(.created, ["status": "pending", "upload_id": .string(id)])
        case .complete: return try reply(to: request, about: upload, link)
        }
    }

    private func reply(to request: FinalizeRequest, about upload: BlockUpload, _ link: EventLink?) throws -> Reply {
        let id = upload.assetID ?? 0
        // Nil when the asset was deleted since: the response is the same, with empty fields.
        let asset = try store.catalog.asset(id)?.asset
        var answer: JSONObject = [
            "id": .int(id),
            "asset_id": .int(id),
            "file_name": .string(asset?.fileName ?? ""),
            "file_type": .string(upload.metadata.kind.rawValue),
            "size_bytes": .int(asset?.size ?? 0),
            "mime_type": .string(upload.metadata.mimeType),
            "checksum_sha256": .string(asset?.checksum ?? ""),
            "duration_seconds": nil,
            "thumbnail_done": false,
            "db_done": true,
        ]
        guard let link, let label = request.guestLabel else { return .json(.created, .object(answer)) }
        do {
            let job = try guests.addJob(
                for: link,
                asset: id,
                label: label,
                displayName: request.text("display_name"),
                upload: upload.id
            )
            answer["status_nonce"] = .string(job.nonce)
            answer["upload_job_id"] = .int(job.id)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
            let entry = DuplicateEntry(value: upload.id, key: "uq_upload_jobs_job_id")
            return .serverError(.string("Failed to record guest upload attribution: \(entry.message)"))
        }
        return .json(.created, .object(answer))
    }
}
