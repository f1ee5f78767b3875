public import Foundation
internal import MediaCore
internal import MediaFiles
public import MediaStore
package import MediaSystem
public import MediaTransport

/// The result of one upload.
@dynamicMemberLookup public struct UploadResult: Sendable {
    /// The members of a result, in one allocation: a batch runs dozens of functions, each with space for several.
    public struct Values: Sendable {
        /// The source as given; bytes, because a path need not be UTF-8.
        public var path: [UInt8]
        /// The journal's ID; nil if the upload was refused before it was planned.
        public var uploadID: String?
        public var state: UploadState
        /// The server's address.
        public var server: String
        /// The ID on the server.
        public var fileID: Int64?
        /// The file name sent to the server.
        public var fileName: String
        /// `audio` or `video`, as reported by the server.
        public var fileType: String?
        public var sizeBytes: Int64 = 0
        /// SHA-256 of the bytes sent.
        public var checksumSHA256: String?
        /// Whether the server's checksum equals the local one; nil if nothing was compared because nothing was stored.
        public var isVerified: Bool?
        /// Whether a token for the stored file is in the token store.
        public var hasDeleteToken = false
        /// The details sent with the file.
        public var details: UploadDetails?
        /// The details that the server stored, from its response; nil if there was no response, or if it contains no
        /// details.
        public var stored: StoredFacts?
        /// Address of the stored media.
        public var mediaURL: String?
        /// Whether `Uploader.resume` can continue the upload.
        public var isResumable = false
        /// Whether the server issues no delete tokens for such uploads, as an event `limited` reported earlier.
        public var isTokenlessByDesign = false
        /// Status of the last response.
        public var httpStatus: Int?
        /// Whether a request in this run sent content that the server may have kept or processed.
        var hasSentContent = false
        /// Body bytes sent in the last attempt; over tus, in the whole run.
        public var bytesSent: Int64 = 0
        /// From preflight to the result.
        public var duration = Duration.zero
        public var attempts: Int = 0
        /// Whether the upload was resumed from an earlier run.
        public var isResumed = false
        /// The transport used.
        public var transport = UploadTransport.multipart
        /// The planned transport; set if nothing is sent.
        public var plannedTransport: PlannedTransport?
        /// Whether nothing was sent because the server was known to have the bytes.
        public var isSkipped = false
        /// Whether the file is sent with an event link instead of a login.
        public var isGuest = false
        public var guest: GuestReceipt?
        /// The last known state of a guest's earlier upload, to which `guest` then belongs; nil if the state is not
        /// known.
        public var guestState: GuestState?
        /// Set for `duplicate` if the file was uploaded from this machine and its token is stored.
        public var isDeletableDuplicate = false
        /// Why the upload did not succeed; with a successful state, what could not be stored on this machine.
        public var error: GigHiveError?
        /// A token that could not be stored (`error` is `.tokenNotStored`), to be shown on a terminal as the last resort.
        public var unstoredToken: DeleteToken?
        /// Notes for the user that are not failures.
        public var warnings: [UploadWarning] = []
    }

    /// For functions that read many members of every result: in other modules, a read through the subscript takes about
    /// 2,000 instructions.
    @Boxed package private(set) var values: Values

    /// A member of `Values`; changing it copies the values if another result shares them.
    public subscript<Member>(dynamicMember path: WritableKeyPath<Values, Member>) -> Member {
        _read { yield values[keyPath: path] }
        _modify { yield &values[keyPath: path] }
    }

    package init(path: [UInt8], fileName: String, server: String, state: UploadState = .planned) {
        values = Values(path: path, state: state, server: server, fileName: fileName)
    }

    /// The result of an upload in the journal before anything is sent.
    package init(of record: UploadRecord) {
        self.init(path: record.path, fileName: record.path.fileName, server: record.baseURL)
        self.uploadID = record.uploadID
        self.sizeBytes = record.sizeBytes
        self.transport = record.transport
        self.isGuest = record.isGuest
    }

    /// The result of an upload before anything is sent.
    init(of upload: PreparedUpload, server: String) {
        self.init(path: upload.path, fileName: upload.fileName, server: server)
        self.sizeBytes = upload.sizeBytes
        self.details = upload.details
        self.warnings = upload.warnings
    }
}

/// Notes for the user that are not failures.
public enum UploadWarning: Sendable, Equatable {
    /// The server sent no checksum to compare.
    case notVerified
    /// A success without a delete token; the message that the contract requires is shown.
    case noDeleteToken
    /// The token has an unusual format; it was stored unchanged.
    case oddToken
    /// The server sent an invalid delete token: a list, control characters, over 512 bytes. Its response is kept in the
    /// rescue file; the path is nil if the disk failed.
    case unusableToken(rescuePath: String?)
    /// A delete token that could not be assigned to a file is in this rescue file.
    case tokenKept(rescuePath: String)
    /// A response that could not be read completely and may contain a delete token is kept in this file.
    case responseKept(path: String)
    /// The server already had the file from an earlier upload by this machine, whose delete token was lost.
    case tokenLostEarlier
    /// The server refused the file as a duplicate. It may have been stored by an attempt from this machine whose
    /// response a proxy replaced; its delete token is then lost.
    case tokenMayBeLost
    /// The server responded with HTML that contained the JSON.
    case respondedInHTML
    /// The response to an earlier upload was found and its token stored.
    case rescued(uploadID: String, fileID: Int64)
    /// The size exceeds Apache's limit for direct bodies (1 GiB); the server will probably refuse it.
    case aboveDirectLimit
    /// The server ignores these details of uploads over tus.
    case detailsIgnored([String])
    /// The server cannot delete an unfinished upload: it keeps the data, and counts the upload, until this
    /// time; nil if unknown.
    case keptByServer(until: Date?)
    /// A guest upload is stored, but the response with its receipt was lost: it cannot be tracked or hidden.
    case guestReceiptLost
    /// Extension and content indicate different types.
    case typeMismatch(declared: String, sniffed: String)
}

/// The limitations of a server with tus in PHP (gighive-d4 contract sections 3 and 4).
public struct TusLimits: Sendable, Equatable {
    /// Whether the server does not issue a delete token even though the user could use one.
    public var isWithoutToken: Bool
    /// Names of the details that the server ignores.
    public var ignoredDetails: [String] = []
    /// The chunk size in bytes that replaces a larger requested one; nil if the requested size is not too large.
    public var reducedChunkBytes: Int64?
    /// Whether parallel parts were requested; the file is sent as one.
    public var isInOnePart = false
}

/// Events of one upload.
public enum UploadEvent: Sendable {
    /// Bytes and phase.
    case progress(TransferProgress)
    /// A wait before a retry.
    case retrying(attempt: Int, after: Duration, because: GigHiveError)
    /// The response was lost; the server is being queried for the file.
    case resolving(for: Duration)
    /// A stop was requested after the last byte; waiting for the token.
    case waitingForToken
    /// An earlier upload is resumed at this byte.
    case resuming(from: Int64)
    /// The part sent earlier is compared with the file.
    case verifying(bytes: Int64, byteCount: Int64)
    /// The server no longer has the data sent, or the file has changed: the upload is restarted.
    case restarting(because: GigHiveError)
    /// The server may keep the data sent before a restart, and count it among five unfinished uploads for 24 hours
    /// (gighive-d4 contract 4.5).
    case leavingUnfinished
    /// The limitations of the server, before anything is sent over tus.
    case limited(TusLimits)
    /// The file is uploaded with another transport instead.
    case switching(to: UploadTransport, because: GigHiveError)
    /// Every byte is on the server; waiting for the response to the finalize request.
    case finalizing
    /// The server may still be working on an earlier finalize request, which is repeated after this time.
    case waitingForServer(Duration)
}

/// Facts from the store and the row.
extension UploadOutcomeRecorder {
    /// The entry for the token of a response; nil without a token or an ID.
    func entry(_ response: UploadResponse) -> TokenEntry? {
        guard let token = response.deleteToken, let fileID = response.fileID else { return nil }
        // The server normalizes text (trap T27): operators see and search for the normalized text.
        let stored = response.stored
        let pathExtension = result.fileName.nameParts.pathExtension.lowercased()
        return TokenEntry(
            host: record.host,
            fileID: fileID,
            token: token,
            createdAt: now(),
            eventDate: stored?.eventDate ?? record.fields["event_date"] ?? "",
            orgName: stored?.orgName ?? record.fields["org_name"] ?? "",
            eventType: stored?.eventType ?? record.fields["event_type"] ?? "",
            label: stored?.label ?? record.fields["label"],
            fileName: result.fileName,
            fileType: response.fileType ?? AcceptedMedia.kind(ofExtension: pathExtension) ?? "",
            checksumSHA256: response.checksumSHA256 ?? record.checksumSHA256 ?? "",
            sizeBytes: record.sizeBytes > 0 ? record.sizeBytes : response.sizeBytes ?? 0,
            baseURL: record.baseURL
        )
    }

    /// The stored file that a response describes; nil if it has no event.
    func storedFile(_ response: UploadResponse) -> StoredFile? {
        guard let fileID = response.fileID, let facts = response.stored, facts.eventDate != nil || facts.orgName != nil
        else {
            return nil
        }
        let checksum = response.checksumSHA256 ?? record.checksumSHA256 ?? ""
        return StoredFile(host: record.host, fileID: fileID, checksumSHA256: checksum, facts: facts)
    }

    /// Tokens on this machine for a stored file. The ID is compared too if it is known, because a rebuilt server gives
    /// the same bytes a new ID and discards old tokens (gighive contract section 0).
    func knownTokens(fileID: Int64?, checksum: String?) -> [TokenEntry] {
        guard let checksum, let rows = try? store.tokens(host: record.host, checksumSHA256: checksum) else { return [] }
        return rows.filter { !$0.isSuperseded && (fileID == nil || $0.fileID == fileID) }
    }

    /// The address of the media: `/audio/` or `/video/`, then digest and extension (trap T16). The local name replaces
    /// values that the server does not report.
    func mediaURL(_ served: ServedName?) -> String? {
        let localExtension = result.fileName.nameParts.pathExtension.lowercased()
        let pathExtension = served?.pathExtension ?? localExtension
        guard result.fileID != nil, let checksum = record.checksumSHA256,
            let kind = served?.kind ?? AcceptedMedia.kind(ofExtension: localExtension),
            ["audio", "video"].contains(kind)
        else { return nil }
        let suffix = pathExtension.isEmpty ? "" : "." + PercentEncoding.encode(pathExtension)
        return "\(record.baseURL)/\(kind)/\(checksum)\(suffix)"
    }
}
