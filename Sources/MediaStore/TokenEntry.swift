public import Foundation

/// A file on a server, and the token that takes it back.
public struct TokenEntry: Sendable, Equatable {
    /// The row's own number; nil before it is stored.
    public var rowID: Int64?
    /// The scope: host in lower case, with the port when it is not the scheme's default.
    public var host: String
    /// The server's `id`.
    public var fileID: Int64
    /// The token.
    public var token: DeleteToken
    /// When the answer arrived.
    public var createdAt: Date
    /// `YYYY-MM-DD`.
    public var eventDate: String
    /// The event's organisation.
    public var orgName: String
    /// `band`, `wedding`, …
    public var eventType: String
    /// The title; nil when the server gave none.
    public var label: String?
    /// The local file's name, or the server's if that is unknown.
    public var fileName: String
    /// `audio` or `video`.
    public var fileType: String
    /// 64 lower-case hexadecimal characters; empty when the answer had none.
    public var checksumSHA256: String
    /// Length in bytes; 0 if it is unknown, because no file is empty.
    public var sizeBytes: Int64
    /// The server's address.
    public var baseURL: String
    /// Whether a newer row for the same host, id and checksum replaces this one.
    public var isSuperseded: Bool

    /// Makes an entry.
    public init(
        rowID: Int64? = nil,
        host: String,
        fileID: Int64,
        token: DeleteToken,
        createdAt: Date,
        eventDate: String,
        orgName: String,
        eventType: String,
        label: String?,
        fileName: String,
        fileType: String,
        checksumSHA256: String,
        sizeBytes: Int64,
        baseURL: String,
        isSuperseded: Bool = false
    ) {
        self.rowID = rowID
        self.host = host
        self.fileID = fileID
        self.token = token
        self.createdAt = createdAt
        self.eventDate = eventDate
        self.orgName = orgName
        self.eventType = eventType
        self.label = label
        self.fileName = fileName
        self.fileType = fileType
        self.checksumSHA256 = checksumSHA256
        self.sizeBytes = sizeBytes
        self.baseURL = baseURL
        self.isSuperseded = isSuperseded
    }
}
