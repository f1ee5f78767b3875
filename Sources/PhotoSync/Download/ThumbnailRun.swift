internal import Foundation
internal import MediaCore
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport

extension PhotoSyncClient {
    /// `GET /api/photos/{id}/thumbnail` (photosync contract section 6): the bytes of the image; nil if the server has
    /// no thumbnail for the photo.
    ///
    /// - Throws: `PhotoSyncError`: `.notFound` for an unknown photo, `.unexpectedResponse` for anything other than a JPEG
    ///   of at most 4 MiB.
    func thumbnail(of id: String, control: TransferControl) async throws(PhotoSyncError) -> [UInt8]? {
        var request = try request(.get, Self.path(of: id, "/thumbnail"))
        request.destination = .memory(limit: 4 << 20)
        let response = try await response(to: request, control: control)
        guard response.status == 200 else {
            let refusal = ServerRefusal(response)
            if response.status == 404, refusal.sentence.hasPrefix("Thumbnail ") { return nil }
            throw refusal.error()
        }
        guard response.head.mediaType == "image/jpeg" else {
            throw PhotoSyncError(.unexpectedResponse, detail: "not a JPEG", httpStatus: 200)
        }
        return response.body
    }
}

/// Downloads thumbnails. Their names are derived from the IDs alone, so the files themselves show which thumbnails
/// exist, and the library stores nothing about them.
struct ThumbnailRun: Sendable {
    let session: DownloadSession
    /// Whether the photos were specified by ID; a missing thumbnail is then an error.
    let isOfIDs: Bool

    func perform(to path: [UInt8]) async throws(PhotoSyncError) {
        let target = try await session.openTarget(path, countsBytes: false)
        try target?.requireWritable()
        let root = target?.path ?? path
        let failure = await session.forEach(plan: wanted, canceled: { DownloadItem($0, .cancelled) }) { photo in
            await item(of: photo, target, root)
        }
        try session.finish(failure)
    }

    private func wanted(of block: [DownloadCandidates.Candidate]) -> [PhotoRecord] {
        block.compactMap { candidate in
            switch candidate {
            case .wanted(let photo, _): return photo
            // The copy was modified; its photo is not missing.
            case .present: return nil
            case .unknown(let id):
                session.report.end(DownloadItem(unknown: id))
                return nil
            }
        }
    }

    // MARK: One photo

    /// Downloads the thumbnail, and returns its result.
    private func item(of photo: PhotoRecord, _ target: TargetDirectory?, _ root: [UInt8]) async -> DownloadItem {
        var item = DownloadItem(photo, .failed)
        do throws(PhotoSyncError) {
            let place = DownloadPlace(takenAt: photo.takenAt, name: try Self.name(of: photo.id))
            item.path = place.path(below: root)
            try await fetch(photo, place, target, &item)
        } catch {
            item.fail(error.at(photo: photo.id), session.options)
        }
        return item
    }

    /// Validates the ID, which is untrusted server text.
    private static func name(of id: String) throws(PhotoSyncError) -> String {
        guard id.wholeMatch(of: /[0-9A-Za-z][0-9A-Za-z_-]{0,99}/) != nil else {
            throw PhotoSyncError(.unexpectedResponse, detail: "the ID is not a file name").with(\.photoID, id)
        }
        return "\(id).thumbnail.jpg"
    }

    private func fetch(
        _ photo: PhotoRecord,
        _ place: DownloadPlace,
        _ target: TargetDirectory?,
        _ item: inout DownloadItem
    ) async throws(PhotoSyncError) {
        guard !session.isStopped else { throw PhotoSyncError(.cancelled) }
        if let known = item.path.flatMap(FileIdentity.init(ofRegularFile:)) {
            (item.state, item.sizeBytes) = (.present, known.size)
            return
        }
        guard !session.options.isDryRun, let target else {
            item.state = .planned
            return
        }
        item.attempts = 1
        guard
            let bytes = try await session.account.client.thumbnail(
                of: photo.id,
                control: session.control.linked()
            )
        else {
            (item.state, item.path) = (.unavailable, nil)
            if isOfIDs { item.error = PhotoSyncError(.thumbnailUnavailable).with(\.photoID, photo.id) }
            return
        }
        item.bytesReceived = Int64(bytes.count)
        session.report.received(item.bytesReceived)
        let time = photo.takenAt.microseconds
        item.sizeBytes = try await StoreWork.run { try Self.write(bytes, place, time, in: target).size }
        item.state = .thumbnail
    }

    private static func write(
        _ bytes: [UInt8],
        _ place: DownloadPlace,
        _ modificationMicroseconds: Int64,
        in target: TargetDirectory
    ) throws -> FileIdentity {
        let year = try target.subdirectory(place.year, creating: true)
        guard let month = try year?.subdirectory(place.month, creating: true) else {
            throw FileWriteError(.denied, path: target.path)
        }
        let file = try PartialFile.open(SafeFileName.temporary(for: place.name), in: month)
        do {
            try file.truncate(to: 0)
            try bytes.withUnsafeBytes { try file.write($0, at: 0) }
            let structure = PhotoStructure(of: try SourceFile(path: file.path))
            guard structure.format == .jpeg, structure.integrity == .intact else {
                throw PhotoSyncError(.unexpectedResponse, detail: "the thumbnail is not a complete JPEG")
            }
            try file.seal(modificationMicroseconds: modificationMicroseconds)
            return try file.publish(as: place.name)
        } catch {
            // If the file cannot be removed, the next run overwrites it.
            try? file.discard()
            throw error
        }
    }
}
