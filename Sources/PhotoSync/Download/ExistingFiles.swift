internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport
internal import Synchronization

/// Finds photos among the files in the target directory that the library does not record, for example because the data
/// directory is new. Otherwise, these photos would be downloaded a second time under a different name.
final class ExistingFiles: Sendable {
    /// Number of listings kept, to bound memory. Photos are in upload order, so most are grouped by month.
    private static let remembered = 16

    private let session: DownloadSession
    private let target: TargetDirectory
    /// The names of the files in some directories that the library does not record, by `series`.
    private let listings = Mutex<[(directory: String, names: [String: [String]])]>([])

    init(session: DownloadSession, target: TargetDirectory) {
        self.session = session
        self.target = target
    }

    private struct File: Sendable {
        let path: [UInt8]
        let byteCount: Int64
    }

    /// Photos of one month whose names differ at most in their number, and the unrecorded files with such names. The
    /// files are compared once with all of these photos, since some programs give thousands of photos the same name.
    private struct Series: Sendable {
        var files: [File]
        var photos: [PhotoRecord] = []
    }

    /// The files that are copies of these photos, by photo ID. Only files with the photo's name, with or without a
    /// number, are read. Nothing is stored.
    ///
    /// - Throws: `StoreError`; a `PhotoSyncError` that would make all photos fail.
    func copies(of photos: [PhotoRecord]) async throws -> [String: PhotoCopy] {
        var series = try await BlockingWork.run { [self] in try grouped(photos) }
        var found = await identical(series)
        for index in series.indices { series[index].photos.removeAll { found[$0.id] != nil } }
        found.merge(try await rewritten(series)) { first, _ in first }
        return found
    }

    // MARK: Names

    private func grouped(_ photos: [PhotoRecord]) throws -> [Series] {
        var series: [Series] = []
        var positions: [String: Int] = [:]
        for photo in photos {
            let place = DownloadPlace(takenAt: photo.takenAt, name: "")
            let name = Self.series(of: SafeFileName(photo.originalFilename, id: photo.id).text)
            let key = "\(place.directory)/\(name)"
            let position = positions[key] ?? series.count
            if position == series.count {
                series.append(Series(files: try files(named: name, in: place)))
                positions[key] = position
            }
            series[position].photos.append(photo)
        }
        return series
    }

    private func files(named series: String, in place: DownloadPlace) throws -> [File] {
        (try names(in: place)[series] ?? []).compactMap { name in
            var place = place
            place.name = name
            let path = place.path(below: target.path)
            return FileIdentity(ofRegularFile: path).map { File(path: path, byteCount: $0.size) }
        }
    }

    /// The series of a name: equal for names that differ only in case or in their number.
    private static func series(of name: String) -> String {
        SafeFileName.key(of: SafeFileName.withoutNumber(name) ?? name)
    }

    /// Empty if the directory cannot be read or is a link. The name in `place` is not used. Files downloaded by this
    /// run are not included, since they are recorded.
    private func names(in place: DownloadPlace) throws -> [String: [String]] {
        let directory = place.directory
        if let known = listings.withLock({ $0.first { $0.directory == directory } }) { return known.names }
        var names: [String: Set<String>] = [:]
        let year = try? target.subdirectory(place.year, creating: false)
        try? year?.subdirectory(place.month, creating: false)?.forEachName { bytes in
            guard let name = String(validating: bytes, as: UTF8.self) else { return }
            names[Self.series(of: name), default: []].insert(name)
        }
        let path = place.path(below: target.path)
        try session.account.library.forEachBlockOfCopies(of: session.account.server, below: path) { copies in
            // A failed download only reserved its name.
            for copy in copies where copy.state != .planned && copy.state != .unverified {
                guard let name = String(validating: copy.path[path.count...], as: UTF8.self) else { continue }
                names[Self.series(of: name)]?.remove(name)
            }
        }
        let sorted = names.filter { !$0.value.isEmpty }.mapValues { $0.sorted() }
        listings.withLock { listings in
            if listings.count == Self.remembered { listings.removeFirst() }
            listings.append((directory, sorted))
        }
        return sorted
    }

    // MARK: Content

    /// Files with the uploaded bytes.
    private func identical(_ series: [Series]) async -> [String: PhotoCopy] {
        let paths = series.flatMap { one -> [[UInt8]] in
            let sizes = Set(one.photos.map(\.fileSize))
            return one.files.filter { sizes.contains($0.byteCount) }.map(\.path)
        }
        let digests = await digests(of: paths)
        var copies: [String: PhotoCopy] = [:]
        for one in series {
            var pathsByDigest: [String: [UInt8]] = [:]
            for file in one.files.reversed() {
                if let digest = digests[file.path] { pathsByDigest[digest.sha256] = file.path }
            }
            for photo in one.photos {
                guard let path = pathsByDigest[photo.sha256], let digest = digests[path] else { continue }
                copies[photo.id] = PhotoCopy(of: photo, at: path, digest, server: session.account.server)
            }
        }
        return copies
    }

    /// Files that the server has rewritten. They must have the evidence required of a download and the length of the
    /// server's file, since an edited file may keep the evidence (photosync contract, new fact 1).
    private func rewritten(_ series: [Series]) async throws(PhotoSyncError) -> [String: PhotoCopy] {
        let stamped = await BlockingWork.run { [control = session.control] in
            series.flatMap { Self.stamped($0, control) }
        }
        let digests = await digests(of: stamped.map(\.path))
        var copies: [String: PhotoCopy] = [:]
        for (photo, path) in stamped where copies[photo.id] == nil {
            guard let digest = digests[path], try await isStored(photo.id, byteCount: digest.identity.size) else {
                continue
            }
            copies[photo.id] = PhotoCopy(of: photo, at: path, digest, server: session.account.server)
        }
        return copies
    }

    /// Files with the ID of one of the photos, and the evidence that they are that photo.
    private static func stamped(
        _ series: Series,
        _ control: TransferControl
    ) -> [(photo: PhotoRecord, path: [UInt8])] {
        let photos = Dictionary(series.photos.map { ($0.id.lowercased(), $0) }) { first, _ in first }
        return series.files.compactMap { file in
            guard !control.isStopRequested,
                series.photos.contains(where: { PhotoEvidence.isPlausible(file.byteCount, for: $0) }),
                let source = try? SourceFile(path: file.path),
                let photo = PhotoStamp.read(from: source).flatMap({ photos[$0.lowercased()] }),
                PhotoEvidence(source, of: photo) == .photo
            else { return nil }
            return (photo: photo, path: file.path)
        }
    }

    /// Whether the server's file has this length; false if the request fails for this photo only.
    private func isStored(_ id: String, byteCount: Int64) async throws(PhotoSyncError) -> Bool {
        do throws(PhotoSyncError) {
            let file = try await session.account.client.storedFile(of: id, control: session.control)
            return file == .present(byteCount: byteCount)
        } catch {
            if error.endsDownloads(session.options) { throw error }
            return false
        }
    }

    private func digests(of paths: [[UInt8]]) async -> [[UInt8]: TreeHashing.Digest] {
        let outcomes = await session.candidates.copies.hashing.digests(of: paths, control: session.control)
        var digests: [[UInt8]: TreeHashing.Digest] = [:]
        for (path, outcome) in zip(paths, outcomes) { digests[path] = try? outcome.get() }
        return digests
    }
}
