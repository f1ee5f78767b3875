internal import Foundation
internal import MediaCore
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport

extension PhotoSyncClient {
    /// `GET /api/photos/{id}/thumbnail` (photosync contract section 6): the bytes of the image; nil if the server has none of
    /// the photo.
    ///
    /// - Throws: `PhotoSyncError`, with the photo's id: `.notFound` for an unknown photo, `.unexpectedAnswer` for anything but a
    ///   JPEG of at most 4 MiB.
    func thumbnail(of id: String, control: TransferControl) async throws(PhotoSyncError) -> [UInt8]? {
        do throws(PhotoSyncError) {
            guard !["", ".", ".."].contains(id) else { throw PhotoSyncError(.unknownPhoto, detail: "not a photo ID") }
            var request = try request(.get, "/api/photos/\(PercentEncoding.encode(id))/thumbnail")
            request.destination = .memory(limit: 4 << 20)
            let response = try await answer(to: request, control: control)
            guard response.status == 200 else {
                let refusal = ServerRefusal(response)
                if response.status == 404, refusal.sentence.hasPrefix("Thumbnail ") { return nil }
                throw refusal.error()
            }
            guard response.head.mediaType == "image/jpeg" else {
                throw PhotoSyncError(.unexpectedAnswer, detail: "not a JPEG", httpStatus: 200)
            }
            return response.body
        } catch {
            var error = error
            error.photoID = id
            throw error
        }
    }
}

/// Downloads thumbnails. Their names follow from the ids alone, so that the files show which exist, and nothing is stored about
/// them.
struct ThumbnailRun: Sendable {
    let account: SyncAccount
    let options: Download.Options
    let candidates: DownloadCandidates
    /// Whether the photos were specified one by one; a missing thumbnail is an error then.
    let isOfIDs: Bool
    let control: TransferControl
    let teller: DownloadTeller

    func perform(to path: [UInt8]) async throws(PhotoSyncError) {
        try account.requireListing()
        let target = try DownloadTarget.open(path, isDryRun: options.isDryRun)
        if teller.wantsProgress, !options.isDryRun { teller.expect(photos: try await total(), bytes: 0) }
        let feed = CandidateFeed(candidates)
        defer { feed.stop() }
        if let failure = await work(feed, target, target?.path ?? path) { throw failure }
        if isStopped { throw PhotoSyncError(.cancelled) }
    }

    private var isStopped: Bool { control.isStopRequested || Task.isCancelled }

    private func total() async throws(PhotoSyncError) -> Int64 {
        do { return try await BlockingWork.run { try candidates.total().photos } } catch { throw .ofStore(error) }
    }

    /// - Returns: The error that ended the run.
    private func work(_ feed: CandidateFeed, _ target: TargetDirectory?, _ root: [UInt8]) async -> PhotoSyncError? {
        var failure: PhotoSyncError?
        var photos: ArraySlice<PhotoRecord> = []
        await withBoundedTasks(
            // A dry run reports in order.
            limit: options.isDryRun ? 1 : options.jobs,
            next: {
                do throws(PhotoSyncError) {
                    while failure == nil, !isStopped {
                        if let photo = photos.popFirst() { return photo }
                        guard let block = try await feed.next() else { return nil }
                        photos = wanted(of: block)[...]
                    }
                } catch {
                    failure = failure ?? error
                }
                for photo in photos { teller.ended(DownloadItem(photo, .cancelled), isCounted: true) }
                return nil
            },
            ended: { error in
                guard let error, failure == nil else { return }
                failure = error
                control.abandon()
            }
        ) { (photo: PhotoRecord) -> PhotoSyncError? in await end(photo, target, root) }
        return failure
    }

    private func wanted(of block: CandidateFeed.Block) -> [PhotoRecord] {
        block.compactMap { candidate in
            switch candidate {
            case .wanted(let photo, _): return photo
            // A changed copy; its photo is not missing.
            case .present: return nil
            case .unknown(let id):
                let error = PhotoSyncError(.unknownPhoto, detail: "not in the index", value: id, photoID: id)
                teller.ended(DownloadItem(id: id, state: .failed, error: error), isCounted: false)
                return nil
            }
        }
    }

    // MARK: One photo

    /// - Returns: An error that would fail all other photos.
    private func end(_ photo: PhotoRecord, _ target: TargetDirectory?, _ root: [UInt8]) async -> PhotoSyncError? {
        var item = DownloadItem(photo, .failed)
        var obstacle: PhotoSyncError?
        do throws(PhotoSyncError) {
            let place = DownloadPlace(takenAt: photo.takenAt, name: try Self.name(of: photo.id))
            item.path = place.path(below: root)
            try await fetch(photo, place, target, &item)
        } catch {
            item.state = error.code == .cancelled ? .cancelled : .failed
            item.error = error.code == .cancelled ? nil : error
            let isOutage = error.code == .serverError && error.isRetryable && options.retry.timeLimit != nil
            obstacle = error.endsDownloads || isOutage ? error : nil
        }
        teller.ended(item, isCounted: true)
        return obstacle
    }

    /// Ids are text of the server.
    private static func name(of id: String) throws(PhotoSyncError) -> String {
        guard id.wholeMatch(of: /[0-9A-Za-z][0-9A-Za-z_-]{0,99}/) != nil else {
            throw PhotoSyncError(.unexpectedAnswer, detail: "the ID is not a file name", photoID: id)
        }
        return "\(id).thumbnail.jpg"
    }

    private func fetch(
        _ photo: PhotoRecord,
        _ place: DownloadPlace,
        _ target: TargetDirectory?,
        _ item: inout DownloadItem
    ) async throws(PhotoSyncError) {
        guard !isStopped else { throw PhotoSyncError(.cancelled) }
        if let known = item.path.flatMap(FileIdentity.init(ofRegularFile:)) {
            (item.state, item.sizeBytes) = (.present, known.size)
            return
        }
        guard !options.isDryRun, let target else {
            item.state = .planned
            return
        }
        item.attempts = 1
        guard let bytes = try await account.client.thumbnail(of: photo.id, control: control.linked()) else {
            (item.state, item.path) = (.unavailable, nil)
            if isOfIDs { item.error = PhotoSyncError(.thumbnailUnavailable, photoID: photo.id) }
            return
        }
        item.bytesReceived = Int64(bytes.count)
        teller.received(item.bytesReceived)
        let time = photo.takenAt.microseconds
        do throws(PhotoSyncError) {
            item.sizeBytes = try await BlockingWork.run { () throws(PhotoSyncError) in
                try Self.write(bytes, place, time, in: target).size
            }
        } catch {
            var error = error
            error.photoID = photo.id
            throw error
        }
        item.state = .thumbnail
    }

    private static func write(
        _ bytes: [UInt8],
        _ place: DownloadPlace,
        _ modificationMicroseconds: Int64,
        in target: TargetDirectory
    ) throws(PhotoSyncError) -> FileIdentity {
        let file = try onDisk { () throws(FileWriteError) in
            let year = try target.subdirectory(place.year, creating: true)
            guard let month = try year?.subdirectory(place.month, creating: true) else {
                throw FileWriteError(.denied, path: target.path)
            }
            return try PartialFile.open(SafeFileName.temporary(for: place.name), in: month)
        }
        do throws(PhotoSyncError) {
            try onDisk { () throws(FileWriteError) in
                try file.truncate(to: 0)
                try bytes.withUnsafeBytes { buffer in
                    Result { () throws(FileWriteError) in try file.write(buffer, at: 0) }
                }.get()
            }
            try check(file)
            return try onDisk { () throws(FileWriteError) in
                _ = try file.seal(modificationMicroseconds: modificationMicroseconds)
                return try file.publish(as: place.name)
            }
        } catch {
            // A file that cannot be removed is overwritten by the next run.
            try? file.discard()
            throw error
        }
    }

    private static func onDisk<Value>(_ work: () throws(FileWriteError) -> Value) throws(PhotoSyncError) -> Value {
        do { return try work() } catch { throw PhotoSyncError(error) }
    }

    private static func check(_ file: PartialFile) throws(PhotoSyncError) {
        let source: SourceFile
        do { source = try SourceFile(path: file.path) } catch { throw PhotoSyncError.source(error) }
        let structure = PhotoStructure(of: source)
        guard structure.format == .jpeg, structure.integrity == .intact else {
            throw PhotoSyncError(.unexpectedAnswer, detail: "the thumbnail is not a complete JPEG")
        }
    }
}

extension DownloadItem {
    fileprivate init(_ photo: PhotoRecord, _ state: State) {
        self.init(
            id: photo.id,
            originalFilename: photo.originalFilename,
            state: state,
            serverSHA256: photo.sha256
        )
    }
}
