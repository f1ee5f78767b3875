internal import MediaCrypto
internal import MediaFiles
internal import MediaStore
internal import MediaSystem

/// Looks at one local copy of a photo.
struct CopyCheck: Sendable {
    let hashes: HashCache
    let readsContent: Bool

    /// What is wrong with a copy; nil when it has the bytes that were written or sent.
    func difference(of copy: PhotoCopy) async -> SyncDifference? {
        guard copy.state == .present else {
            return SyncDifference(
                kind: .copyUnfinished,
                photoID: copy.photoID,
                path: copy.path,
                found: copy.state.rawValue
            )
        }
        let file: SourceFile
        do {
            file = try SourceFile(path: copy.path)
        } catch {
            return difference(of: copy, because: error)
        }
        do {
            guard let expected = copy.sha256 else { return nil }
            let found = try await digest(of: file, copy)
            guard found != expected else { return nil }
            return SyncDifference(
                kind: .copyChanged,
                photoID: copy.photoID,
                path: copy.path,
                expected: expected,
                found: found
            )
        } catch {
            return difference(of: copy, because: SourceFileError(.io(errno: 0), path: copy.path))
        }
    }

    /// The digest of an open file, without reading it where somebody has done so already.
    private func digest(of file: SourceFile, _ copy: PhotoCopy) async throws -> String {
        let identity = file.status
        if !readsContent {
            if identity == copy.identity, let known = copy.sha256 { return known }
            if let known = hashes.digest(of: identity) { return known }
        }
        return try await SHA256Digest.ofFile(descriptor: file.descriptor, byteCount: file.status.size).hex
    }

    private func difference(of copy: PhotoCopy, because error: SourceFileError) -> SyncDifference {
        SyncDifference(
            kind: error.kind == .notFound ? .copyMissing : .copyChanged,
            photoID: copy.photoID,
            path: copy.path,
            expected: copy.sha256,
            found: error.words
        )
    }
}

extension SourceFileError {
    fileprivate var words: String? {
        switch kind {
        case .notFound: nil
        case .permissionDenied: "permission denied"
        case .isDirectory: "a directory"
        case .notRegular: "not a regular file"
        case .empty: "an empty file"
        case .io: "unreadable"
        }
    }
}
