public import Foundation
public import MediaSystem

/// Where an upload stands in the journal (design: states of an upload).
public enum UploadState: String, Sendable, CaseIterable {
    /// Known, nothing sent.
    case planned
    /// Bytes may be on their way. After a crash this is never simply "not sent".
    case sending
    /// Every byte is out; the answer is awaited.
    case sent
    /// The server has answered with success; the token is being stored.
    case finalized
    /// On the server, and everything it said is stored.
    case done
    /// The server had the bytes already, in this event.
    case duplicate
    /// The server had the bytes already and has added them to this event.
    case linked
    /// The server has the bytes in another event and refused them; this event does not have them.
    case refusedDuplicate = "refused_duplicate"
    /// Refused, or failed in a way that is known to leave nothing on the server.
    case failed
    /// Given up before the last byte was out.
    case cancelled
    /// The answer was lost after the body was sent.
    case unknownOutcome = "unknown_outcome"
    /// On the server, its token gone.
    case tokenLost = "token_lost"

    /// Whether nothing more happens to an upload in this state by itself.
    public var isFinal: Bool {
        switch self {
        case .planned, .sending, .sent, .finalized, .unknownOutcome: false
        case .done, .duplicate, .linked, .refusedDuplicate, .failed, .cancelled, .tokenLost: true
        }
    }

    /// Whether the server has confirmed that the event has the file.
    public var isStored: Bool {
        switch self {
        case .done, .duplicate, .linked, .tokenLost: true
        case .planned, .sending, .sent, .finalized, .refusedDuplicate, .failed, .cancelled, .unknownOutcome: false
        }
    }

    /// Whether an upload in this state can neither be resumed nor discarded: the server holds nothing more of it.
    public var isSettled: Bool { isStored || self == .refusedDuplicate }
}

/// How the bytes of an upload go to the server.
public enum UploadTransport: String, Sendable, CaseIterable {
    /// One `multipart/form-data` request (gighive contract section 2).
    case multipart
    /// tus, then a finalize request (gighive contract section 4).
    case tus
}

/// One row of the upload journal.
public struct UploadRecord: Sendable, Equatable {
    /// `u-` and 16 characters of lower-case base 32; never confused with a server's id.
    public var uploadID: String
    /// The source as the user named it; bytes, because a path need not be UTF-8.
    public var path: [UInt8]
    /// Where it stands.
    public var state: UploadState
    /// The token store's key.
    public var host: String
    /// The server's address.
    public var baseURL: String
    /// Event and label fields as sent, in order.
    public var fields: [UploadField]
    /// The file when the upload began; nil for a spooled standard input.
    public var identity: FileIdentity?
    /// Length in bytes.
    public var sizeBytes: Int64
    /// SHA-256 of the bytes sent, once known.
    public var checksumSHA256: String?
    /// The server's id, once known.
    public var fileID: Int64?
    /// How its bytes go.
    public var transport: UploadTransport
    /// Whether it is sent with an event link instead of a login (gighive contract section 6).
    public var isGuest: Bool
    /// Tries so far.
    public var attempts: Int
    /// Status of the last answer.
    public var httpStatus: Int?
    /// Stable code of the failure that ended it.
    public var failureCode: String?
    /// When it was planned.
    public var createdAt: Date
    /// When it last changed.
    public var updatedAt: Date

    /// Makes a record.
    public init(
        uploadID: String,
        path: [UInt8],
        state: UploadState,
        host: String,
        baseURL: String,
        fields: [UploadField],
        identity: FileIdentity?,
        sizeBytes: Int64,
        checksumSHA256: String? = nil,
        fileID: Int64? = nil,
        transport: UploadTransport = .multipart,
        isGuest: Bool = false,
        attempts: Int = 0,
        httpStatus: Int? = nil,
        failureCode: String? = nil,
        createdAt: Date,
        updatedAt: Date
    ) {
        self.uploadID = uploadID
        self.path = path
        self.state = state
        self.host = host
        self.baseURL = baseURL
        self.fields = fields
        self.identity = identity
        self.sizeBytes = sizeBytes
        self.checksumSHA256 = checksumSHA256
        self.fileID = fileID
        self.transport = transport
        self.isGuest = isGuest
        self.attempts = attempts
        self.httpStatus = httpStatus
        self.failureCode = failureCode
        self.createdAt = createdAt
        self.updatedAt = updatedAt
    }
}

/// A name and a value of an upload's form.
public struct UploadField: Sendable, Equatable, Codable {
    /// The form's field name.
    public var name: String
    /// Its value as sent.
    public var value: String

    /// Makes a field.
    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}
