public import MediaStore

/// The end of one local file.
public struct PushItem: Sendable {
    /// What became of it.
    public enum State: String, Sendable, CaseIterable {
        /// Sent, and seen in the user's own listing.
        case uploaded
        /// Sent with success; the listing did not show it (yet).
        case unconfirmed
        /// It was there already, and is the user's own.
        case present
        /// The server has the bytes, but not for this user: another user's or nobody's (trap 11).
        case foreign
        /// A dry run: it would be sent.
        case planned
        /// Not a photo that the server takes; never tried.
        case skipped
        /// Failed.
        case failed
        /// Not begun, or broken off, when the run was stopped.
        case cancelled
    }

    /// The file.
    public var path: [UInt8]
    /// What became of it.
    public var state: State
    /// Its length in bytes; nil when unknown.
    public var sizeBytes: Int64?
    /// Its SHA-256; nil when it was not read.
    public var sha256: String?
    /// The server's id of the photo.
    public var photoID: String?
    /// What was, or would be, sent as `dateTaken`.
    public var takenAt: PhotoTime?
    /// Body bytes that were sent.
    public var bytesSent: Int64
    /// Tries.
    public var attempts: Int
    /// Why it failed or was skipped.
    public var error: PhotoSyncError?

    /// Makes an item.
    package init(
        path: [UInt8],
        state: State,
        sizeBytes: Int64? = nil,
        sha256: String? = nil,
        photoID: String? = nil,
        takenAt: PhotoTime? = nil,
        bytesSent: Int64 = 0,
        attempts: Int = 0,
        error: PhotoSyncError? = nil
    ) {
        self.path = path
        self.state = state
        self.sizeBytes = sizeBytes
        self.sha256 = sha256
        self.photoID = photoID
        self.takenAt = takenAt
        self.bytesSent = bytesSent
        self.attempts = attempts
        self.error = error
    }
}
