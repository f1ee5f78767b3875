import Foundation
import GRDB
import HTTPTypes
import HummingbirdCore
import NIOCore

/// The script behind `POST /api/uploads/finalize` and `/api/uploads.php/finalize`.
protocol FinalizeService: Sendable {
    var guests: GuestBook { get }

    /// `link` is nil for a user with a password.
    func response(to request: FinalizeRequest, _ link: EventLink?, _ plan: FaultPlan) async throws -> Response
}

extension FinalizeService {
    func response(to exchange: Exchange) async throws -> Response {
        let body = try await exchange.collectBody()
        let request = FinalizeRequest(body, exchange)
        let link = guests.catalog.dialect >= .d3 ? try guests.link(of: exchange) : nil
        let response = try await self.response(to: request, link, exchange.plan)
        return response.asPage(when: exchange.wantsHTML)
    }
}

/// Finalize up to D3 (gighive contract 4.2–4.4, 6).
struct FinalizeEndpoint: FinalizeService {
    let catalog: Catalog
    let store: TusStore
    let guests: GuestBook
    /// Seconds between the last byte and the record that a finalize request needs.
    let hookDelay: Double
    /// Seconds to wait for that record; 0 as on servers before 2026-04-21 (gighive contract 4.4).
    let hookWait: Double
    private let running = BusyUploads()

    func response(to request: FinalizeRequest, _ link: EventLink?, _ plan: FaultPlan) async throws -> Response {
        guard let id = request.uploadID else { return .badRequest("Missing or invalid upload_id") }
        if plan.has(.forget) { try store.forget(id) }
        if let response = try store.response(id) { return .json(.created, response) }
        if let message = try await missingHook(id) { return .serverError(message) }
        guard !plan.has(.unwritable), running.begin(id) else { return .serverError("Failed to move file (rename)") }
        defer { running.end(id) }
        // Another request may have finished the upload in the meantime.
        if let response = try store.response(id) { return .json(.created, response) }
        return try await finalize(id, request, link)
    }

    /// The error for an upload whose hook has not run yet; otherwise nil.
    private func missingHook(_ id: String) async throws -> String? {
        let deadline = ContinuousClock.now + .seconds(hookWait)
        while true {
            let upload = try store.find(id)
            if let finished = upload?.finishedAt, finished + hookDelay <= Date().timeIntervalSince1970 { return nil }
            guard hookWait > 0 else { return "Upload not found or not finished yet" }
            guard upload?.offset != nil else { return "Upload not found: no data or hook record for upload_id=\(id)" }
            guard ContinuousClock.now < deadline else {
                return "Upload data exists on disk but post-finish hook output has not been written yet "
                    + "(upload_id=\(id)). The server may still be processing; retry in a moment."
            }
            try await Task.sleep(for: .seconds(min(0.2, hookWait)))
        }
    }

    private func finalize(_ id: String, _ request: FinalizeRequest, _ link: EventLink?) async throws -> Response {
        guard let upload = try store.find(id), let size = upload.offset else {
            return .serverError("Upload data missing on disk")
        }
        guard size > 0 else { return .serverError("Uploaded file is empty") }
        guard size <= UploadEndpoint.applicationLimit else {
            return .badRequest("File too large (exceeds application limit)")
        }
        let metadata = TusMetadata(upload.metadata)
        var form = request.fields(orFrom: metadata)
        if let link {
            // Other event fields from a guest are ignored.
            guard let label = request.guestLabel else {
                throw UploadFields.Refusal.badRequest(FinalizeRequest.invalidGuestFields)
            }
            form = link.fields
            form["label"] = label
        }
        let fields = try UploadFields(form, dialect: catalog.dialect)
        let file = try await IncomingFile(existing: store.folder.uploadPath(id))
        let name = (metadata["filename"] ?? "").split(separator: "/").last ?? "upload.bin"
        let safeName = String(name.replacing(/[^A-Za-z0-9._\-]/, with: "-"))
        let type = MediaKind.sniffedType(file.prefix)
        let kind = MediaKind.judged(declaredType: type, fileExtension: fileExtension(safeName), prefix: file.prefix)
        guard let kind, let digest = file.finishDigest() else { return .badRequest("Unsupported media type") }
        let submission = Submission(
            fields: fields,
            file: file,
            checksum: hexString(digest),
            kind: kind,
            fileExtension: fileExtension(safeName),
            mimeType: type,
            sourceName: safeName
        )
        let outcome = try await catalog.ingest(submission)
        if outcome.usesUpBytes { unlink(store.folder.uploadPath(id)) }
        return try remembered(outcome, id, link)
    }

    /// Stores the response without its token, for repeated requests.
    private func remembered(_ outcome: IngestOutcome, _ id: String, _ link: EventLink?) throws -> Response {
        let response = outcome.response(in: catalog.dialect)
        guard case .stored(let record) = outcome, case .json(var json) = response.body else { return response }
        if let link { try guests.addJob(for: link, asset: record.asset.id, upload: id, to: &json) }
        var repetition = json
        repetition["delete_token"] = nil
        try store.remember(repetition, of: id)
        return response.with { $0.body = .json(json) }
    }
}

/// The body of a finalize request: JSON, or a form if that is the content type (gighive contract 4.2).
struct FinalizeRequest {
    private var values: [String: String] = [:]
    /// Whether `tos_accepted` is `true` in JSON, not merely a similar value (gighive contract 6).
    private(set) var acceptsTerms = false

    init(_ body: ByteBuffer, _ exchange: Exchange) {
        switch exchange.contentType.value.lowercased() {
        case "application/x-www-form-urlencoded": values = QueryParameters(String(buffer: body)).all
        case "multipart/form-data":
            let form = FormReader(exchange.contentType)
            form.consume(body)
            values = Dictionary(form.parts.map { ($0.name, $0.text) }) { $1 }
        default:
            guard let json = try? JSONValue(Array(body.readableBytesView)) else { return }
            acceptsTerms = json["tos_accepted"] == true
            for member in json.members ?? [] {
                switch member.value {
                case .string(let text), .number(let text): values[member.key] = text
                default: values[member.key] = nil
                }
            }
        }
    }

    static let invalidGuestFields = "Missing or invalid token-mode fields (label, tos_accepted)"

    /// Nil if a field required from guests is missing or invalid.
    var guestLabel: String? {
        guard let label = text("label"), label.utf8.count <= 255, acceptsTerms,
            (text("display_name") ?? "").unicodeScalars.count <= 100
        else { return nil }
        return label
    }

    var uploadID: String? { text("upload_id").flatMap { $0.wholeMatch(of: /[A-Za-z0-9_\-]+/) == nil ? nil : $0 } }

    /// The value of a field, trimmed; nil if missing or blank.
    func text(_ name: String) -> String? { values[name]?.nonBlank }

    /// The fields of the body, or else of the metadata.
    func fields(orFrom metadata: TusMetadata) -> [String: String] {
        var fields: [String: String] = [:]
        for name in [
            "event_date", "org_name", "event_type", "label", "participants", "keywords", "location", "rating", "notes",
        ] {
            fields[name] = text(name) ?? metadata[name]?.nonBlank
        }
        return fields
    }
}

/// Finalize of D4: a query, because the last PATCH has stored the file (gighive-d4 contract 5, 8).
struct BlockFinalizeEndpoint: FinalizeService {
    let store: BlockStore
    let guests: GuestBook

    func response(to request: FinalizeRequest, _ link: EventLink?, _ plan: FaultPlan) throws -> Response {
        // Only hexadecimal digits and hyphens.
        guard let id = request.uploadID, id.wholeMatch(of: /[A-Fa-f0-9\-]+/) != nil else {
            return .badRequest("Missing or invalid upload_id")
        }
        if link != nil, request.guestLabel == nil { return .badRequest(FinalizeRequest.invalidGuestFields) }
        if plan.has(.forget) { try store.forget(id) }
        guard let upload = try store.find(id) else { return .serverError("Upload not found: upload_id=\(id)") }
        switch upload.state {
        case .failed: return .serverError("Upload failed: upload_id=\(id)")
        case .pending: return .json(.created, ["status": "pending", "upload_id": .string(id)])
        case .complete: break
        }
        // Empty fields if the asset was deleted.
        let asset = try store.catalog.asset(upload.assetId ?? 0)?.asset
        var response: JSONValue = [
            "id": .int(upload.assetId ?? 0), "asset_id": .int(upload.assetId ?? 0),
            "file_name": .string(asset?.fileName ?? ""), "file_type": .string(upload.kind.rawValue),
            "size_bytes": .int(asset?.size ?? 0), "mime_type": .string(upload.mimeType),
            "checksum_sha256": .string(asset?.checksum ?? ""), "duration_seconds": nil, "thumbnail_done": false,
            "db_done": true,
        ]
        if let link {
            do {
                try guests.addJob(for: link, asset: upload.assetId ?? 0, upload: id, to: &response)
            } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
                let entry = DuplicateEntry(value: id, key: "uq_upload_jobs_job_id")
                return .serverError("Failed to record guest upload attribution: \(entry.message)")
            }
        }
        return .json(.created, response)
    }
}
