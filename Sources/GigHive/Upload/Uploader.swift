internal import Foundation
internal import MediaCrypto
internal import MediaFiles
public import MediaStore
internal import MediaSystem
public import MediaTransport
public import Tus

/// Uploads files to one server, one call per file, with intent, rescue log, hash, token and journal
/// (docs/architecture.md).
public struct Uploader: Sendable {
    public var client: GigHiveClient { boxedClient }
    @Boxed private var boxedClient: GigHiveClient
    var now: @Sendable () -> Date { client.now }
    let store: TokenStore
    let directory: DataDirectory
    @Boxed private(set) var options: UploadOptions
    var schedule = OutcomeInquiry.Schedule()
    /// Retries of the finalize request while the tus server has not notified the application that an upload is
    /// complete.
    @Boxed var finalizeRetry = RetryPolicy.finalize
    /// Retries of the finalize request while the server still reports a complete upload as pending; an upload that is
    /// still pending after these retries never completes.
    @Boxed var pendingRetry = RetryPolicy.pendingFinalize
    let featureCache = TusFeatureCache()
    let hashes: HashCache?
    let inventory: ServerInventory
    /// A large file that is sent for longer than this is watched by a `LookAhead`.
    var lookAheadDelay = Duration.seconds(1)
    /// The log in which responses are stored before they are parsed. A batch uses one log until its end.
    var rescueLog: RescueLog
    /// Set while a batch runs: the slot of this upload.
    var permit: TransferPermit?
    /// Set while a batch of parallel uploads runs: tokens are committed in groups.
    var groupsCommits = false
    /// Set while a batch runs: limits how many of its uploads query the server for earlier uploads.
    var lookups: TransferSlots?
    /// An intent that was written ahead is written again if the upload begins more than this much later.
    var intentLifetime = Duration.seconds(1)
    /// Set while a batch runs: called with a failure that ends the run, before another upload may begin.
    var onRunFailure: (@Sendable (GigHiveError) -> Void)?
    /// Set while a batch runs: the failure of another upload that has stopped the run.
    var runFailure: (@Sendable () -> GigHiveError?)?
    /// Set while a batch runs: whether the server is known to work.
    var contact: ContactPass?
    let directLimit = DirectLimit()
    /// The slots of this process on a server that limits unfinished uploads.
    let tusSlots = TusSlots()
    /// Retries of uploads that the server lost in a race.
    @Boxed var raceRetry = RetryPolicy.serverRace
    var events = EventGate()
    /// Set while a batch runs: the result of its query for the file's digest.
    var queriedDigest: String??

    /// Creates an uploader. With an event link in the options, no login is ever sent; the link's token replaces it.
    /// With a hash cache, a file with a cached digest is not read to check whether the server has it, and computed
    /// digests are stored.
    public init(
        client: GigHiveClient,
        store: TokenStore,
        directory: DataDirectory,
        options: UploadOptions = UploadOptions(),
        hashes: HashCache? = nil
    ) {
        let client = options.guest.map { client.authorized($0.authorization) } ?? client
        boxedClient = client
        self.store = store
        self.directory = directory
        self.options = options
        self.hashes = hashes
        rescueLog = RescueLog(in: directory)
        inventory = ServerInventory(client)
    }

    /// Opens the token store in a directory and creates an uploader with it.
    ///
    /// - Throws: `StoreError`. A corrupt, empty or newer store is refused and not changed.
    public init(
        client: GigHiveClient,
        directory: DataDirectory,
        options: UploadOptions = UploadOptions(),
        hashes: HashCache? = nil
    ) throws(StoreError) {
        let store = try TokenStore(in: directory)
        self.init(client: client, store: store, directory: directory, options: options, hashes: hashes)
    }

    /// Sends a prepared upload. Never throws: every outcome is a result with a state.
    ///
    /// An interrupted upload over tus of the same file to the same event is resumed.
    ///
    /// Canceling the task is equivalent to `control.stop()`: it takes effect while bytes are being sent; after that,
    /// the call waits for the token. A stopped tus upload becomes `cancelled` here, and stays resumable in the journal.
    public func upload(
        _ upload: PreparedUpload,
        control: TransferControl = TransferControl(),
        onEvent: @escaping @Sendable (UploadEvent) -> Void = { _ in }
    ) async -> UploadResult {
        await shielded(control) { await send(upload, control: control, onEvent: onEvent) }
    }

    /// Like `upload`, for a caller whose task is not canceled, such as a batch.
    func send(
        _ upload: PreparedUpload,
        control: TransferControl,
        onEvent: @escaping @Sendable (UploadEvent) -> Void
    ) async -> UploadResult {
        do throws(GigHiveError) {
            let upload = try asGuest(upload)
            if let features = try await tusFeatures(for: upload, control, onEvent) {
                return await sendOverTus(upload, features, control, onEvent)
            }
            var run = UploadRun(uploader: self, upload: upload, control: control, onEvent: onEvent)
            let result = await run.perform()
            guard let error = result.error, let features = await tusFeatures(for: upload, refused: error) else {
                return naming(transportOf: result)
            }
            onEvent(.restarting(because: error))
            return await sendOverTus(upload, features, control, onEvent)
        } catch {
            if error.endsRun { onRunFailure?(error) }
            // The upload was never planned.
            var result = UploadResult(of: upload, server: client.server.description)
            result.state = error.code == .cancelled ? .cancelled : .failed
            result.error = error
            return result
        }
    }

    /// Uploads over tus, or as multipart if the server does not accept further unfinished uploads.
    func sendOverTus(
        _ upload: PreparedUpload,
        _ features: TusFeatures,
        continuing record: UploadRecord? = nil,
        _ control: TransferControl,
        _ onEvent: @escaping @Sendable (UploadEvent) -> Void
    ) async -> UploadResult {
        // A stopped upload blocks one of five slots for a day, so it is not stopped when a copy is found on the server.
        let isStoppable = !features.countsChunks
        var run = TusUploadRun(
            uploader: self,
            upload: upload,
            features: features,
            continued: record,
            control: control,
            onEvent: onEvent,
            lookAhead: isStoppable ? LookAhead(self, upload, control: control) : nil,
            pass: EventPass(events, upload.details),
            recorder: UploadOutcomeRecorder(planning: upload, over: .tus, self)
        )
        let result = await run.perform()
        guard let error = result.error, error.isPendingLimit, options.guest == nil, fitsDirectly(upload) else {
            return result
        }
        onEvent(.switching(to: .multipart, because: error))
        var direct = UploadRun(uploader: self, upload: upload, control: control, onEvent: onEvent)
        return await direct.perform()
    }

    /// Queries the server about an upload left in `sending`, `sent` or `unknown_outcome` by an exited process, and
    /// resolves its row.
    ///
    /// If the journal has no digest, the file is hashed again, if it is still the same file. A row that a running
    /// process owns is not changed: the result is `.uploadInProgress`. A tus upload that was never finalized is not
    /// changed either, because it can be resumed. A finalize request that may be in flight is awaited, and repeated
    /// once the server can no longer be working on it. Canceling the task cancels the query; the row then stays
    /// `unknown_outcome`.
    public func resolve(_ record: UploadRecord) async -> UploadResult {
        await resolve(record, control: TransferControl(), onEvent: { _ in })
    }

    func resolve(
        _ record: UploadRecord,
        details: UploadDetails? = nil,
        control: TransferControl,
        onEvent: @escaping @Sendable (UploadEvent) -> Void
    ) async -> UploadResult {
        await shielded(control) {
            var resolution = UploadResolution(
                uploader: self,
                details: details,
                control: control,
                onEvent: onEvent,
                recorder: UploadOutcomeRecorder(store: store, record: record)
            )
            return await resolution.perform()
        }
    }

    /// Runs work in its own task that is awaited here, so canceling the caller cannot interrupt the bookkeeping after
    /// the last byte; it becomes a graceful stop instead.
    func shielded(
        _ control: TransferControl,
        _ work: @escaping @Sendable () async -> UploadResult
    ) async -> UploadResult {
        // A batch is protected from cancellation as a whole.
        guard permit == nil else { return await work() }
        return await withTaskCancellationHandler {
            await Task { await work() }.value
        } onCancel: {
            control.stop()
        }
    }

    /// Whether files are sent with an event link instead of a login.
    public var isGuest: Bool { options.guest != nil }

    /// Waits for a slot among the running transfers. Returns false if the upload must not be started (again).
    func mayBegin(_ control: TransferControl) async -> Bool {
        guard !control.isStopRequested, await permit?.begin() ?? true else { return false }
        return !control.isStopRequested
    }

    /// The response with the file's ID, which is taken from the server if the response has none.
    func identified(
        _ response: UploadResponse,
        _ recorder: UploadOutcomeRecorder,
        of details: UploadDetails,
        sent checksum: String?,
        _ control: TransferControl
    ) async -> UploadResponse {
        var response = response
        if response.fileID == nil, let checksum = response.checksumSHA256 ?? checksum,
            case .present(let copy) = await inquiry(recorder, of: details, checksum: checksum)
                .run(for: nil, control: control)
        {
            response.fileID = copy.fileID
        }
        return response
    }

    func duplicateCheck(_ details: UploadDetails, _ control: TransferControl) -> DuplicateCheck {
        DuplicateCheck(uploader: self, event: InventoryEvent(details), control: control)
    }

    /// Creates an inquiry for a row in the journal, whose checksum is known by now.
    func inquiry(_ recorder: UploadOutcomeRecorder, of details: UploadDetails, checksum: String) -> OutcomeInquiry {
        inquiry(
            checksum: checksum,
            fileName: recorder.result.fileName,
            sizeBytes: recorder.record.sizeBytes,
            event: InventoryEvent(details)
        )
    }

    func inquiry(checksum: String, fileName: String, sizeBytes: Int64, event: InventoryEvent) -> OutcomeInquiry {
        OutcomeInquiry(
            client: client,
            schedule: schedule,
            checksum: checksum,
            sizeBytes: sizeBytes,
            pathExtension: fileName.nameParts.pathExtension.lowercased(),
            event: event
        )
    }
}

extension Uploader {
    /// The digest of an upload's file, if it is known without reading it.
    func knownDigest(_ upload: PreparedUpload) -> String? {
        queriedDigest ?? upload.identity.flatMap { hashes?.digest(of: $0) }
    }

    /// The known digests of the items of a batch, in their order.
    func knownDigests(_ items: [UploadBatch.Item]) -> [String?] {
        let identities = items.map { item -> FileIdentity? in
            if case .ready(let upload) = item { upload.identity } else { nil }
        }
        var known = (hashes?.digests(of: identities.compactMap(\.self)) ?? []).makeIterator()
        return identities.map { identity in identity == nil ? nil : known.next() ?? nil }
    }

    /// Whether the source still has the bytes that were sent, by their digest. A file whose status has changed since it
    /// was checked is read again: its name, links, permissions and times may change at any time. Caches the digest.
    ///
    /// The first byte was read after `readingBegan`. Without `mayReadAgain`, a file whose status has changed counts as
    /// changed: if nothing depends on it, reading a large file would only waste time. Returns false after a stop of
    /// `control`, if the file was not read completely.
    func isUnchanged(
        _ upload: PreparedUpload,
        _ file: FileContent,
        sent checksum: String,
        since readingBegan: Date,
        mayReadAgain: Bool = true,
        until control: TransferControl? = nil
    ) async -> Bool {
        guard let identity = upload.identity else { return true }
        if FileIdentity(ofRegularFile: upload.path) == identity {
            hashes?.keep(checksum, for: identity, readingBegan: readingBegan)
            return true
        }
        guard mayReadAgain else { return false }
        // A different file may have replaced this one. A file that was renamed or removed still has its bytes.
        let current = try? SourceFile(path: upload.path)
        guard current != nil || FileIdentity.isMissing(upload.path) else { return false }
        defer { withExtendedLifetime(current) {} }
        let descriptor = current?.descriptor ?? file.descriptor
        let secondReadingBegan = now()
        guard let status = FileIdentity(descriptor: descriptor), status.size == upload.sizeBytes,
            let digest = try? await FileDigest.of(descriptor, byteCount: status.size, until: control),
            digest.hex == checksum
        else { return false }
        if FileIdentity(descriptor: descriptor) == status {
            hashes?.keep(checksum, for: status, readingBegan: secondReadingBegan)
        }
        return true
    }

    /// Reads the whole file for its digest, on its own thread, and caches it. Returns nil if the file is gone or
    /// changed.
    func readDigest(of upload: PreparedUpload) async -> String? {
        let readingBegan = now()
        guard let identity = upload.identity,
            let checksum = await FileDigest.hex(path: upload.path, identity: identity)
        else { return nil }
        hashes?.keep(checksum, for: identity, readingBegan: readingBegan)
        return checksum
    }

    /// The rest of `processingTime`. A start in the future, because the clock was set back, counts as now.
    func processingTime(forBytes byteCount: Int64, since start: Date) -> Duration {
        max(.zero, processingTime(forBytes: byteCount) - .seconds(max(0, now().timeIntervalSince(start))))
    }

    func record(of upload: PreparedUpload) -> UploadRecord {
        let now = now()
        return UploadRecord(
            uploadID: TokenStore.newUploadID(),
            path: upload.journalPath,
            state: .sending,
            host: client.server.scope,
            baseURL: client.server.description,
            fields: upload.details.fields,
            identity: upload.identity,
            sizeBytes: upload.sizeBytes,
            createdAt: now,
            updatedAt: now
        )
    }
}

/// Options of one run of uploads.
public struct UploadOptions: Sendable {
    /// Largest file in bytes (default: 6 GiB).
    public var maximumBytes: Int64
    /// Send files with unknown extensions.
    public var anyExtension: Bool
    /// Upload files even if they are already in the event.
    public var again: Bool
    /// Retries, if sending again is safe.
    public var retry: RetryPolicy
    public var timeouts: TransferTimeouts
    /// Maximum time that a server may continue after a lost response, from the last body byte: its own limit of 300 s
    /// (gighive contract 2.6) plus a margin.
    public var processingTime: Duration
    public var transport: TransportChoice
    /// Size and adaptation of tus chunks.
    public var chunks: TusSendOptions
    /// Parallel parts of one file over tus; more than 1 requires the server's concatenation extension, and the file is
    /// then read again for its hash.
    public var parallelParts: Int
    /// An event link instead of a login; uploads then go over tus only.
    public var guest: GuestAccess?
    /// A file of at least this size in bytes that is sent slowly is hashed ahead of its transfer, so a copy on the
    /// server is found before all of it is sent.
    public var lookAheadBytes: Int64 = 8 << 20

    /// The choice of transport.
    public enum TransportChoice: String, Sendable, CaseIterable {
        /// tus for files of 64 MiB or more if the server supports it, otherwise multipart.
        case auto
        /// One request for any size.
        case multipart
        /// Resumable; an error if the server does not support it.
        case tus
    }

    /// Creates a set of options; the defaults are those used by the command line.
    public init(
        maximumBytes: Int64 = 6_442_450_944,
        anyExtension: Bool = false,
        again: Bool = false,
        retry: RetryPolicy = RetryPolicy(),
        timeouts: TransferTimeouts = TransferTimeouts(),
        processingTime: Duration = .seconds(330),
        transport: TransportChoice = .auto,
        chunks: TusSendOptions = TusSendOptions(),
        parallelParts: Int = 1,
        guest: GuestAccess? = nil
    ) {
        self.maximumBytes = maximumBytes
        self.anyExtension = anyExtension
        self.again = again
        self.retry = retry
        self.timeouts = timeouts
        self.processingTime = processingTime
        self.transport = transport
        self.chunks = chunks
        self.parallelParts = parallelParts
        self.guest = guest
    }
}
