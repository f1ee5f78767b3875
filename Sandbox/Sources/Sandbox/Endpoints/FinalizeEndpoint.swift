import Foundation
import GRDB
import HTTPTypes
import HummingbirdCore
import NIOCore
import Synchronization

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
        // Another request may have finished it while this request waited.
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

    /// Nil if it is not media.
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

/// The body of a finalize: JSON, or a form if that is the content type (gighive contract 4.2).
struct FinalizeRequest {
    private let values: [String: Any]
    /// Whether `tos_accepted` is JSON's `true`, and nothing that resembles it (gighive contract 6).
    let acceptsTerms: Bool

    init(_ body: ByteBuffer, contentType: String) {
        let data = Data(body.readableBytesView)
        acceptsTerms = (try? JSONDecoder().decode(Terms.self, from: data))?.isAccepted ?? false
        if contentType.lowercased().hasPrefix("application/x-www-form-urlencoded") {
            values = QueryParameters(String(buffer: body)).all
        } else if contentType.lowercased().hasPrefix("multipart/form-data") {
            values = Self.formFields(body, boundary: HeaderParameters(contentType)["boundary"] ?? "")
        } else {
            values = (try? JSONSerialization.jsonObject(with: data)) as? [String: Any] ?? [:]
        }
    }

    private struct Terms: Decodable {
        var isAccepted: Bool

        enum CodingKeys: String, CodingKey {
            case isAccepted = "tos_accepted"
        }
    }

    private static func formFields(_ body: ByteBuffer, boundary: String) -> [String: String] {
        var fields: [String: String] = [:]
        var name = ""
        var parser = MultipartParser(boundary: boundary)
        try? parser.consume(body) { event in
            switch event {
            case .partBegan(let header): name = header.name
            case .data(let buffer): fields[name, default: ""] += String(buffer: buffer)
            case .partEnded: break
            }
        }
        return fields
    }

    static let invalidGuestFields = "Missing or invalid token-mode fields (label, tos_accepted)"

    /// The label of a guest's upload; nil when a field that guests must send is missing or invalid.
    var guestLabel: String? {
        guard let label = text("label"), label.utf8.count <= 255, acceptsTerms,
            (text("display_name") ?? "").unicodeScalars.count <= 100
        else { return nil }
        return label
    }

    /// Nil unless it consists of what the server allows in an id.
    var uploadID: String? {
        guard let id = text("upload_id"), id.wholeMatch(of: /[A-Za-z0-9_\-]+/) != nil else { return nil }
        return id
    }

    /// The id as D4 takes it: only hex digits and dashes.
    var blockUploadID: String? {
        uploadID.flatMap { $0.wholeMatch(of: /[A-Fa-f0-9\-]+/) == nil ? nil : $0 }
    }

    /// The trimmed text of a field; nil when it is missing or blank.
    func text(_ name: String) -> String? {
        let text: String? =
            switch values[name] {
            case let text as String: text
            case let number as NSNumber: number.stringValue
            default: nil
            }
        let trimmed = text?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
        return trimmed.isEmpty ? nil : trimmed
    }

    static let fieldNames = [
        "event_date", "org_name", "event_type", "label", "participants", "keywords", "location", "rating", "notes",
    ]

    /// The fields of the upload: from the body, else from the metadata, else absent.
    func fields(orFrom metadata: TusMetadata) -> [String: String] {
        var fields: [String: String] = [:]
        for name in Self.fieldNames {
            let fallback = metadata[name]?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
            fields[name] = text(name) ?? (fallback.isEmpty ? nil : fallback)
        }
        return fields
    }
}

/// Which uploads are being finalized right now.
final class FinalizeDesk: Sendable {
    private let running = Mutex<Set<String>>([])

    /// False if another request is finalizing it.
    func begin(_ id: String) -> Bool { running.withLock { $0.insert(id).inserted } }

    func end(_ id: String) { running.withLock { _ = $0.remove(id) } }
}

/// How long the steps between the last PATCH and the answer of finalize take.
struct FinalizeSettings: Sendable {
    /// Seconds between the last byte and the record that finalize needs.
    var hookDelay = 0.0
    /// Seconds for which finalize waits for that record; 0 as servers before 2026-04-21 (gighive contract 4.4).
    var hookWait: Double
    /// Seconds that storing takes.
    var ingestDelay = 0.0
}

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
