/// Holds a server's reply on disk before anybody tries to understand it.
///
/// Owned by one running transfer: 16 KiB allocated in advance, locked, mode 0600, in the data directory. The bytes go
/// there first, then they are parsed and committed, and only then the file is released. Whoever starts next adopts the
/// files nobody holds.
public final class RescueFile: Sendable {
    /// Where it lies, for the last-resort message.
    public let path: String

    /// Creates and locks a rescue file for an upload and allocates its space.
    ///
    /// - Throws: `StoreError`; `.full` when the space is not there, before anything is sent.
    public init(for uploadID: String, in directory: DataDirectory) throws(StoreError) {
        path = ""
    }

    /// Appends reply bytes. A reply beyond the allocated space is kept as far as the disk allows.
    public func append(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {}

    /// Notes the status of the reply that follows, and forgets what an earlier try left.
    public func begin(status: Int) throws(StoreError) {}

    /// Waits until all bytes are on the disk (`fdatasync`).
    public func synchronize() throws(StoreError) {}

    /// Removes the file: its content is committed elsewhere, or there is none.
    public func release() {}

    /// Files of processes that are gone, each locked by the caller until released or let go.
    public static func abandoned(in directory: DataDirectory) throws(StoreError) -> [AbandonedReply] { [] }
}

/// What a dead process had received.
public struct AbandonedReply: Sendable {
    /// The upload it belongs to.
    public var uploadID: String
    /// The status of the reply; nil when none had arrived.
    public var status: Int?
    /// The bytes received.
    public var body: [UInt8]
    /// The file, locked; release it when the content is committed.
    public var file: RescueFile

    /// Makes a value.
    public init(uploadID: String, status: Int?, body: [UInt8], file: RescueFile) {
        self.uploadID = uploadID
        self.status = status
        self.body = body
        self.file = file
    }
}
