public import Foundation
internal import MediaCore
internal import MediaFiles
public import MediaStore
public import MediaTransport

/// How one upload ended.
public struct UploadResult: Sendable {
    /// The source as given; bytes, because a path need not be UTF-8.
    public var path: [UInt8]
    /// The journal's id; nil when the upload was refused before it was planned.
    public var uploadID: String?
    /// The end state.
    public var state: UploadState
    /// The server's address.
    public var server: String
    /// The server's id.
    public var fileID: Int64?
    /// The name told to the server.
    public var fileName: String
    /// `audio` or `video`, as the server says.
    public var fileType: String?
    /// Length in bytes.
    public var sizeBytes: Int64
    /// SHA-256 of the bytes sent.
    public var checksumSHA256: String?
    /// Whether the server's checksum equals ours; nil when nothing was compared because nothing was stored.
    public var isVerified: Bool?
    /// Whether a token for the stored file is in the token store.
    public var hasDeleteToken: Bool
    /// What was told about the file.
    public var details: UploadDetails?
    /// The details that the server stored, from its response; nil if there was no response, or it has no details.
    public var stored: StoredFacts?
    /// Address of the stored media.
    public var mediaURL: String?
    /// Whether the server has a part of the upload, which `Uploader.resume` can continue.
    public var isResumable = false
    /// Whether the server has no delete tokens for such uploads, as an event `limited` said before.
    public var isTokenlessByDesign = false
    /// Status of the last answer.
    public var httpStatus: Int?
    /// Whether a request of this run has carried content that the server may have kept or processed.
    var hasSentContent = false
    /// Body bytes sent in the last try.
    public var bytesSent: Int64
    /// From preflight to end.
    public var duration: Duration
    /// Tries.
    public var attempts: Int
    /// Whether it went on from an earlier run.
    public var isResumed: Bool
    /// How its bytes went.
    public var transport: UploadTransport
    /// The planned transport; set if nothing is sent.
    public var plannedTransport: PlannedTransport?
    /// Whether nothing was sent because the server was known to have the bytes.
    public var isSkipped: Bool
    /// What the server gave a guest.
    public var guest: GuestReceipt?
    /// Set for `duplicate` when the file was uploaded from here and its token is at hand.
    public var isDeletableDuplicate: Bool
    /// Why it did not end in `done` or `duplicate`.
    public var error: GigHiveError?
    /// A token that could not be stored (`error` is `.tokenNotStored`). To be shown on a terminal as the last resort.
    public var unstoredToken: DeleteToken?
    /// Things worth telling that are no failure.
    public var warnings: [UploadWarning]

    /// Makes a result that has reached nothing yet.
    package init(path: [UInt8], fileName: String, server: String, state: UploadState = .planned) {
        self.path = path
        self.fileName = fileName
        self.server = server
        self.state = state
        sizeBytes = 0
        hasDeleteToken = false
        bytesSent = 0
        duration = .zero
        attempts = 0
        isResumed = false
        transport = .multipart
        isSkipped = false
        isDeletableDuplicate = false
        warnings = []
    }

    /// The result of an upload of which nothing was sent yet.
    init(of upload: PreparedUpload, server: String) {
        self.init(path: upload.path, fileName: upload.fileName, server: server)
        sizeBytes = upload.sizeBytes
        details = upload.details
        warnings = upload.warnings
    }
}

/// Things worth telling that are no failure.
public enum UploadWarning: Sendable, Equatable {
    /// The server gave no checksum to compare.
    case notVerified
    /// A success without a delete token: the required message is shown with these fields filled in.
    case noDeleteToken
    /// The token has an unusual shape; it was kept as it is.
    case oddToken
    /// The server sent something as a delete token that no token can be: a list, control characters, over 512 bytes. Its
    /// answer is kept in the rescue file; the path is nil when the disk refused the answer.
    case unusableToken(rescuePath: String?)
    /// A delete token is in a rescue file, and nothing here says which file on which server it belongs to.
    case tokenKept(rescuePath: String)
    /// A response that could not be read completely and may contain a delete token is kept in this file.
    case responseKept(path: String)
    /// The server had the file from an upload made here whose delete token was lost.
    case tokenLostEarlier
    /// The server refused the file as a duplicate without identifying the existing file. An earlier attempt from this
    /// machine may have stored it; its delete token is then lost.
    case tokenMayBeLost
    /// The server answered in HTML; the JSON was dug out of it.
    case answeredInHTML
    /// An earlier upload's reply was found and its token stored.
    case rescued(uploadID: String, fileID: Int64)
    /// The size is over the limit that Apache sets for direct bodies (1 GiB); the server will probably refuse it.
    case aboveDirectLimit
    /// The server ignores these details of uploads over tus.
    case detailsIgnored([String])
    /// The server cannot delete an unfinished upload: it keeps its data, and counts it, until then; nil if the time is
    /// unknown.
    case keptByServer(until: Date?)
    /// A guest upload is stored, but the response with its status code was lost: it cannot be followed or hidden.
    case guestReceiptLost
    /// The extension and the content disagree about the type.
    case typeMismatch(declared: String, sniffed: String)
}

/// What a server with tus in PHP does not support of an upload (gighive-d4 contract sections 3 and 4).
public struct TusLimits: Sendable, Equatable {
    /// Whether the upload gets no delete token although its user could use one.
    public var isWithoutToken: Bool
    /// Names of the details that the server ignores.
    public var ignoredDetails: [String] = []
    /// The chunk size in bytes that is used because the requested one is too large; nil if it is not.
    public var reducedChunkBytes: Int64?
    /// Whether parallel parts were requested; the file is sent in one.
    public var isInOnePart = false
}

/// What is happening to one upload.
public enum UploadEvent: Sendable {
    /// Bytes, phases.
    case progress(TransferProgress)
    /// A failed try is waited out.
    case retrying(attempt: Int, after: Duration, because: GigHiveError)
    /// The answer was lost; the server is being asked whether it has the file.
    case resolving(for: Duration)
    /// A stop was asked for after the last byte; the token is awaited.
    case waitingForToken
    /// An earlier upload goes on; this much is on the server already. Bytes.
    case resuming(from: Int64)
    /// What was sent earlier is checked against the file.
    case proving(bytes: Int64, byteCount: Int64)
    /// The server has forgotten what was sent, or the file has changed: the upload starts anew.
    case restarting(because: GigHiveError)
    /// The server may keep what was sent before a restart, and count it among five unfinished uploads for 24 hours
    /// (gighive-d4 contract 4.5).
    case leavingUnfinished
    /// Before anything is sent over tus, what the server does not support.
    case limited(TusLimits)
    /// The file is uploaded with another transport instead.
    case switching(to: UploadTransport, because: GigHiveError)
    /// Every byte is on the server; it is told what they are, and its answer is awaited.
    case finalizing
    /// An earlier finalize may still be at work; it is repeated after this time.
    case waitingForQuiet(Duration)
}

/// What the store and the row know besides.
extension UploadSettlement {
    /// The entry for the token of a reply; nil without token or id.
    func entry(_ reply: UploadReply) -> TokenEntry? {
        guard let token = reply.deleteToken, let fileID = reply.fileID else { return nil }
        let field = { (name: String) in record.fields.first { $0.name == name }?.value }
        // The server normalizes text (trap T27): operators see and search for the normalized text.
        let stored = reply.stored
        let guessed = AcceptedMedia.kind(ofExtension: FileName.pathExtension(of: result.fileName))
        return TokenEntry(
            host: record.host,
            fileID: fileID,
            token: token,
            createdAt: now(),
            eventDate: stored?.eventDate ?? field("event_date") ?? "",
            orgName: stored?.orgName ?? field("org_name") ?? "",
            eventType: stored?.eventType ?? field("event_type") ?? "",
            label: stored?.label ?? field("label"),
            fileName: result.fileName,
            fileType: reply.fileType ?? guessed ?? "",
            checksumSHA256: reply.checksumSHA256 ?? record.checksumSHA256 ?? "",
            sizeBytes: record.sizeBytes > 0 ? record.sizeBytes : reply.sizeBytes ?? 0,
            baseURL: record.baseURL
        )
    }

    /// The stored file that a response describes; nil if it has no event.
    func storedFile(_ reply: UploadReply) -> StoredFile? {
        guard let fileID = reply.fileID, let facts = reply.stored, facts.eventDate != nil || facts.orgName != nil else {
            return nil
        }
        let checksum = reply.checksumSHA256 ?? record.checksumSHA256 ?? ""
        return StoredFile(host: record.host, fileID: fileID, checksumSHA256: checksum, facts: facts)
    }

    /// Tokens of this machine for a stored file. The id is compared as well where it is known, because a rebuilt server
    /// gives the same bytes a new id and forgets old tokens (gighive contract section 0).
    func knownTokens(fileID: Int64?, checksum: String?) -> [TokenEntry] {
        guard let checksum, let rows = try? store.tokens(host: record.host, checksumSHA256: checksum) else { return [] }
        return rows.filter { !$0.isSuperseded && (fileID == nil || $0.fileID == fileID) }
    }

    /// Where the media is served: `/audio/` or `/video/`, then digest and extension (trap T16). What the server does not
    /// report is taken from the local name.
    func mediaURL(_ served: ServedName?) -> String? {
        let localExtension = FileName.pathExtension(of: result.fileName)
        let pathExtension = served?.pathExtension ?? localExtension
        guard result.fileID != nil, let checksum = record.checksumSHA256,
            let kind = served?.kind ?? AcceptedMedia.kind(ofExtension: localExtension),
            ["audio", "video"].contains(kind)
        else { return nil }
        let suffix = pathExtension.isEmpty ? "" : "." + PercentEncoding.encode(pathExtension)
        return "\(record.baseURL)/\(kind)/\(checksum)\(suffix)"
    }
}
