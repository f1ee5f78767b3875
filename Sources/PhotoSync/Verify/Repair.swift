internal import MediaCrypto
internal import MediaFiles
public import MediaStore
internal import MediaSystem
public import MediaTransport

/// Re-uploads photos whose files the server has lost or damaged, using local originals with the uploaded bytes.
///
/// The server identifies a photo's bytes by the hash in its database, and stores nothing new while the damaged photo is
/// listed (photosync contract 3.3). Each photo is therefore deleted first, and gets a new ID.
public struct Repair: Sendable {
    /// A photo that the server cannot deliver.
    public struct Item: Sendable {
        /// The state of a photo.
        public enum State: String, Sendable, CaseIterable {
            /// Dry run: would be uploaded again.
            case planned
            /// Uploaded again, and readable by this user: the server refuses the files of other owners (contract
            /// section 6).
            case repaired
            /// Not damaged by the server: another machine has already repaired it, or it was damaged before its upload.
            /// Nothing was changed.
            case skipped
            /// None of the files on this machine has the uploaded bytes; `path` is a file that had these bytes and was
            /// modified.
            case noOriginal = "no_original"
            case failed
            /// Not started because the run was stopped.
            case cancelled
        }

        /// The photo as listed.
        public var photo: PhotoRecord
        /// The defect of the server's file.
        public var problem: SyncDifference.Kind
        public var state: State
        /// The local original, or one that was modified since its upload.
        public var path: [UInt8]?
        /// The ID after the repair.
        public var newID: String?
        /// Whether the photo was deleted on the server, by this repair or earlier; if the repair then failed, only the
        /// local original is left.
        public var isDeleted = false
        public var error: PhotoSyncError?
        /// Whether the error ended the run, which then throws it.
        public var endsRun = false
    }

    let account: SyncAccount
    let check: ServerCheck
    let retry: RetryPolicy

    /// `.none` is treated as `.lengths`.
    public init(_ account: SyncAccount, check: ServerCheck = .lengths, retry: RetryPolicy = RetryPolicy()) {
        self.account = account
        self.check = check == .none ? .lengths : check
        self.retry = retry
    }

    // MARK: Planning

    /// Lists all photos again, checks the file of each, and finds originals for files that are missing, are empty, or
    /// have the wrong length; with `ServerCheck.contents`, also for damaged files. Photos that an interrupted repair,
    /// or the server itself, has deleted come first, if they have an original. Changes nothing. `progress` is called
    /// with the number of photos checked.
    ///
    /// - Returns: The damaged photos, with or without an original.
    /// - Throws: `PhotoSyncError`: errors from `Verification.run`; `.ownershipDefect` for a server that would not list
    ///   the photos as the user's own.
    public func plan(
        control: TransferControl = TransferControl(),
        progress: (@Sendable (PullProgress) -> Void)? = nil
    ) async throws(PhotoSyncError) -> [Item] {
        let (index, server) = (account.index, account.server)
        guard try await StoreWork.run({ try index.ownsUploads(at: server) }) != false else {
            throw PhotoSyncError(.ownershipDefect)
        }
        let live = try await LiveListing.make(of: account, control: control)
        let files = ServerFiles(account: account, extent: check, control: control)
        let (damage, deleted, photos, copies) = try await StoreWork.run { [account] in
            let total = try live.index.counts(of: server, device: nil).total
            var checked: Int64 = 0
            var damage: [SyncDifference] = []
            try files.check(live.index) { count, differences in
                checked += Int64(count)
                // An unverifiable file may be intact, and would still be unverifiable after another upload.
                damage += differences.filter { $0.kind != .serverUnverified }
                progress?(PullProgress(photos: checked, pages: 0, expected: total, attempt: 1))
            }
            let photos = try live.photos(damage.map(\.photoID))
            let deleted = try deletedPhotos(live)
            let digests = (deleted + photos.values).map(\.sha256)
            return (damage, deleted, photos, try account.library.copies(withDigests: digests, server: server))
        }
        func held(_ photo: PhotoRecord) -> [PhotoCopy] {
            copies.filter { $0.sha256 == photo.sha256 && [.present, .replaced].contains($0.state) }
        }
        var items: [Item] = []
        for photo in deleted {
            guard let original = await Self.original(among: held(photo), of: photo) else { continue }
            var item = Item(photo: photo, problem: .serverMissing, state: .planned)
            (item.path, item.isDeleted) = (original.path, true)
            items.append(item)
        }
        for difference in damage {
            guard let photo = photos[difference.photoID] else { continue }
            var item = Item(photo: photo, problem: difference.kind, state: .skipped)
            let original = await Self.original(among: held(photo), of: photo)
            item.path = original?.path ?? held(photo).first(where: Self.isReadable)?.path
            if difference.kind != .uploadedDamaged { item.state = original == nil ? .noOriginal : .planned }
            items.append(item)
        }
        return items
    }

    /// The photos that an interrupted repair, or a server with the ownership defect, has deleted, and that have not
    /// been uploaded again since then. Push uploads these photos as well.
    private func deletedPhotos(_ live: LiveListing) throws -> [PhotoRecord] {
        let (index, server) = (account.index, account.server)
        let purged = try account.library.deletions(of: server, state: .purged)
        guard !purged.isEmpty else { return [] }
        let digests = Array(Set(purged.map(\.sha256)))
        let listed = Set(try live.index.photos(withDigests: digests, of: server).map(\.sha256))
        // The last deletion counts: the user may have deleted a photo that was uploaded again.
        let ids = try DeletedPhotos(account).withDigests(digests).values
            .filter { $0.state == .purged && !listed.contains($0.sha256) }
            .map(\.photoID)
        return try index.photos(ids, of: server) + index.photos(ids, of: server, areGone: true)
    }

    /// A file unchanged since it was recorded, or else a file with the uploaded bytes.
    private static func original(among copies: [PhotoCopy], of photo: PhotoRecord) async -> PhotoCopy? {
        if let unchanged = copies.first(where: { LocalCopies.condition(of: $0) == .unchanged && isReadable($0) }) {
            return unchanged
        }
        for copy in copies {
            guard let file = try? SourceFile(path: copy.path) else { continue }
            if (try? await digest(of: file)) == photo.sha256 { return copy }
        }
        return nil
    }

    private static func isReadable(_ copy: PhotoCopy) -> Bool { (try? SourceFile(path: copy.path)) != nil }

    // MARK: Repairing

    /// Repairs the planned photos one at a time. A stop waits for the current photo.
    ///
    /// - Returns: Whether the index has the repaired photos only under their new IDs; otherwise a full pull is
    ///   required.
    /// - Throws: `PhotoSyncError` for errors that would make all photos fail, such as `.unauthorized`, or that
    ///   prevented the upload of a deleted photo, before anything else is deleted; `.ownershipDefect` after the first
    ///   photo if it is not listed as the user's own.
    public func run(
        _ plan: [Item],
        control: TransferControl = TransferControl(),
        onItem: (Item) -> Void
    ) async throws(PhotoSyncError) -> Bool {
        var isOwnershipKnown = false
        var replaced: [String] = []
        var deleted: [String] = []
        var fatal: PhotoSyncError?
        for var item in plan {
            if item.state == .planned {
                if control.isStopRequested || Task.isCancelled {
                    item.state = .cancelled
                } else {
                    do throws(PhotoSyncError) {
                        item.state = try await repair(&item)
                        if item.state == .repaired, !isOwnershipKnown { isOwnershipKnown = try await confirm(item) }
                    } catch {
                        item.state = .failed
                        // The ID belongs to another user's photo.
                        if error.code == .notOwned { item.newID = nil }
                        item.error = error
                        item.error?.photoID = error.photoID ?? item.photo.id
                        item.endsRun = Self.failsAll.contains(error.code) || (item.isDeleted && error.preventsUploads)
                        if item.endsRun { fatal = error }
                    }
                    if item.state == .repaired {
                        replaced.append(item.photo.id)
                    } else if item.isDeleted {
                        deleted.append(item.photo.id)
                    }
                }
            }
            onItem(item)
            if fatal != nil { break }
        }
        let isIndexCurrent = await updateIndex(replaced: replaced, deleted: deleted)
        if let fatal { throw fatal }
        return isIndexCurrent
    }

    private static let failsAll: Set<OutcomeCode> = [
        .unauthorized, .notLoggedIn, .setupRequired, .ownershipDefect, .storeUnusable,
    ]

    /// Removes replaced photos from the index, marks photos that were only deleted, and adds the new ones. A replaced
    /// photo does not count as deleted: it has a new ID.
    private func updateIndex(replaced: [String], deleted: [String]) async -> Bool {
        guard !replaced.isEmpty || !deleted.isEmpty else { return true }
        let (index, server) = (account.index, account.server)
        let isUpdated = try? await StoreWork.run {
            try index.remove(replaced, of: server) && index.markGone(deleted, of: server)
        }
        guard isUpdated == true else { return false }
        var options = Pull.Options()
        options.lockTimeout = .seconds(5)
        return (try? await Pull(account, options: options).run()) != nil
    }

    /// - Returns: `.repaired`; `.skipped` if there was nothing to repair; `.noOriginal` if the original has since been
    ///   modified.
    private func repair(_ item: inout Item) async throws(PhotoSyncError) -> Item.State {
        guard let path = item.path else { throw PhotoSyncError(.fileNotFound) }
        let file = try PhotoSyncError.reading(SourceFile(path: path))
        // This is checked even if the file seems unchanged: its bytes must match the upload.
        guard try await Self.digest(of: file) == item.photo.sha256 else { return .noOriginal }
        // Only a failure may stop the repair between deletion and upload.
        let uninterrupted = TransferControl()
        let files = ServerFiles(account: account, extent: check, control: uninterrupted)
        let id = item.photo.id
        let copies = try await StoreWork.run { [account] in
            try account.library.copies(ofPhotos: [id], server: account.server)
        }
        if !item.isDeleted {
            guard try await files.damage(of: item.photo, copies) != nil else { return .skipped }
            try await expectDeletion(of: item.photo)
            try await account.client.delete(item.photo.id, control: uninterrupted)
            item.isDeleted = true
            SyncFailpoint.repairDeleted.reach()
        }
        let receipt = try await upload(file, as: item.photo, uninterrupted)
        item.newID = receipt.id
        guard (try? file.currentStatus()) == file.status else {
            // The server may have received bytes that differ from those of the photo.
            throw PhotoSyncError(.sourceChanged, detail: "the file changed while it was being sent", path: path)
        }
        guard case .present(let byteCount) = try await ownFile(receipt, path), byteCount > 0 else {
            throw PhotoSyncError(.undeliverable, detail: "even after the upload").with(\.photoID, receipt.id)
        }
        if case .contents = check { try await confirmContent(of: item.photo, as: receipt.id, files) }
        try await record(copies, as: receipt.id)
        try await StoreWork.run { [account] in try account.library.removeDeletion(ofPhoto: id, server: account.server) }
        return .repaired
    }

    /// The server's file for a photo that was just uploaded. The server refuses files of other owners (contract section
    /// 6): a refused duplicate belongs to another user, and a server with the ownership defect does not record an
    /// owner.
    private func ownFile(_ receipt: PhotoReceipt, _ path: [UInt8]) async throws(PhotoSyncError) -> StoredFile {
        do throws(PhotoSyncError) {
            return try await account.client.storedFile(of: receipt.id)
        } catch {
            guard error.code == .forbidden else { throw error }
            guard !receipt.isDuplicate else { throw PhotoSyncError(.notOwned, path: path).with(\.photoID, receipt.id) }
            throw await ownershipDefect(receipt.id)
        }
    }

    private func confirmContent(
        of photo: PhotoRecord,
        as id: String,
        _ files: ServerFiles
    ) async throws(PhotoSyncError) {
        var stored = photo
        stored.id = id
        guard let difference = try await files.damage(of: stored, []) else { return }
        throw PhotoSyncError(
            .checksumMismatch,
            detail: "even after the upload: \(difference.found ?? difference.kind.rawValue)"
        ).with(\.photoID, id)
    }

    /// Throws if the file changes while it is read.
    private static func digest(of file: SourceFile) async throws(PhotoSyncError) -> String {
        let digest: SHA256Digest
        do {
            digest = try await SHA256Digest.ofFile(descriptor: file.descriptor, byteCount: file.status.size)
        } catch {
            throw PhotoSyncError(.fileUnreadable, detail: "\(error)", path: file.path)
        }
        guard (try? file.currentStatus()) == file.status else {
            throw PhotoSyncError(.sourceChanged, detail: "the file changed while it was being read", path: file.path)
        }
        return digest.hex
    }

    private func upload(
        _ file: SourceFile,
        as photo: PhotoRecord,
        _ control: TransferControl
    ) async throws(PhotoSyncError) -> PhotoReceipt {
        var backoff = Backoff(retry)
        return try await backoff.run(
            pausing: control.waitForStop(upTo:),
            canceled: PhotoSyncError(.cancelled, path: file.path),
            retryAfter: { $0.isRetryable ? .zero : nil }
        ) { () async throws(PhotoSyncError) in
            let upload = PhotoUpload(
                content: try PhotoSyncError.reading(
                    FileContent(owning: file.duplicateDescriptor(), byteCount: file.status.size)
                ),
                fileName: photo.originalFilename,
                takenAt: photo.takenAt,
                deviceID: photo.originDevice?.id
            )
            do throws(PhotoSyncError) {
                return try await account.client.upload(upload, control: control)
            } catch {
                throw error.at(file.path)
            }
        }
    }

    /// Records a deletion that a push undoes: after a crash between deletion and upload, the next push must upload the
    /// original instead of skipping it as deleted on the server.
    private func expectDeletion(of photo: PhotoRecord) async throws(PhotoSyncError) {
        try await StoreWork.run { [account] in
            let deletion = PhotoDeletion(photo, server: account.server, state: .purged, foundAt: account.now())
            try account.library.keep([deletion])
        }
    }

    /// Records the copies as copies of the new photo, except downloaded copies that the server had rewritten: those
    /// contain the old ID.
    private func record(_ copies: [PhotoCopy], as id: String) async throws(PhotoSyncError) {
        let old = copies.filter { [.present, .replaced].contains($0.state) && $0.sha256 == $0.serverSHA256 }
        let moved = old.map { copy in
            var copy = copy
            copy.photoID = id
            return copy
        }
        try await PhotoSyncError.storing(await account.library.keep(moved))
        guard copies.allSatisfy({ $0.photoID != id }) else { return }
        try await StoreWork.run { [account] in try account.library.remove(old) }
    }

    /// Checks the listing: a server with the ownership defect does not list uploads (photosync contract 3.5).
    ///
    /// - Returns: Whether the listing could be read; if not, it is checked again with the next photo.
    private func confirm(_ item: Item) async throws(PhotoSyncError) -> Bool {
        guard let listed = try? await OwnPhotos(account).listed([item.photo.sha256], control: TransferControl()) else {
            return false
        }
        guard listed[item.photo.sha256] != nil else { throw await ownershipDefect(item.newID) }
        return true
    }

    private func ownershipDefect(_ id: String?) async -> PhotoSyncError {
        do {
            try await OwnPhotos(account).remember(isOwned: false)
        } catch {
            return error
        }
        return PhotoSyncError(.ownershipDefect).with(\.photoID, id)
    }
}

extension PhotoSyncError {
    /// A failure of the network, the server or a proxy that may prevent other uploads as well.
    fileprivate var preventsUploads: Bool {
        switch self.code {
        case .forbidden, .invalidDevice, .redirected: true
        default: [OutcomeCode.transport.exitCode, OutcomeCode.serverError.exitCode].contains(self.code.exitCode)
        }
    }
}
