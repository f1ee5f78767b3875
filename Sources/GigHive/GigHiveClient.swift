public import MediaTransport

/// One GigHive server: requests and answers, all dialects (gighive contract section 0), no state.
public struct GigHiveClient: Sendable {
    /// The server's address.
    public let server: ServerURL
    /// Proof of identity, if any.
    public let authorization: Authorization?
    let http: HTTPClient
    let timeouts: TransferTimeouts

    /// Makes a client.
    public init(
        server: ServerURL, http: HTTPClient, authorization: Authorization?,
        timeouts: TransferTimeouts = TransferTimeouts()
    ) {
        self.server = server
        self.http = http
        self.authorization = authorization
        self.timeouts = timeouts
    }

    /// Asks whether an asset exists (`GET /api/uploads/<id>`).
    ///
    /// - Returns: nil on the JSON `{"error":"Not Found"}` only; an HTML 404 is an error (wrong address or a proxy).
    /// - Throws: `GigHiveError`.
    public func asset(_ fileID: Int64) async throws(GigHiveError) -> Asset? { nil }
}

/// A stored file as the server describes it. Keys that a dialect lacks are nil.
public struct Asset: Sendable, Equatable {
    /// The server's id.
    public var fileID: Int64
    /// Served name, `<sha256>.<ext>`.
    public var fileName: String?
    /// `audio` or `video`.
    public var fileType: String?
    /// Length in bytes.
    public var sizeBytes: Int64?
    /// 64 lower-case hexadecimal characters.
    public var checksumSHA256: String?

    /// Makes an asset.
    public init(
        fileID: Int64, fileName: String? = nil, fileType: String? = nil, sizeBytes: Int64? = nil,
        checksumSHA256: String? = nil
    ) {
        self.fileID = fileID
        self.fileName = fileName
        self.fileType = fileType
        self.sizeBytes = sizeBytes
        self.checksumSHA256 = checksumSHA256
    }
}
