/// The end of one photo.
public struct DownloadItem: Sendable {
    /// What became of it.
    public enum State: String, Sendable, CaseIterable {
        /// Written; the bytes are those that were uploaded.
        case verified
        /// Written; the server has rewritten its file since it was uploaded (contract section 6, rule 3).
        case rewritten
        /// A copy was there already.
        case present
        /// A dry run: it would be fetched.
        case planned
        /// Failed; nothing stands under its name.
        case failed
        /// Not begun, or broken off, when the run was stopped.
        case cancelled
    }

    /// The photo, as the index has it; for an id that is unknown only `id` means something.
    public var id: String
    /// Its name as uploaded; nil for an unknown id.
    public var originalFilename: String?
    /// What became of it.
    public var state: State
    /// Where it is, or would be.
    public var path: [UInt8]?
    /// Bytes of the local file.
    public var sizeBytes: Int64?
    /// SHA-256 of the local bytes.
    public var sha256: String?
    /// SHA-256 of the uploaded bytes, as the server says.
    public var serverSHA256: String?
    /// Bytes that came over the network.
    public var bytesReceived: Int64
    /// Whether it went on where an earlier try had stopped.
    public var isResumed: Bool
    /// Tries.
    public var attempts: Int
    /// Why it failed.
    public var error: PhotoSyncError?

    /// Makes an item.
    package init(
        id: String,
        originalFilename: String? = nil,
        state: State,
        path: [UInt8]? = nil,
        sizeBytes: Int64? = nil,
        sha256: String? = nil,
        serverSHA256: String? = nil,
        bytesReceived: Int64 = 0,
        isResumed: Bool = false,
        attempts: Int = 0,
        error: PhotoSyncError? = nil
    ) {
        self.id = id
        self.originalFilename = originalFilename
        self.state = state
        self.path = path
        self.sizeBytes = sizeBytes
        self.sha256 = sha256
        self.serverSHA256 = serverSHA256
        self.bytesReceived = bytesReceived
        self.isResumed = isResumed
        self.attempts = attempts
        self.error = error
    }
}
