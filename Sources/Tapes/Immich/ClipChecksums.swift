internal import MediaCrypto
internal import MediaFiles
internal import MediaStore
internal import MediaSystem

/// SHA-1 of the originals of clips: from the clip while length and time of the file are those it was made with, else by
/// reading the file (rule R14, trap 14).
struct ClipChecksums {
    let store: LibraryStore
    private var made: [ClipRecord] = []
    /// Of files that were read for another clip.
    private var known: [[UInt8]: ClipRecord] = [:]
    /// Where a file system did not answer: its other files are not waited for.
    var silent: Set<[UInt8]> = []

    init(store: LibraryStore) {
        self.store = store
    }

    /// The checksum of a clip's file.
    mutating func checksum(of clip: ClipRecord) async throws(ClipOriginal.Trouble) -> ImmichChecksum {
        guard let source = clip.source else { throw .away("no file is known") }
        let directory = source.directoryOfPath
        guard !silent.contains(directory) else { throw .silent }
        let candidates = [clip, known[source]].compactMap { $0 }
        let original: ClipOriginal
        do {
            original = try await ClipOriginal(source) { status in
                !candidates.contains { $0.checksum(of: status) != nil }
            }
        } catch {
            if case .silent = error { silent.insert(directory) }
            throw error
        }
        guard let digests = original.digests else {
            guard let known = candidates.lazy.compactMap({ $0.checksum(of: original.file.status) }).first else {
                throw .away("no checksum was made")
            }
            return known
        }
        var clip = clip
        clip.size = original.file.status.size
        clip.modifiedNanoseconds = original.file.status.modificationNanoseconds
        clip.sha1 = digests.sha1Hex
        clip.sha256 = digests.sha256.hex
        known[source] = clip
        made.append(clip)
        return ImmichChecksum(digests.sha1)
    }

    /// Keeps what was made, all at once. It saves reading the files again, no more: a store that fails says so elsewhere.
    mutating func keep() {
        guard !made.isEmpty else { return }
        try? store.keepChecksums(of: made)
        made = []
    }
}

extension ClipRecord {
    /// The checksum that is known, while the file is as it was then.
    fileprivate func checksum(of status: FileIdentity) -> ImmichChecksum? {
        guard isUnchanged(status) else { return nil }
        return sha1.flatMap(ImmichChecksum.init(hex:))
    }
}
