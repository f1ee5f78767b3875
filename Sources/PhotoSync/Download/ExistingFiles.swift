internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport
internal import Synchronization

/// Finds photos among the files of the target directory that the library does not record, for example because the data
/// directory is new. Without it, these photos would be downloaded a second time, under another name.
final class ExistingFiles: Sendable {
    private let account: SyncAccount
    private let target: TargetDirectory
    private let hashing: TreeHashing
    private let control: TransferControl
    /// The names in each directory, by `series`, when this run first planned a download there. The files that it
    /// downloads are recorded.
    private let names = Mutex<[String: [String: [String]]]>([:])

    init(account: SyncAccount, target: TargetDirectory, hashing: TreeHashing, control: TransferControl) {
        self.account = account
        self.target = target
        self.hashing = hashing
        self.control = control
    }

    private struct File: Sendable {
        let path: [UInt8]
        let byteCount: Int64
    }

    /// Photos of one month whose names differ at most in their number, and the unrecorded files with such names. The
    /// files are compared once with all of these photos, since some programs give thousands of photos one name.
    private struct Series: Sendable {
        var files: [File]
        var photos: [PhotoRecord] = []
    }

    private struct Candidate: Sendable {
        let photo: PhotoRecord
        let path: [UInt8]
    }

    /// The files that are these photos, by ID of the photo. Only files with the name of the photo, with or without a
    /// number, are read. Nothing is stored.
    ///
    /// - Throws: `StoreError`.
    func copies(of photos: [PhotoRecord]) async throws(StoreError) -> [String: PhotoCopy] {
        var series = try await BlockingWork.run { [self] () throws(StoreError) in try grouped(photos) }
        var found = await identical(series)
        for index in series.indices { series[index].photos.removeAll { found[$0.id] != nil } }
        found.merge(await rewritten(series)) { first, _ in first }
        return found
    }

    // MARK: Names

    private func grouped(_ photos: [PhotoRecord]) throws(StoreError) -> [Series] {
        var found: [String: Series] = [:]
        for photo in photos {
            let place = DownloadPlace(takenAt: photo.takenAt, name: "")
            let name = Self.series(of: SafeFileName(photo.originalFilename, id: photo.id).text)
            let key = "\(place.directory)/\(name)"
            found[key, default: Series(files: files(named: name, in: place))].photos.append(photo)
        }
        let paths = found.values.flatMap { $0.files.map(\.path) }
        // A failed download only reserved its name.
        let recorded = Set(
            try account.library.copies(at: paths, server: account.server)
                .filter { ![.planned, .unverified].contains($0.state) }
                .map(\.path)
        )
        return found.values.map { series in
            Series(files: series.files.filter { !recorded.contains($0.path) }, photos: series.photos)
        }
    }

    private func files(named series: String, in place: DownloadPlace) -> [File] {
        (names(in: place)[series] ?? []).compactMap { name in
            var place = place
            place.name = name
            let path = place.path(below: target.path)
            return FileIdentity(ofRegularFile: path).map { File(path: path, byteCount: $0.size) }
        }
    }

    /// Equal for names that differ only in case or in their number.
    private static func series(of name: String) -> String {
        SafeFileName.key(of: SafeFileName.withoutNumber(name) ?? name)
    }

    /// Empty if the directory cannot be read, or is a link.
    private func names(in place: DownloadPlace) -> [String: [String]] {
        names.withLock { names in
            if let known = names[place.directory] { return known }
            var found: [String: [String]] = [:]
            let year = try? target.subdirectory(place.year, creating: false)
            try? year?.subdirectory(place.month, creating: false)?.forEachName { bytes in
                guard let name = String(validating: bytes, as: UTF8.self) else { return }
                found[Self.series(of: name), default: []].append(name)
            }
            found = found.mapValues { $0.sorted() }
            names[place.directory] = found
            return found
        }
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
                copies[photo.id] = copy(Candidate(photo: photo, path: path), digest)
            }
        }
        return copies
    }

    /// Files that the server has rewritten: with the evidence required of a download, and with the length of the
    /// server's file, since an edited file may keep the evidence (photosync contract, new fact 1).
    private func rewritten(_ series: [Series]) async -> [String: PhotoCopy] {
        let stamped = await BlockingWork.run { [control] in series.flatMap { Self.stamped($0, control) } }
        let digests = await digests(of: stamped.map(\.path))
        var copies: [String: PhotoCopy] = [:]
        for candidate in stamped where copies[candidate.photo.id] == nil {
            guard let digest = digests[candidate.path],
                let stored = try? await account.client.storedFile(of: candidate.photo.id, control: control),
                stored == .present(byteCount: digest.identity.size)
            else { continue }
            copies[candidate.photo.id] = copy(candidate, digest)
        }
        return copies
    }

    /// Files with the ID of one of the photos, and the evidence that they are that photo.
    private static func stamped(_ series: Series, _ control: TransferControl) -> [Candidate] {
        let photos = Dictionary(series.photos.map { ($0.id.lowercased(), $0) }) { first, _ in first }
        return series.files.compactMap { file in
            guard !control.isStopRequested,
                series.photos.contains(where: { PhotoEvidence.isPlausible(file.byteCount, for: $0) }),
                let source = try? SourceFile(path: file.path),
                let photo = PhotoStamp.read(from: source).flatMap({ photos[$0.lowercased()] }),
                PhotoEvidence(source, of: photo) == .photo
            else { return nil }
            return Candidate(photo: photo, path: file.path)
        }
    }

    private func digests(of paths: [[UInt8]]) async -> [[UInt8]: TreeHashing.Digest] {
        let outcomes = await hashing.digests(of: paths, control: control)
        var digests: [[UInt8]: TreeHashing.Digest] = [:]
        for (path, outcome) in zip(paths, outcomes) { digests[path] = try? outcome.get() }
        return digests
    }

    private func copy(_ candidate: Candidate, _ digest: TreeHashing.Digest) -> PhotoCopy {
        PhotoCopy(
            server: account.server,
            photoID: candidate.photo.id,
            path: candidate.path,
            state: .present,
            source: .pushed,
            sha256: digest.sha256,
            serverSHA256: candidate.photo.sha256,
            identity: digest.identity
        )
    }
}
