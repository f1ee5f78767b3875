internal import MediaCore
internal import MediaCrypto
package import MediaStore
internal import MediaTransport

/// What a server answered to an upload, in any dialect (gighive contract 2.2, 2.3, 2.5 and 3).
///
/// Reading never fails: what an answer lacks is nil, and a broken answer still gives up its token and id when they are
/// whole.
package struct UploadReply: Sendable, Equatable {
    /// How much of the answer was understood.
    package enum Form: Sendable, Equatable {
        /// A JSON object.
        case json
        /// A JSON object inside an HTML page.
        case html
        /// No whole object; what is set was found in the text.
        case broken
    }

    /// Which releases send a response of this form (gighive contract section 0).
    package enum Dialect: Sendable, Equatable {
        /// D1 and D2: files are numbered inside an event, by `session_id` and `seq`.
        case sessions
        /// D3 and later: assets are linked to events.
        case assets
    }

    /// Status code.
    package var status: Int
    /// How much was understood.
    package var form: Form
    /// The server's id.
    package var fileID: Int64?
    /// The token; nil when the answer had none.
    package var deleteToken: DeleteToken?
    /// Whether there was something in the token's place that cannot be a token, or more than one token.
    package var hasUnusableToken = false
    /// What may be a token although nothing in the response names it so; a checksum has the same format.
    package var suspects: Set<DeleteToken> = []
    /// Whether the content could not be read at all.
    package var isUnread = false
    /// 64 lower-case hexadecimal characters.
    package var checksumSHA256: String?
    /// Readable in old dialects, `<sha256>.<ext>` in the newest (trap T16).
    package var fileName: String?
    /// `audio` or `video`.
    package var fileType: String?
    /// Length in bytes.
    package var sizeBytes: Int64?
    /// Id of the stored copy, in the response to a duplicate; either spelling.
    package var existingFileID: Int64?
    /// The server's release, if the response shows it.
    package var dialect: Dialect?
    /// Id of the event (D3) or session (D1, D2) that the file is in.
    package var eventID: Int64?
    /// What the server has stored; nil if the response has no details.
    package var stored: StoredFacts?
    /// What a guest gets besides (gighive contract section 6).
    package var guest: GuestReceipt?
    /// Whether the server has not completed the upload yet (gighive-d4 contract section 5).
    package var isPending = false
    /// Whether the server has stored the file and deleted it since: its digest is empty (gighive-d4 contract section 5).
    package var isOfDeletedFile = false
    /// Whether a server sent it that never has a delete token for uploads over tus (gighive-d4 contract section 1).
    package var hasNoTokens = false
    /// The error's short name.
    package var error: String?
    /// The error in words; of an HTML page the title.
    package var message: String?

    /// Reads a response. A token is looked for at any status, in any nesting and encoding.
    ///
    /// - Parameters:
    ///   - status: Status code.
    ///   - body: All bytes received, also when there should have been more.
    ///   - isComplete: Whether the response is known to be complete, so that a number at its end is.
    /// - Returns: What was understood.
    package static func parse(status: Int, body: [UInt8], isComplete: Bool = false) -> UploadReply {
        var reply = read(status, body)
        if reply.form != .broken, !reply.isWithoutToken { return reply }
        let decoded = DecodedBody(body)
        for text in decoded.texts {
            let layer = text == body ? reply : read(status, text)
            if layer.form != .broken, !layer.isWithoutToken { return layer }
            let search = ResponseSearch(text[...], isComplete: isComplete)
            guard search.token == nil, !search.hasUnusable else { return layer.adding(search) }
            // The content says more about a failure than the bytes around it.
            if reply.form == .broken { reply = layer }
        }
        for text in decoded.texts {
            reply.suspects.formUnion(Suspects.find(in: text, besides: reply.checksumSHA256))
        }
        reply.isUnread = !decoded.isText
        return reply
    }

    /// Whether the response to a duplicate identifies the existing file, by its ID or by the checksum of the bytes sent.
    func identifiesExistingFile(_ checksum: String?) -> Bool {
        existingFileID != nil || (checksum != nil && checksumSHA256 == checksum)
    }

    /// Reads a text in the form of the contract.
    private static func read(_ status: Int, _ text: [UInt8]) -> UploadReply {
        let content = ReplyText.content(of: text)
        switch content.form {
        case .json, .embedded: return UploadReply(status: status, form: .json, content)
        case .html: return UploadReply(status: status, form: .html, content)
        case .broken: return UploadReply(status: status, salvagedFrom: content.text)
        }
    }

    /// The same response with the token that a search has found.
    private func adding(_ search: ResponseSearch) -> UploadReply {
        var reply = self
        if !search.members.isEmpty {
            let content = ReplyText.Content(form: .json, members: search.members, text: [])
            reply = UploadReply(status: status, form: form, content)
        }
        reply.deleteToken = search.token.flatMap(Self.token)
        reply.hasUnusableToken = search.hasUnusable
        if search.token != nil { reply.fileID = search.fileID }
        return reply
    }

    private init(status: Int, form: Form, _ content: ReplyText.Content) {
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
        message = ReplyText.title(of: text)
    }

    /// What stands in the token's place; nil where nothing does.
    private static func tokenText(_ content: ReplyText.Content) -> String? {
        switch content.members["delete_token"] {
        case nil, .bool(false)?: nil
        case .string?: content.members.text("delete_token")
        case .integer?, .double?, .null?:
            // As it is written: a long number would lose digits, or be no number at all.
            Salvage.number(after: "delete_token\"", in: content.text)
        // An empty text is no token, but it is not nothing either.
        case .bool?, .array?, .object?, .verbatim?: ""
        }
    }

    static func token(_ text: String) -> DeleteToken? {
        // C1 controls; the token itself refuses the others.
        guard !text.unicodeScalars.contains(where: { (0x80...0x9f).contains($0.value) }) else { return nil }
        var token = text[...]
        while token.first?.isWhitespace == true { token.removeFirst() }
        while token.last?.isWhitespace == true { token.removeLast() }
        return DeleteToken(String(token))
    }

    /// Whether a success tells what it is about: by a token, usable or not, or by the id of the file.
    var saysStored: Bool { deleteToken != nil || hasUnusableToken || (form != .broken && fileID != nil) }

    /// A success that does not.
    var asHollowSuccess: GigHiveError {
        GigHiveError(.unexpectedAnswer, detail: message ?? "a success without id and token", httpStatus: status)
    }

    /// Whether nothing stands in the token's place.
    var isWithoutToken: Bool { deleteToken == nil && !hasUnusableToken }

    /// Whether the response may contain a token that was not found.
    ///
    /// - Parameter checksum: SHA-256 of the file, which has the format of a token.
    /// - Returns: Whether it must be kept.
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
    /// A server's id: a positive whole number.
    func identifier(_ key: String) -> Int64? {
        self[key]?.wholeNumber.flatMap { $0 > 0 ? $0 : nil }
    }

    /// A text that is not blank.
    func text(_ key: String) -> String? {
        guard let text = self[key]?.text, text.contains(where: { !$0.isWhitespace }) else { return nil }
        return text
    }

    /// A SHA-256 digest in lower-case hexadecimal.
    func checksum(_ key: String) -> String? {
        text(key).flatMap { SHA256Digest(hex: $0)?.hex }
    }
}
