public import Foundation

/// What changes in a journal row.
public struct UploadChange: Sendable, Equatable {
    /// The new state.
    public var state: UploadState?
    /// SHA-256 of the bytes sent.
    public var checksumSHA256: String?
    /// The server's id.
    public var fileID: Int64?
    /// Tries so far.
    public var attempts: Int?
    /// Status of the last answer.
    public var httpStatus: Int?
    /// Stable code of the failure.
    public var failureCode: String?
    /// Forget the failure of an earlier run, its code and HTTP status, because the upload goes on.
    public var clearsFailure: Bool
    /// Other fields, as corrected by the user.
    public var fields: [UploadField]?
    /// How its bytes go.
    public var transport: UploadTransport?
    /// When it changed; nil for now.
    public var updatedAt: Date?

    /// Makes a change.
    public init(
        state: UploadState? = nil,
        checksumSHA256: String? = nil,
        fileID: Int64? = nil,
        attempts: Int? = nil,
        httpStatus: Int? = nil,
        failureCode: String? = nil,
        clearsFailure: Bool = false,
        fields: [UploadField]? = nil,
        transport: UploadTransport? = nil,
        updatedAt: Date? = nil
    ) {
        self.state = state
        self.checksumSHA256 = checksumSHA256
        self.fileID = fileID
        self.attempts = attempts
        self.httpStatus = httpStatus
        self.failureCode = failureCode
        self.clearsFailure = clearsFailure
        self.fields = fields
        self.transport = transport
        self.updatedAt = updatedAt
    }
}
