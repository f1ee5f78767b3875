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

    private struct Candidate: Sendable {
        let photo: PhotoRecord
        let path: [UInt8]
        let byteCount: Int64
    }

    /// The files that are these photos, by ID of the photo. Only files with the name of the photo, with or without a
    /// number, are read. Nothing is stored.
    ///
    /// - Throws: `StoreError`.
    func copies(of photos: [PhotoRecord]) async throws(StoreError) -> [String: PhotoCopy] {
        let candidates = try await BlockingWork.run { [self] () throws(StoreError) in try unrecorded(photos) }
        var found = await identical(candidates.filter { $0.byteCount == $0.photo.fileSize })
        let others = candidates.filter { found[$0.photo.id] == nil }
        found.merge(await rewritten(others)) { first, _ in first }
        return found
    }

    // MARK: Names

    private func unrecorded(_ photos: [PhotoRecord]) throws(StoreError) -> [Candidate] {
        var candidates: [Candidate] = []
        for photo in photos {
            var place = DownloadPlace(takenAt: photo.takenAt, name: "")
            let series = Self.series(of: SafeFileName(photo.originalFilename, id: photo.id).text)
            for name in names(in: place)[series] ?? [] {
                place.name = name
                let path = place.path(below: target.path)
                guard let size = FileIdentity(ofRegularFile: path)?.size,
                    size == photo.fileSize || PhotoEvidence.isPlausible(size, for: photo)
                else { continue }
                candidates.append(Candidate(photo: photo, path: path, byteCount: size))
            }
        }
        // A failed download only reserved its name.
        let recorded = Set(
            try account.library.copies(at: candidates.map(\.path), server: account.server)
                .filter { ![.planned, .unverified].contains($0.state) }
                .map(\.path)
        )
        return candidates.filter { !recorded.contains($0.path) }
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
    private func identical(_ candidates: [Candidate]) async -> [String: PhotoCopy] {
        let digests = await digests(of: candidates)
        let copies = candidates.compactMap { candidate -> PhotoCopy? in
            guard let digest = digests[candidate.path], digest.sha256 == candidate.photo.sha256 else { return nil }
            return copy(candidate, digest)
        }
        return Dictionary(copies.map { ($0.photoID, $0) }) { first, _ in first }
    }

    /// Files that the server has rewritten: with the evidence required of a download, and with the length of the
    /// server's file, since an edited file may keep the evidence (photosync contract, new fact 1).
    private func rewritten(_ candidates: [Candidate]) async -> [String: PhotoCopy] {
        let stamped = await BlockingWork.run { [control] in
            candidates.filter { candidate in
                guard !control.isStopRequested, let file = try? SourceFile(path: candidate.path) else { return false }
                return PhotoEvidence(file, of: candidate.photo) == .photo
            }
        }
        let digests = await digests(of: stamped)
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

    private func digests(of candidates: [Candidate]) async -> [[UInt8]: TreeHashing.Digest] {
        let paths = Array(Set(candidates.map(\.path)))
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
