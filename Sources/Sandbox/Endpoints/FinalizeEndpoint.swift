import Foundation
import HTTPTypes
import HummingbirdCore
import NIOCore

/// `POST /api/uploads/finalize` and `/api/uploads.php/finalize` (gighive contract 4.2–4.4, for guests 6).
struct FinalizeEndpoint: FinalizeService {
    private static let bodyLimit = 1 << 20

    let catalog: Catalog
    let store: TusStore
    let desk: FinalizeDesk
    let guests: GuestBook
    let settings: FinalizeSettings

    func reply(to exchange: Exchange) async throws -> Reply {
        let body = try await exchange.collectBody(upTo: Self.bodyLimit)
        let request = FinalizeRequest(body, contentType: exchange.header("Content-Type") ?? "")
        return try await reply(to: request, exchange).asPage(when: exchange.wantsHTML)
    }

    private func reply(to request: FinalizeRequest, _ exchange: Exchange) async throws -> Reply {
        let link: EventLink?
        switch try guests.admission(catalog.dialect >= .d3 ? exchange.uploadToken : nil) {
        case .refused(let reply): return reply
        case .user: link = nil
        case .guest(let found): link = found
        }
        guard let id = request.uploadID else { return .badRequest("Missing or invalid upload_id") }
        if exchange.plan.has(.forget) { try store.forget(id) }
        if let answer = try store.answer(id) { return .json(.created, .object(answer)) }
        if let message = try await missingHook(id) { return .serverError(.string(message)) }
        guard desk.begin(id) else { return .serverError("Failed to move file (rename)") }
        defer { desk.end(id) }
        // Somebody may have finished while this request waited.
        if let answer = try store.answer(id) { return .json(.created, .object(answer)) }
        return try await finalize(id, request, link, exchange.plan.collision)
    }

    /// Why the upload cannot be finalized yet, or at all; nil once its hook has run.
    private func missingHook(_ id: String) async throws -> String? {
        let deadline = ContinuousClock.now + .seconds(settings.hookWait)
        while true {
            let upload = try store.find(id)
            if let finished = upload?.finishedAt, finished + settings.hookDelay <= Date().timeIntervalSince1970 {
                return nil
            }
            guard settings.hookWait > 0 else { return "Upload not found or not finished yet" }
            guard upload?.offset != nil else {
                return "Upload not found: no data or hook record for upload_id=\(id)"
            }
            guard ContinuousClock.now < deadline else {
                return "Upload data exists on disk but post-finish hook output has not been written yet "
                    + "(upload_id=\(id)). The server may still be processing; retry in a moment."
            }
            try await Task.sleep(for: .seconds(min(0.2, settings.hookWait)))
        }
    }

    private func finalize(
        _ id: String,
        _ request: FinalizeRequest,
        _ link: EventLink?,
        _ forced: CollidingKey?
    ) async throws -> Reply {
        guard let upload = try store.find(id), let size = upload.offset else {
            return .serverError("Upload data missing on disk")
        }
        guard size > 0 else { return .serverError("Uploaded file is empty") }
        guard size <= UploadEndpoint.applicationLimit else {
            return .badRequest("File too large (exceeds application limit)")
        }
        let fields: UploadFields
        do {
            fields = try self.fields(request, upload, link)
        } catch .badRequest(let message) {
            return .badRequest(.string(message))
        } catch .database(let message) {
            return .serverError(.string(message))
        }
        let file = try await FinishedUpload(path: store.folder.uploadPath(id))
        guard let submission = submission(file, upload, fields) else { return .badRequest("Unsupported media type") }
        if settings.ingestDelay > 0 { try await Task.sleep(for: .seconds(settings.ingestDelay)) }
        let outcome = try await catalog.ingest(submission, collidingOn: forced)
        // Moved away when the bytes were new, else no longer wanted.
        if outcome.usesUpBytes { unlink(file.path) }
        return try remembered(outcome, id, request, link)
    }

    /// The answer, remembered for repetitions without its token when the upload was stored.
    private func remembered(
        _ outcome: IngestOutcome,
        _ id: String,
        _ request: FinalizeRequest,
        _ link: EventLink?
    ) throws -> Reply {
        var reply = outcome.reply(in: catalog.dialect)
        guard case .stored(let record) = outcome, case .json(.object(var answer)) = reply.body else { return reply }
        if let link {
            let job = try guests.addJob(
                for: link,
                asset: record.asset.id,
                label: record.fields.label,
                displayName: request.text("display_name"),
                upload: id
            )
            answer["status_nonce"] = .string(job.nonce)
            answer["upload_job_id"] = .int(job.id)
            reply.body = .json(.object(answer))
        }
        answer["delete_token"] = nil
        try store.remember(answer, of: id)
        return reply
    }

    private func fields(
        _ request: FinalizeRequest,
        _ upload: TusUpload,
        _ link: EventLink?
    ) throws(UploadFields.Refusal) -> UploadFields {
        var form = request.fields(orFrom: upload.metadata)
        if let link {
            // Whatever else a guest says about the event is ignored.
            guard let label = request.guestLabel else { throw .badRequest(FinalizeRequest.invalidGuestFields) }
            form = link.fields
            form["label"] = label
        }
        return try UploadFields(form, dialect: catalog.dialect, today: UploadFields.today())
    }

    /// Nil for what is no media.
    private func submission(_ file: FinishedUpload, _ upload: TusUpload, _ fields: UploadFields) -> Submission? {
        let name = Self.safeName(upload.metadata["filename"] ?? "")
        let dot = name.lastIndex(of: ".")
        let fileExtension = dot.map { name[name.index(after: $0)...].lowercased() } ?? ""
        let type = MediaKind.sniffedType(file.prefix)
        let kind = MediaKind.judged(declaredType: type, fileExtension: fileExtension, prefix: file.prefix)
        return kind.map { kind in
            Submission(
                fields: fields,
                file: file,
                checksum: file.checksum,
                kind: kind,
                fileExtension: fileExtension,
                mimeType: type,
                sourceName: name
            )
        }
    }

    private static func safeName(_ name: String) -> String {
        let last = name.split(separator: "/").last.map(String.init) ?? "upload.bin"
        return last.replacing(/[^A-Za-z0-9._\-]/, with: "-")
    }
}
