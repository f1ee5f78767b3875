internal import Foundation
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport

/// One push. Used only by the task that runs it.
///
/// Files are processed in blocks: hashed, looked up in the index, checked on the server, uploaded, and confirmed, while
/// the next block is being hashed. A file is reported only after the last step, so success is never reported early.
final class PushRun {
    let account: SyncAccount
    let options: Push.Options
    let control: TransferControl
    let report: PushReport
    let own: OwnPhotos
    private let hashes: HashCache

    /// The result for other files with the same bytes. Kept for every file of a push, so it must be small.
    struct FileOutcome {
        var state: PushItem.State
        var photoID: String?
    }

    /// Result of the first file with each content; used for other files with the same bytes.
    var fileOutcomes: [String: FileOutcome] = [:]
    private var repeats: [PhotoToSend] = []
    /// The photos of the current block.
    private var block: [PhotoToSend] = []
    /// The paths of those that have a result or are tracked elsewhere.
    private var closed: Set<[UInt8]> = []
    var unconfirmed: [SentPhoto] = []
    /// Whether an upload in this run was in the user's own listing (photosync contract 3.5).
    var isOwnershipVerified = false
    /// Number of consecutive files that failed in an outage.
    var lostInARow = 0
    /// Whether this run has listed everything because photos in the index were no longer on the server.
    var hasListedAll = false
    /// The server's photos, in a dry run with an outdated index.
    var listing: LiveListing?

    init(
        account: SyncAccount,
        hashes: HashCache,
        options: Push.Options,
        control: TransferControl,
        report: PushReport
    ) {
        self.account = account
        self.hashes = hashes
        self.options = options
        self.control = control
        self.report = report
        own = OwnPhotos(account)
    }

    func run(_ paths: [[UInt8]]) async throws -> PushResult {
        guard account.deviceID != nil else { throw PhotoSyncError(.noDevice) }
        let plan = await PushPlan.make(paths, options: options)
        report.progress { $0.filesFound = plan.candidates.count + plan.ended.count }
        for item in try await withChanged(plan.ended) { report.end(item) }
        var reached = 0
        do {
            try stopIfRequested()
            let lock = try await lock()
            defer { lock?.release() }
            if !options.isDryRun { try await pullFirst() }
            try await hashing.forEachBlock(of: plan.candidates.map(\.path), control: control, onRead: noteRead) {
                block,
                outcomes in
                reached = block.upperBound
                try await take(Array(plan.candidates[block]), outcomes)
                try stopIfRequested()
            }
            try stopIfRequested()
            try await finish()
        } catch {
            abandonOpen(because: error)
            let cause = Self.cause(error)
            for candidate in plan.candidates[reached...] {
                report.end(PushItem(path: candidate.path, state: .cancelled, error: cause))
            }
            throw error
        }
        return report.result
    }

    /// Waits while another process pushes to this server: both would upload the same photos. Returns nil for a dry run.
    private func lock() async throws(PhotoSyncError) -> SyncLock? {
        guard !options.isDryRun else { return nil }
        let lock = try await account.lock(.push, timeout: options.lockTimeout, control: control) {
            [report] owner in
            report.progress { $0.waitsForProcess = owner }
        }
        report.progress { $0.waitsForProcess = nil }
        return lock
    }

    private var hashing: TreeHashing { TreeHashing(hashes: hashes, threads: options.hashers, now: account.now) }

    private var noteRead: @Sendable (Int) -> Void {
        { [report] count in report.progress { $0.bytesHashed += Int64(count) } }
    }

    func stopIfRequested() throws(PhotoSyncError) {
        if control.isStopRequested { throw PhotoSyncError(.cancelled) }
    }

    /// Updates the index. Waits while another process updates it.
    @discardableResult func pull(isFull: Bool = false) async throws(PhotoSyncError) -> PullResult {
        var backoff = Backoff(options.retry)
        return try await backoff.run(
            pausing: control.waitForStop(upTo:),
            canceled: PhotoSyncError(.cancelled),
            retryAfter: { $0.code == .busy ? .zero : nil }
        ) { () async throws(PhotoSyncError) in
            try await Pull(account, options: Pull.Options(isFull: isFull)).run(control: control)
        }
    }

    // MARK: Blocks

    /// Processes a block of files. If it throws, each file has a result or is in `repeats` or `unconfirmed`.
    private func take(_ candidates: [PushCandidate], _ outcomes: [TreeHashing.Outcome]) async throws {
        var fresh: [PhotoToSend] = []
        for (candidate, outcome) in zip(candidates, outcomes) {
            guard let photo = usable(candidate, outcome) else { continue }
            if fileOutcomes[photo.digest.sha256] == nil {
                // A placeholder until the file has a result.
                fileOutcomes[photo.digest.sha256] = FileOutcome(state: .cancelled)
                fresh.append(photo)
            } else {
                repeats.append(photo)
            }
        }
        SyncFailpoint.pushAfterHash.reach()
        try await process(fresh)
    }

    /// Checks photos with new bytes on the server, and uploads the missing ones.
    func process(_ photos: [PhotoToSend]) async throws {
        (block, closed) = (photos, [])
        do {
            try await processBlock()
        } catch {
            endCanceled(block.filter(isOpen), because: error)
            throw error
        }
    }

    func isOpen(_ photo: PhotoToSend) -> Bool { !closed.contains(photo.candidate.path) }

    private func processBlock() async throws {
        guard !block.isEmpty else { return }
        try stopIfRequested()
        let known = try await own.known(block.map(\.digest.sha256))
        // An incremental pull does not list deletions (contract section 5), so photos in the index may be gone.
        let existing = try await account.client.existing(
            Array(Set(block.map(\.digest.sha256)).union(known.values.map(\.sha256))),
            control: control
        )
        let present = try await stillListed(
            block.compactMap { photo -> (PhotoToSend, PhotoRecord)? in
                guard let record = known[photo.digest.sha256], existing.contains(record.sha256) else { return nil }
                return (photo, record)
            }
        )
        try await endPresent(present)
        let rest = block.filter(isOpen)
        let foreign = rest.filter { existing.contains($0.digest.sha256) }
        let missing = try await admit(rest.filter { !existing.contains($0.digest.sha256) }, known)
        report.progress { progress in
            progress.filesToSend += missing.count
            progress.bytesToSend += missing.reduce(0) { $0 + $1.digest.identity.size }
        }
        if options.isDryRun {
            for photo in missing { endPlanned(photo) }
            let listed = try await own.listed(foreign.map(\.digest.sha256), control: control)
            for photo in foreign {
                let record = listed[photo.digest.sha256]
                end(photo, record == nil ? .foreign : .present, photoID: record?.id)
            }
        } else {
            try await send(missing)
            try await confirm(foreign)
        }
    }

    /// nil for a file that failed or that the server does not accept; its result is then reported.
    private func usable(_ candidate: PushCandidate, _ outcome: TreeHashing.Outcome) -> PhotoToSend? {
        switch outcome {
        case .success(let digest):
            report.progress { $0.filesHashed += 1 }
            let size = digest.identity.size
            if let objection = candidate.objection(toBytes: size, maximum: options.maximumBytes) {
                report.end(candidate.refused(objection, sizeBytes: size))
                return nil
            }
            return PhotoToSend(candidate: candidate, digest: digest)
        case .failure(let error):
            let state: PushItem.State = error.code == .cancelled ? .cancelled : .failed
            report.end(PushItem(path: candidate.path, state: state, error: state == .failed ? error : nil))
            return nil
        }
    }

    // MARK: Results

    private func finish() async throws {
        while true {
            try await confirm([])
            for sent in unconfirmed {
                endUnconfirmed(sent, error: PhotoSyncError(.notOwned).with(\.photoID, sent.receipt.id))
            }
            unconfirmed = []
            guard !repeats.isEmpty else { return }
            try await endRepeats()
        }
    }

    /// Reports the files that have the same bytes as an earlier file, with the result of that file; if it failed,
    /// attempts the next one.
    private func endRepeats() async throws {
        var now: [PhotoToSend] = []
        var later: [PhotoToSend] = []
        var tried: Set<String> = []
        for photo in repeats {
            let sha256 = photo.digest.sha256
            switch fileOutcomes[sha256]?.state {
            // Dry run: nothing with these bytes is on the server yet.
            case .planned: end(photo, .duplicate)
            case .unconfirmed: end(photo, .unconfirmed, photoID: fileOutcomes[sha256]?.photoID)
            case .uploaded, .present, .deleted, .forgotten: now.append(photo)
            default: if tried.insert(sha256).inserted { now.append(photo) } else { later.append(photo) }
            }
        }
        repeats = later
        try await process(now)
    }

    private func abandonOpen(because error: any Error) {
        let cause = PhotoSyncError.ofStore(error)
        for sent in unconfirmed { endUnconfirmed(sent, error: cause) }
        unconfirmed = []
        endCanceled(repeats, because: error)
        repeats = []
    }

    private func endCanceled(_ photos: [PhotoToSend], because error: any Error) {
        for photo in photos { end(photo.item(.cancelled, error: Self.cause(error))) }
    }

    /// The error that ended the run; nil if the caller stopped it.
    private static func cause(_ error: any Error) -> PhotoSyncError? {
        let error = PhotoSyncError.ofStore(error)
        return error.code == .cancelled ? nil : error
    }

    func end(_ photo: PhotoToSend, _ state: PushItem.State, photoID: String? = nil) {
        end(photo.item(state, photoID: photoID))
    }

    /// Reports a file. The result of the first file with these bytes is kept, unless no upload succeeded.
    func end(_ item: PushItem) {
        closed.insert(item.path)
        if let sha256 = item.sha256 {
            switch fileOutcomes[sha256]?.state {
            case nil, .cancelled, .failed, .changed, .deleted, .forgotten:
                fileOutcomes[sha256] = FileOutcome(state: item.state, photoID: item.photoID)
            default: break
            }
        }
        report.end(item)
    }

    func endUnconfirmed(_ sent: SentPhoto, error: PhotoSyncError) {
        end(sent.item(.unconfirmed, photoID: sent.receipt.id, error: error))
    }

    private func endPlanned(_ photo: PhotoToSend) {
        var item = photo.item(.planned)
        do throws(PhotoSyncError) {
            item.takenAt = try PhotoDate.of(path: photo.candidate.path)
        } catch {
            (item.state, item.error) = (.failed, error)
        }
        end(item)
    }
}

extension PushRun {
    /// Looks up uploaded photos, and photos that were already on the server, in the user's own listing. Photos in
    /// `existing` are owned by the user if they are listed, otherwise by another user or no one (trap 11).
    ///
    /// - Throws: Errors from the pull; all photos then remain pending.
    func confirm(_ existing: [PhotoToSend]) async throws {
        guard !unconfirmed.isEmpty || !existing.isEmpty else { return }
        try await pull()
        try await confirmSent()
        let listed = try await own.uploaded(existing.map(\.digest.sha256))
        var present: [(PhotoToSend, PhotoRecord)] = []
        for photo in existing {
            if let record = listed[photo.digest.sha256] {
                present.append((photo, record))
            } else {
                end(photo, .foreign)
            }
        }
        try await endPresent(present)
    }

    /// Reports uploaded photos that are in the listing. Other photos remain pending: rows may appear late (contract
    /// section 5).
    private func confirmSent() async throws {
        let records = try await own.withIDs(unconfirmed.map(\.receipt.id))
        var ended: [PushItem] = []
        var confirmed: [(PhotoToSend, PhotoRecord)] = []
        var late: [SentPhoto] = []
        for sent in unconfirmed {
            if let record = records[sent.receipt.id] {
                ended.append(confirmedItem(of: sent, record))
                if record.sha256 == sent.photo.digest.sha256 { confirmed.append((sent.photo, record)) }
            } else if sent.receipt.isDuplicate {
                ended.append(sent.item(.foreign, photoID: nil))
            } else {
                late.append(sent)
            }
        }
        SyncFailpoint.pushBeforeRecord.reach()
        try await keepCopies(confirmed)
        SyncFailpoint.pushAfterRecord.reach()
        unconfirmed = late
        for item in ended { end(item) }
    }

    private func confirmedItem(of sent: SentPhoto, _ record: PhotoRecord) -> PushItem {
        guard record.sha256 == sent.photo.digest.sha256 else {
            let error = PhotoSyncError(
                .checksumMismatch,
                detail: "the server has different bytes than were sent",
                path: sent.photo.candidate.path
            ).with(\.photoID, record.id)
            return sent.item(.failed, photoID: record.id, error: error)
        }
        // A repeated upload is a duplicate of the attempt whose response was lost.
        let wasThere = sent.receipt.isDuplicate && sent.attempts == 1
        return sent.item(wasThere ? .present : .uploaded, photoID: record.id)
    }

    func endPresent(_ photos: [(PhotoToSend, PhotoRecord)]) async throws {
        try await keepCopies(photos)
        for (photo, record) in photos {
            // This run has uploaded the first of several files with the same bytes.
            let isRepeat = fileOutcomes[photo.digest.sha256]?.state == .uploaded
            end(photo, isRepeat ? .duplicate : .present, photoID: record.id)
        }
    }

    private func keepCopies(_ photos: [(PhotoToSend, PhotoRecord)]) async throws {
        guard !photos.isEmpty, !options.isDryRun else { return }
        try await own.record(
            photos.map { photo, record in
                PhotoCopy(of: record, at: photo.candidate.absolutePath, photo.digest, server: account.server)
            }
        )
    }
}

extension PushRun {
    /// Uploads missing photos: sequentially until one is in the user's own listing, then in parallel.
    ///
    /// - Throws: The error that ends the run; files that were not started remain open.
    func send(_ photos: [PhotoToSend]) async throws {
        var waiting = photos[...]
        while !isOwnershipVerified, let photo = waiting.popFirst() {
            let before = try await account.client.status(device: account.deviceID).totalPhotos
            let outcome = await sender.send(photo)
            try take(photo, outcome)
            if case .success(let sent) = outcome, !sent.receipt.isDuplicate {
                try await verifyOwnership(of: sent, totalBefore: before)
            }
            try stopIfRequested()
        }
        try await sendTogether(waiting)
    }

    private var sender: PhotoSender {
        PhotoSender(
            client: account.client,
            deviceID: account.deviceID ?? "",
            retry: options.retry,
            control: control,
            report: report
        )
    }

    private func sendTogether(_ photos: ArraySlice<PhotoToSend>) async throws {
        var waiting = photos
        var ending: (any Error)?
        let sender = sender
        await withBoundedTasks(
            limit: options.jobs,
            next: { ending == nil && !control.isStopRequested ? waiting.popFirst() : nil },
            ended: { photo, outcome in
                do {
                    try take(photo, outcome)
                } catch {
                    ending = ending ?? error
                }
            }
        ) { (photo: PhotoToSend) in (photo, await sender.send(photo)) }
        if let ending { throw ending }
        try stopIfRequested()
    }

    /// - Throws: The failure, if all other files would fail as well.
    private func take(_ photo: PhotoToSend, _ outcome: Result<SentPhoto, SendFailure>) throws(PhotoSyncError) {
        closed.insert(photo.candidate.path)
        switch outcome {
        case .success(let sent):
            lostInARow = 0
            unconfirmed.append(sent)
            report.progress { $0.filesSent += 1 }
            SyncFailpoint.pushAfterUpload.reach()
        case .failure(let failure):
            lostInARow = failure.error.isOutage ? lostInARow + 1 : 0
            var item = photo.failed(failure.error)
            (item.takenAt, item.bytesSent, item.attempts) = (failure.takenAt, failure.bytesSent, failure.attempts)
            item.endsRun = failure.error.concernsEveryFile || lostInARow >= Self.mostLostInARow
            end(item)
            if item.endsRun { throw failure.error }
        }
    }

    /// The run stops after this many consecutive files fail because the server or its database is unreachable.
    private static let mostLostInARow = 3

    // MARK: Ownership

    /// Checks whether the photo just uploaded belongs to the user. Servers with the defect of the published build do
    /// not record the owner, omit the photo from the listing, and delete it within an hour (photosync contract 3.5).
    ///
    /// - Throws: `.ownershipDefect` if the photo is not in the listing and the count has not grown. Growth may be
    ///   caused by another device; in that case, the next upload is checked.
    private func verifyOwnership(of sent: SentPhoto, totalBefore: Int64) async throws {
        try await pull()
        if try await own.withIDs([sent.receipt.id]).isEmpty {
            let total = try await account.client.status(device: account.deviceID).totalPhotos
            guard total <= totalBefore else { return }
            try await own.remember(isOwned: false)
            throw PhotoSyncError(
                .ownershipDefect,
                detail: "the server does not record the owner of the photo"
            ).with(\.photoID, sent.receipt.id)
        }
        isOwnershipVerified = true
        try await own.remember(isOwned: true)
    }
}

extension PhotoSyncError {
    /// Whether the server or its database is unreachable.
    fileprivate var isOutage: Bool { self.code == .transport || (self.code == .serverError && self.isRetryable) }

    /// Whether all other uploads would fail with the same error (photosync contract 1.1, 3.1 and section 0).
    fileprivate var concernsEveryFile: Bool {
        switch self.code {
        case .unauthorized, .forbidden, .setupRequired, .invalidDevice, .redirected, .notLoggedIn: true
        default: false
        }
    }
}
