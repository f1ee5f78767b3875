public import MediaSystem

/// A file of this machine that is a photo of a server.
public struct PhotoCopy: Sendable, Equatable {
    /// How far it has got.
    public enum State: String, Sendable, CaseIterable {
        /// The name is taken for a download that has not ended.
        case planned
        /// Downloaded and checked under the temporary name; about to get its own.
        case written
        /// Under its name.
        case present
    }

    /// Where a copy came from.
    public enum Source: String, Sendable, CaseIterable {
        /// The server's file.
        case downloaded
        /// The file that was sent, or was found to be on the server.
        case pushed
    }

    /// Address of the server.
    public var server: String
    /// The server's id of the photo.
    public var photoID: String
    /// Absolute path, as bytes.
    public var path: [UInt8]
    /// Name of the temporary file beside `path`, for one that is not `present`.
    public var temporaryName: String?
    /// How far it has got.
    public var state: State
    /// Where it came from.
    public var source: Source
    /// SHA-256 of the local bytes, 64 lower-case hexadecimal characters; nil before they are all there. A server rewrites
    /// files, so this may differ from `serverSHA256` (photosync contract section 6).
    public var sha256: String?
    /// SHA-256 that the server tells for the photo.
    public var serverSHA256: String
    /// The local file when it was last known to have these bytes.
    public var identity: FileIdentity?
    /// What the server said of the file when its download began, for resuming: `Last-Modified`, and the whole length.
    public var lastModified: String?
    /// Length of the server's file in bytes, as the download was told.
    public var totalBytes: Int64?

    /// Makes a copy.
    public init(
        server: String,
        photoID: String,
        path: [UInt8],
        temporaryName: String? = nil,
        state: State,
        source: Source,
        sha256: String? = nil,
        serverSHA256: String,
        identity: FileIdentity? = nil,
        lastModified: String? = nil,
        totalBytes: Int64? = nil
    ) {
        self.server = server
        self.photoID = photoID
        self.path = path
        self.temporaryName = temporaryName
        self.state = state
        self.source = source
        self.sha256 = sha256
        self.serverSHA256 = serverSHA256
        self.identity = identity
        self.lastModified = lastModified
        self.totalBytes = totalBytes
    }
}
