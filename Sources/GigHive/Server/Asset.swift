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
    /// D1 and D2: the session (event) that the file was first stored for.
    public var sessionID: Int64?
    /// D1 and D2: its number in that session.
    public var sequence: Int64?
    /// As declared or sniffed when it was uploaded, for example `video/mp4`.
    public var mimeType: String?
    /// Length in seconds; nil when the server could not measure it, or does not report it.
    public var durationSeconds: Int64?
    /// The readable name that the server made of event and label (`source_relpath`). It is not the name that the file
    /// had where it was uploaded.
    public var sourceName: String?
    /// When it was stored, `YYYY-MM-DD HH:MM:SS` in the server's time zone.
    public var createdAt: String?

    /// Makes an asset.
    package init(
        fileID: Int64,
        fileName: String? = nil,
        fileType: String? = nil,
        sizeBytes: Int64? = nil,
        checksumSHA256: String? = nil,
        sessionID: Int64? = nil,
        sequence: Int64? = nil,
        mimeType: String? = nil,
        durationSeconds: Int64? = nil,
        sourceName: String? = nil,
        createdAt: String? = nil
    ) {
        self.fileID = fileID
        self.fileName = fileName
        self.fileType = fileType
        self.sizeBytes = sizeBytes
        self.checksumSHA256 = checksumSHA256
        self.sessionID = sessionID
        self.sequence = sequence
        self.mimeType = mimeType
        self.durationSeconds = durationSeconds
        self.sourceName = sourceName
        self.createdAt = createdAt
    }
}
