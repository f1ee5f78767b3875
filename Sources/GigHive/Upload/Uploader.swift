public import MediaStore
public import MediaTransport

/// Uploads files to one server, one call a file, with intent, rescue file, hash, token and journal (design section 4).
public struct Uploader: Sendable {
    /// The server.
    public let client: GigHiveClient
    let store: TokenStore
    let directory: DataDirectory
    let options: UploadOptions
    let schedule: OutcomeInquiry.Schedule
    let hashes: HashCache?
    let inventory: ServerInventory
    /// After this time of sending, a large file is looked ahead of.
    var lookAheadDelay = Duration.seconds(1)
    /// Set while a batch runs.
    var rescues: RescuePool?
    /// Set while a batch runs: when this upload may send.
    var turn: TransferTurn?

    /// Makes an uploader. With a hash cache, files whose digest is known are not read to find out that the server has
    /// them, and what is read goes there.
    public init(
        client: GigHiveClient,
        store: TokenStore,
        directory: DataDirectory,
        options: UploadOptions,
        hashes: HashCache? = nil
    ) {
        self.init(
            client: client,
            store: store,
            directory: directory,
            options: options,
            schedule: OutcomeInquiry.Schedule(),
            hashes: hashes
        )
    }

    /// With another rhythm of asking, for tests.
    init(
        client: GigHiveClient,
        store: TokenStore,
        directory: DataDirectory,
        options: UploadOptions,
        schedule: OutcomeInquiry.Schedule,
        hashes: HashCache? = nil
    ) {
        self.client = client
        self.store = store
        self.directory = directory
        self.options = options
        self.schedule = schedule
        self.hashes = hashes
        inventory = ServerInventory(client)
    }

    /// Sends a prepared upload. Never throws: every end is a result with a state.
    ///
    /// Cancelling the task is `control.stop()`: it takes effect while bytes are being sent; afterwards the token is
    /// awaited.
    public func upload(
        _ upload: PreparedUpload,
        control: TransferControl = TransferControl(),
        onEvent: @escaping @Sendable (UploadEvent) -> Void = { _ in }
    ) async -> UploadResult {
        await shielded(control) {
            var run = UploadRun(uploader: self, upload: upload, control: control, onEvent: onEvent)
            return await run.perform()
        }
    }

    /// Asks the server about an upload that a dead process left in `sending`, `sent` or `unknown_outcome`, and settles
    /// its row.
    ///
    /// A row whose digest is not in the journal is settled by hashing the file again, if it is still the same file. A
    /// row that a living process owns ends in `.uploadInProgress` and stays as it is. Cancelling the task ends the
    /// asking; the row then stays `unknown_outcome`.
    public func resolve(_ record: UploadRecord) async -> UploadResult {
        await resolve(record, control: TransferControl(), onEvent: { _ in })
    }

    func resolve(
        _ record: UploadRecord,
        control: TransferControl,
        onEvent: @escaping @Sendable (UploadEvent) -> Void
    ) async -> UploadResult {
        await shielded(control) {
            var resolution = UploadResolution(uploader: self, record: record, control: control, onEvent: onEvent)
            return await resolution.perform()
        }
    }

    /// Runs work in a task of its own that is awaited here, so that cancelling the caller cannot tear the bookkeeping
    /// after the last byte; it becomes a gentle stop instead.
    private func shielded(
        _ control: TransferControl,
        _ work: @escaping @Sendable () async -> UploadResult
    ) async -> UploadResult {
        await withTaskCancellationHandler {
            await Task { await work() }.value
        } onCancel: {
            control.stop()
        }
    }

    func inquiry(checksum: String, fileName: String) -> OutcomeInquiry {
        OutcomeInquiry(
            client: client,
            schedule: schedule,
            checksum: checksum,
            pathExtension: FileName.pathExtension(of: fileName)
        )
    }
}
