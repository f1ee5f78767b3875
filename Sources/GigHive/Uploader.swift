public import MediaFiles
public import MediaStore
public import MediaTransport

/// Rules of one run of uploads.
public struct UploadOptions: Sendable {
    /// Largest file (6 GiB unless the site says otherwise).
    public var maximumBytes: Int64
    /// Send unknown extensions and files already uploaded from here.
    public var force: Bool
    /// Tries after the first, where sending again is safe.
    public var retry: RetryPolicy
    /// Silence limits.
    public var timeouts: TransferTimeouts

    /// Makes a set of rules; the defaults are those of the command line.
    public init(
        maximumBytes: Int64 = 6_442_450_944, force: Bool = false, retry: RetryPolicy = RetryPolicy(),
        timeouts: TransferTimeouts = TransferTimeouts()
    ) {
        self.maximumBytes = maximumBytes
        self.force = force
        self.retry = retry
        self.timeouts = timeouts
    }
}

/// What is uploaded.
public enum UploadSource: Sendable {
    /// A file.
    case file(path: [UInt8])
    /// Standard input, spooled already, under a name.
    case spooled(SpoolFile, name: String)
}

/// A source that has passed every check that can be made without the server.
public struct PreparedUpload: Sendable {
    /// The source as given.
    public let path: [UInt8]
    /// The name told to the server.
    public let fileName: String
    /// Length in bytes.
    public let sizeBytes: Int64
    /// The part's content type.
    public let contentType: String
    /// What is told about it.
    public let details: UploadDetails
    /// Noticed on the way.
    public let warnings: [UploadWarning]
    let source: UploadSource
}

/// Uploads files to one server, one call a file, with intent, rescue file, hash, token and journal (design section 4).
public struct Uploader: Sendable {
    /// The server.
    public let client: GigHiveClient
    let store: TokenStore
    let directory: DataDirectory
    let options: UploadOptions

    /// Makes an uploader.
    public init(client: GigHiveClient, store: TokenStore, directory: DataDirectory, options: UploadOptions) {
        self.client = client
        self.store = store
        self.directory = directory
        self.options = options
    }

    /// Checks everything the server would only refuse after the whole body. Sends nothing, writes nothing.
    ///
    /// - Throws: `GigHiveError`.
    public func prepare(_ source: UploadSource, details: UploadDetails) throws(GigHiveError) -> PreparedUpload {
        throw GigHiveError(.internalError)
    }

    /// Sends a prepared upload. Never throws: every end is a result with a state.
    ///
    /// Cancelling the task is `control.stop()`: it takes effect while bytes are being sent; afterwards the token is
    /// awaited.
    public func upload(
        _ upload: PreparedUpload, control: TransferControl = TransferControl(),
        onEvent: @escaping @Sendable (UploadEvent) -> Void = { _ in }
    ) async -> UploadResult {
        UploadResult(path: upload.path, fileName: upload.fileName, server: "")
    }

    /// Asks the server about an upload that a dead process left in `sending`, `sent` or `unknown_outcome`, and settles
    /// its row.
    public func resolve(_ record: UploadRecord) async -> UploadResult {
        UploadResult(path: record.path, fileName: "", server: "")
    }
}

/// Adopts the replies that dead processes left in rescue files. Needs no server; every command calls it at its start.
public enum RescueAdoption {
    /// Stores the tokens found and releases the files.
    ///
    /// - Returns: What was found, for a note to the user.
    /// - Throws: `GigHiveError` with code `.storeUnusable`; the rescue files stay.
    public static func run(store: TokenStore, directory: DataDirectory) async throws(GigHiveError) -> [UploadWarning] {
        []
    }
}
