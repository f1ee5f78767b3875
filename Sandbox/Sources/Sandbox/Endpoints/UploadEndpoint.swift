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

/// The JSON of a 201, key by key (gighive contract 2.2).
struct UploadAnswer {
    let record: IngestRecord

    init(_ record: IngestRecord) {
        self.record = record
    }

    func json(_ dialect: Dialect) -> JSONObject {
        var object = dialect >= .d3 ? assetAnswer : fileAnswer
        // Missing, not null, when the bytes were known.
        if let token = record.deleteToken { object["delete_token"] = .string(token) }
        return object
    }

    private var assetAnswer: JSONObject {
        let start: JSONObject = [
            "id": .int(record.asset.id),
            "asset_id": .int(record.asset.id),
            "event_id": .int(record.eventID),
            "event_item_id": .int(record.itemID),
            "position": .int(record.position),
        ]
        return JSONObject(
            members: start.members + stored(fileName: record.asset.fileName) + event + label
        )
    }

    private var fileAnswer: JSONObject {
        let start: JSONObject = ["id": .int(record.asset.id)]
        let session: JSONObject = ["session_id": .int(record.eventID)]
        let sequence: JSONObject = ["seq": .int(record.position)]
        return JSONObject(
            members: start.members + stored(fileName: readableName) + session.members + event + sequence.members
                + label
        )
    }

    private func stored(fileName: String) -> [JSONObject.Member] {
        let object: JSONObject = [
            "file_name": .string(fileName),
            "file_type": .string(record.asset.kind.rawValue),
            "mime_type": .string(record.asset.mimeType),
            "size_bytes": .int(record.asset.size),
            "checksum_sha256": .string(record.asset.checksum),
        ]
        return object.members
    }

    private var event: [JSONObject.Member] {
        let object: JSONObject = [
            "event_date": .string(record.fields.eventDate),
            "org_name": .string(record.fields.orgName),
            "event_type": JSONValue(record.eventType),
        ]
        return object.members
    }

    private var label: [JSONObject.Member] {
        let object: JSONObject = [
            "label": .string(record.fields.label),
            "participants": .string(record.fields.participants),
            "keywords": .string(record.keywords),
            "duration_seconds": JSONValue(record.asset.duration),
        ]
        return object.members
    }

    /// D1 and D2 show a name like `stormpigs20260215_00001_time-average.mp4`, which is not the served one (trap T16).
    private var readableName: String {
        let date = record.fields.eventDate.filter(\.isNumber)
        let name =
            "\(slug(record.fields.orgName))\(date)_\(padded(record.position, 5))_\(slug(record.fields.label))"
        return record.asset.fileExtension.isEmpty ? name : "\(name).\(record.asset.fileExtension)"
    }

    /// ASCII letters and digits; every run of other characters is one hyphen.
    private func slug(_ text: String) -> String {
        text.lowercased().split { !($0.isASCII && ($0.isLetter || $0.isNumber)) }.joined(separator: "-")
    }
}

extension IngestOutcome {
    /// The answer that every way of uploading gives (gighive contract 2.2, 3).
    func reply(in dialect: Dialect) -> Reply {
        switch self {
        case .stored(let record):
            return .json(.created, .object(UploadAnswer(record).json(dialect)))
        case .storedThenFailed(let message), .refused(let message):
            return .serverError(.string(message))
        case .collision(let entry, _):
            return .serverError(.string(entry.message))
        case .duplicate(let id, let checksum):
            return .json(
                .conflict,
                .object([
                    "error": "Duplicate Upload",
                    "message": .string(
                        "A file with the same checksum_sha256 already exists on the server. "
                            + "Upload rejected to prevent duplicates."
                    ),
                    dialect.existingIDKey: .int(id),
                    "checksum_sha256": .string(checksum),
                ])
            )
        }
    }
}

extension Reply {
    /// The HTML page that stands for the JSON of an upload when the client takes HTML (gighive contract 2.3).
    func asPage(when wantsHTML: Bool) -> Reply {
        guard wantsHTML, origin == .application, case .json(let value) = body else { return self }
        var page = self
        page.body = .html(HTMLPages.uploadResult(value, succeeded: status.kind == .successful))
        return page
    }
}

/// Parses an upload's form while it arrives, as PHP fills `$_POST` and `$_FILES`.
final class UploadFormReader {
    /// The part called `file`.
    struct Upload {
        var header: PartHeader
        var file: IncomingFile

        /// Lower case, only letters and digits; empty when there is none.
        var fileExtension: String {
            guard let name = header.fileName, let dot = name.lastIndex(of: ".") else { return "" }
            return name[name.index(after: dot)...].lowercased().filter { $0.isASCII && ($0.isLetter || $0.isNumber) }
        }

        var kind: MediaKind? {
            MediaKind.judged(
                declaredType: header.contentType,
                fileExtension: fileExtension,
                prefix: file.prefix
            )
        }
    }

    private enum Part {
        case none
        case field(name: String, value: ByteBuffer)
        case file(Upload)
        /// A file under another name; PHP would store it, nobody would look at it.
        case ignored
    }

    /// Longer field values are cut: no field of an upload is anywhere near.
    private static let fieldLimit = 1 << 20

    private(set) var fields: [String: String] = [:]
    private(set) var upload: Upload?
    private(set) var hasSeveralFiles = false
    private(set) var hasExecutableFieldName = false
    private var couldNotWrite = false
    private var parser: MultipartParser?
    private let folder: DataFolder
    private var part = Part.none

    /// A form without a boundary is empty for PHP.
    init(boundary: String, folder: DataFolder) {
        parser = boundary.isEmpty ? nil : MultipartParser(boundary: boundary)
        self.folder = folder
    }

    /// Takes the next bytes. Nothing is thrown: like PHP, a form that went wrong is judged at its end.
    func consume(_ chunk: ByteBuffer) {
        do {
            try parser?.consume(chunk, handle)
        } catch {
            couldNotWrite = error is SystemError
            parser = nil
        }
    }

    /// PHP's error code for the file: 7 when the disk refused it, 3 when the form ended inside it, 4 when its name
    /// was empty.
    var uploadErrorCode: Int? {
        if couldNotWrite { return 7 }
        if parser?.isComplete != true { return 3 }
        return upload?.header.fileName?.isEmpty == true ? 4 : nil
    }

    private func handle(_ event: MultipartParser.Event) throws {
        switch event {
        case .partBegan(let header): try begin(header)
        case .data(let buffer): try append(buffer)
        case .partEnded: end()
        }
    }

    private func begin(_ header: PartHeader) throws {
        // The firewall looks at the ends of field names.
        if [".php", ".sh", ".exe", ".phtml", ".pl", ".cgi"].contains(where: header.name.lowercased().hasSuffix) {
            hasExecutableFieldName = true
        }
        guard header.fileName != nil else {
            part = .field(name: header.name, value: ByteBuffer())
            return
        }
        guard header.name == "file" || header.name == "file[]" else {
            part = .ignored
            return
        }
        if upload != nil || header.name == "file[]" { hasSeveralFiles = true }
        let upload = Upload(header: header, file: try IncomingFile(path: folder.newIncomingPath(), hashedBy: .sha256))
        self.upload = upload
        part = .file(upload)
    }

    private func append(_ buffer: ByteBuffer) throws {
        switch part {
        case .file(let upload): try upload.file.append(buffer)
        case .field(let name, var value):
            guard value.readableBytes + buffer.readableBytes <= Self.fieldLimit else { return }
            // Taken out first, so that appending does not copy what is there.
            part = .none
            value.writeImmutableBuffer(buffer)
            part = .field(name: name, value: value)
        case .none, .ignored: break
        }
    }

    private func end() {
        if case .field(let name, let value) = part { fields[name] = String(buffer: value) }
        part = .none
    }
}
