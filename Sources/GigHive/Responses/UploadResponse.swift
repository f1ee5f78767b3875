internal import MediaCore
internal import MediaCrypto
package import MediaStore
package import MediaSystem
internal import MediaTransport

/// A response to an upload, in any dialect (gighive contract 2.2, 2.3, 2.5 and 3).
///
/// Parsing never fails: missing values are nil, and an invalid response still provides its token and ID if
/// they are complete.
package struct UploadResponse: Sendable, Equatable {
    /// The releases that send a response of this form (gighive contract section 0).
    package enum Dialect: Sendable, Equatable {
        /// D1 and D2: files are numbered inside an event, by `session_id` and `seq`.
        case sessions
        /// D3 and later: assets are linked to events.
        case assets
    }

    package var status: Int
    /// Where the JSON was found; an embedded object counts as `.json`.
    var form: ResponseText.Form
    package var fileID: Int64?
    package var deleteToken: DeleteToken?
    /// Whether the token's field contains something that cannot be a token, or there is more than one token.
    package var hasUnusableToken = false
    /// Possible tokens without a name in the response; a checksum has the same format.
    package var suspects: Set<DeleteToken> = []
    /// Whether the content could not be decoded.
    package var isUnread = false
    /// 64 lowercase hexadecimal characters.
    package var checksumSHA256: String?
    /// Readable in old dialects, `<sha256>.<ext>` in the newest (trap T16).
    package var fileName: String?
    /// `audio` or `video`.
    package var fileType: String?
    package var sizeBytes: Int64?
    /// ID of the stored copy, in the response to a duplicate; either spelling.
    package var existingFileID: Int64?
    /// The server's release, if the response shows it.
    package var dialect: Dialect?
    /// ID of the event (D3) or session (D1, D2) that the file is in.
    package var eventID: Int64?
    /// The stored details; nil if the response has none.
    @BoxedOptional package var stored: StoredFacts?
    /// For a guest (gighive contract section 6).
    @BoxedOptional package var guest: GuestReceipt?
    /// Whether the server has not completed the upload yet (gighive-d4 contract section 5).
    package var isPending = false
    /// Whether the server has stored the file and since deleted it: its digest is empty (gighive-d4 contract section
    /// 5).
    package var isOfDeletedFile = false
    /// Whether the server never issues delete tokens for uploads over tus (gighive-d4 contract section 1).
    package var hasNoTokens = false
    package var error: String?
    /// The error message, or the title of an HTML page.
    package var message: String?

    /// Parses a response. A token is searched for at any status, at any nesting level, and in any encoding.
    /// `isComplete` is whether the response is known to be complete; if so, a number at its end is not truncated.
    package static func parse(status: Int, body: [UInt8], isComplete: Bool = false) -> UploadResponse {
        var response = read(status, body)
        if response.form != .broken, !response.isWithoutToken { return response }
        let decoded = DecodedBody(body)
        for text in decoded.texts {
            let layer = text == body ? response : read(status, text)
            if layer.form != .broken, !layer.isWithoutToken { return layer }
            let search = ResponseSearch(text[...], isComplete: isComplete)
            guard search.token == nil, !search.hasUnusable else { return layer.adding(search) }
            // The content describes a failure better than the bytes around it.
            if response.form == .broken { response = layer }
        }
        for text in decoded.texts {
            response.suspects.formUnion(Suspects.find(in: text, besides: response.checksumSHA256))
        }
        response.isUnread = !decoded.isText
        return response
    }

    /// Whether the response to a duplicate identifies the existing file, by its ID or by the checksum
    /// of the bytes sent.
    func identifiesExistingFile(_ checksum: String?) -> Bool {
        existingFileID != nil || (checksum != nil && checksumSHA256 == checksum)
    }

    /// Parses a text in the form of the contract.
    private static func read(_ status: Int, _ text: [UInt8]) -> UploadResponse {
        let content = ResponseText.content(of: text)
        guard content.form != .broken else { return UploadResponse(status: status, salvagedFrom: content.text) }
        return UploadResponse(status: status, form: content.form == .html ? .html : .json, content)
    }

    /// This response with the token that a search found.
    private func adding(_ search: ResponseSearch) -> UploadResponse {
        var response = self
        if !search.members.isEmpty {
            let content = ResponseText.Content(form: .json, members: search.members, text: [])
            response = UploadResponse(status: status, form: form, content)
        }
        response.deleteToken = search.token.flatMap(Self.token)
        response.hasUnusableToken = search.hasUnusable
        if search.token != nil { response.fileID = search.fileID }
        return response
    }

    private init(status: Int, form: ResponseText.Form, _ content: ResponseText.Content) {
        let members = content.members
        self.status = status
        self.form = form
        fileID = members.identifier("id") ?? members.identifier("asset_id") ?? members.identifier("file_id")
        let token = Self.tokenText(content)
        deleteToken = token.flatMap(Self.token)
        hasUnusableToken = token != nil && deleteToken == nil
        checksumSHA256 = members.checksum("checksum_sha256")
        fileName = members.text("file_name")
        fileType = members.text("file_type")
        sizeBytes = members.identifier("size_bytes")
        existingFileID = members.identifier("existing_asset_id") ?? members.identifier("existing_file_id")
        eventID = members.identifier("event_id") ?? members.identifier("session_id")
        if members["asset_id"] != nil || members["existing_asset_id"] != nil {
            dialect = .assets
        } else if members["session_id"] != nil || members["existing_file_id"] != nil {
            dialect = .sessions
        }
        if let nonce = members.text("status_nonce"), let jobID = members.identifier("upload_job_id") {
            guest = GuestReceipt(nonce: nonce, jobID: jobID)
        }
        isPending = members.text("status") == "pending" && members.text("upload_id") != nil && fileID == nil
        isOfDeletedFile = fileID != nil && members["checksum_sha256"]?.text == ""
        hasNoTokens = members["db_done"] != nil
        stored = StoredFacts(members)
        error = members.text("error")
        message = members.text("message")
    }

    private init(status: Int, salvagedFrom text: ArraySlice<UInt8>) {
        self.status = status
        form = .broken
        fileID = Salvage.identifier(after: "\"id\"", in: text) ?? Salvage.identifier(after: "\"asset_id\"", in: text)
        checksumSHA256 = Salvage.hex64(after: "checksum_sha256\"", in: text)?.lowercased()
        fileType = Salvage.mediaKind(after: "file_type\"", in: text)
        existingFileID =
            Salvage.identifier(after: "existing_asset_id\"", in: text)
            ?? Salvage.identifier(after: "existing_file_id\"", in: text)
        message = ResponseText.title(of: text)
    }

    /// The text in the token's field; nil if there is none.
    private static func tokenText(_ content: ResponseText.Content) -> String? {
        switch content.members["delete_token"] {
        case nil, .bool(false)?: nil
        case .string?: content.members.text("delete_token")
        case .integer?, .double?, .null?:
            // As written: a long number would lose digits, or not be a number at all.
            Salvage.number(after: "delete_token\"", in: content.text)
        // An empty text is not a token, but the field is present.
        case .bool?, .array?, .object?, .verbatim?: ""
        }
    }

    static func token(_ text: String) -> DeleteToken? {
        // Rejects C1 controls; `DeleteToken` itself rejects the others.
        guard !text.unicodeScalars.contains(where: { (0x80...0x9f).contains($0.value) }) else { return nil }
        return DeleteToken(text.trimmingWhiteSpace())
    }

    /// Whether a success identifies its file: by a token, usable or not, or by the ID.
    var reportsStored: Bool { deleteToken != nil || hasUnusableToken || (form != .broken && fileID != nil) }

    /// The error for a success that identifies no file.
    var asHollowSuccess: GigHiveError {
        GigHiveError(.unexpectedResponse, detail: message ?? "success without ID and token", httpStatus: status)
    }

    var isWithoutToken: Bool { deleteToken == nil && !hasUnusableToken }

    /// Whether the response may contain a token that was not found, and must be kept. `checksum` is the checksum of the
    /// file, which has the format of a token.
    func mayHoldUnreadToken(besides checksum: String?) -> Bool {
        // A server or proxy that refuses every request must not fill the disk with pages that cannot be read.
        let isRefusal = (400..<500).contains(status) || status == 501 || status == 503
        return isWithoutToken && ((isUnread && !isRefusal) || suspects.contains { $0.secret != checksum })
    }
}

extension StoredFacts {
    /// Far above the limit of the server's database columns (255), and short enough for a line of an export.
    private static let longestText = 4096

    /// The details of the stored file in a response; nil if there are none.
    init?(_ members: JSONObject) {
        self.init()
        let text = { (key: String) in members.text(key).flatMap { $0.utf8.count <= Self.longestText ? $0 : nil } }
        eventID = members.identifier("event_id") ?? members.identifier("session_id")
        position = members.identifier("position") ?? members.identifier("seq")
        eventDate = text("event_date")
        orgName = text("org_name")
        eventType = text("event_type")
        label = text("label")
        mimeType = text("mime_type")
        durationSeconds = members["duration_seconds"]?.wholeNumber
        participants = text("participants")
        keywords = text("keywords")
        guard self != StoredFacts() else { return nil }
    }
}

extension JSONObject {
    /// An ID assigned by the server: a positive whole number.
    func identifier(_ key: String) -> Int64? {
        self[key]?.wholeNumber.flatMap { $0 > 0 ? $0 : nil }
    }

    /// A text that is not blank.
    func text(_ key: String) -> String? {
        guard let text = self[key]?.text else { return nil }
        // With a printable ASCII character, the Unicode tables are not needed.
        let hasVisible = text.utf8.contains { (0x21...0x7e).contains($0) } || text.contains { !$0.isWhitespace }
        return hasVisible ? text : nil
    }

    /// A SHA-256 digest in lowercase hexadecimal.
    func checksum(_ key: String) -> String? {
        text(key).flatMap { SHA256Digest(hex: $0)?.hex }
    }
}
