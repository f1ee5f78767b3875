import Foundation
import HTTPTypes
import HummingbirdCore
import NIOCore

/// `POST /api/uploads.php`, `/api/uploads` and `/api/media-files` (gighive contract 2).
struct UploadEndpoint {
    /// The application's own limit: 6 GiB (gighive contract 2.6).
    static let applicationLimit = 6_442_450_944

    let catalog: Catalog
    let maxBody: Int

    func reply(to exchange: Exchange) async throws -> Reply {
        try await jsonReply(to: exchange).asPage(when: exchange.wantsHTML)
    }

    private func jsonReply(to exchange: Exchange) async throws -> Reply {
        let contentType = HeaderParameters(exchange.request.headers[.contentType] ?? "")
        guard contentType.value.lowercased() == "multipart/form-data" else {
            try await exchange.readBody { _ in }
            return replyToOtherContent(exchange)
        }
        let form = UploadFormReader(boundary: contentType["boundary"] ?? "", folder: catalog.folder)
        var bodySize = 0
        try await exchange.readBody { piece in
            bodySize += piece.readableBytes
            // Everything is judged only after the whole body; an endless one is swallowed but not kept.
            if bodySize <= maxBody { form.consume(piece) }
        }
        if bodySize > maxBody { return .webServerError(.requestEntityTooLarge) }
        if let limit = exchange.plan.postLimit, bodySize > limit { return Self.tooLarge }
        // The web firewall sits before `/api/uploads.php` and `/api/media-files` only.
        if exchange.path != "/api/uploads", form.hasExecutableFieldName { return .webServerError(.badRequest) }
        return try await judge(form, exchange.plan)
    }

    private func replyToOtherContent(_ exchange: Exchange) -> Reply {
        guard exchange.hasBody else { return .badRequest("Missing file field") }
        guard exchange.path == "/api/uploads" else { return .webServerError(.unsupportedMediaType) }
        return Self.tooLarge
    }

    /// What PHP's silence about a missing file becomes, whatever the reason (trap T4).
    private static let tooLarge = Reply.json(
        .requestEntityTooLarge,
        [
            "error": "Payload Too Large",
            "message":
                "Upload exceeded server limits (post_max_size / upload_max_filesize or web server request size).",
        ]
    )

    private func judge(_ form: UploadFormReader, _ plan: FaultPlan) async throws -> Reply {
        guard !form.hasSeveralFiles else { return .badRequest("Multiple files not supported yet") }
        guard form.upload != nil || form.uploadErrorCode == 7 else { return Self.tooLarge }
        if let code = form.uploadErrorCode { return .serverError("Upload failed with code \(code)") }
        guard let upload = form.upload else { return Self.tooLarge }
        if let limit = plan.fileLimit, upload.file.size > limit { return .serverError("Upload failed with code 1") }
        let fields: UploadFields
        do {
            fields = try UploadFields(form.fields, dialect: catalog.dialect, today: UploadFields.today())
        } catch .badRequest(let message) {
            return .badRequest(.string(message))
        } catch .database(let message) {
            return try checkFile(upload) ?? .serverError(.string(message))
        }
        if let refusal = try checkFile(upload) { return refusal }
        guard let submission = submission(upload, fields) else { return .badRequest("Unsupported media type") }
        return try await catalog.ingest(submission, collidingOn: plan.collision).reply(in: catalog.dialect)
    }

    private func checkFile(_ upload: UploadFormReader.Upload) throws -> Reply? {
        if upload.file.size == 0 { return .badRequest("Empty upload") }
        if upload.file.size > Self.applicationLimit {
            return .badRequest("File too large (exceeds application limit)")
        }
        return upload.kind == nil ? .badRequest("Unsupported media type") : nil
    }

    private func submission(_ upload: UploadFormReader.Upload, _ fields: UploadFields) -> Submission? {
        guard let kind = upload.kind, let digest = upload.file.finishDigest() else { return nil }
        return Submission(
            fields: fields,
            file: upload.file,
            checksum: hexString(digest),
            kind: kind,
            fileExtension: upload.fileExtension,
            mimeType: upload.header.contentType,
            sourceName: upload.header.fileName ?? ""
        )
    }
}
