public import MediaStore
public import MediaTransport

extension PhotoSyncClient {
    /// `POST /api/photos/upload` (contract section 3), streamed from the file, once: nothing is repeated here. Sending the
    /// same bytes again is safe, since the server knows them by their hash.
    ///
    /// - Parameters:
    ///   - photo: What to send.
    ///   - control: Breaks the upload off.
    ///   - progress: Bytes of the whole body, envelope included.
    /// - Returns: What the server says of it.
    /// - Throws: `PhotoSyncError`; `.bodyTooSlow` when the server's 30 seconds were over (contract 3.4), `.invalidDevice`
    ///   when it knows no such device, `.sourceChanged` when the file became shorter, `.invalidDate` for a time outside
    ///   the years 0000 to 9999.
    public func upload(
        _ photo: PhotoUpload,
        control: TransferControl = TransferControl(),
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(PhotoSyncError) -> PhotoReceipt { throw PhotoSyncError(.internalError) }

    /// `GET /api/photos/{id}/download` (contract section 6), once: going on after a failure is the caller's.
    ///
    /// Only the bytes of a 200 or a 206 reach the receiver, whose `begin` comes first with the answer's head
    /// (`DownloadHead` reads it); it may refuse by throwing a `PhotoSyncError`, which is then thrown here.
    ///
    /// - Parameters:
    ///   - id: The photo.
    ///   - offset: Bytes that are there already; 0 asks for the whole file.
    ///   - ifRange: `Last-Modified` of the answer that those bytes came from. When the file is another one now, the
    ///     answer is a 200 with all of it.
    ///   - receiver: Takes the bytes, on the transfer loop's thread.
    ///   - control: Breaks the download off.
    ///   - progress: Bytes of this answer.
    /// - Returns: The answer: 200, 206, or 416 with an untouched receiver when nothing lies beyond the offset.
    /// - Throws: `PhotoSyncError`; `.lengthMismatch` for an answer cut short.
    public func download(
        id: String,
        from offset: Int64 = 0,
        ifRange: String? = nil,
        receiver: any ResponseReceiver,
        control: TransferControl = TransferControl(),
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(PhotoSyncError) -> DownloadAnswer { throw PhotoSyncError(.internalError) }
}

/// A photo to send.
public struct PhotoUpload: Sendable {
    /// The file, open.
    public var content: FileContent
    /// Its true name, without directories. The server judges the type by its extension.
    public var fileName: String
    /// When it was taken; nil lets the server look into the file, or take the present. Sent in UTC, since the server
    /// ignores offsets (trap 4).
    public var takenAt: PhotoTime?
    /// The device that it comes from; nil makes a legacy photo.
    public var deviceID: String?
    /// Sees the bytes of the file as they are sent.
    public var tap: (any ByteTap)?

    /// Makes a photo to send.
    public init(
        content: FileContent,
        fileName: String,
        takenAt: PhotoTime? = nil,
        deviceID: String? = nil,
        tap: (any ByteTap)? = nil
    ) {
        self.content = content
        self.fileName = fileName
        self.takenAt = takenAt
        self.deviceID = deviceID
        self.tap = tap
    }
}

/// How a download was answered.
public struct DownloadAnswer: Sendable {
    /// What the answer says of the file.
    public var head: DownloadHead
    /// What the transfer did.
    public var metrics: TransferMetrics

    /// Makes an answer.
    public init(head: DownloadHead, metrics: TransferMetrics) {
        self.head = head
        self.metrics = metrics
    }
}

/// What the head of a download says of the stored file (contract section 6).
public struct DownloadHead: Sendable, Equatable {
    /// 200, 206 or 416.
    public var status: Int
    /// Where the bytes of this answer begin in the file: 0 for a 200.
    public var firstByte: Int64
    /// Bytes that this answer announces; nil when it does not say.
    public var byteCount: Int64?
    /// Length of the whole stored file, which is often not the length that was uploaded (trap 12); nil when unknown.
    public var totalBytes: Int64?
    /// `Last-Modified`, for `If-Range`.
    public var lastModified: String?
    /// SHA-256 of the bytes as uploaded, 64 lower-case hexadecimal characters: not necessarily of these bytes.
    public var sha256: String?

    /// Reads a head.
    ///
    /// - Returns: nil for a 206 without a `Content-Range` that can be understood.
    public init?(_ head: HTTPResponseHead) { return nil }

    /// Makes a head.
    public init(
        status: Int,
        firstByte: Int64 = 0,
        byteCount: Int64? = nil,
        totalBytes: Int64? = nil,
        lastModified: String? = nil,
        sha256: String? = nil
    ) {
        self.status = status
        self.firstByte = firstByte
        self.byteCount = byteCount
        self.totalBytes = totalBytes
        self.lastModified = lastModified
        self.sha256 = sha256
    }
}
