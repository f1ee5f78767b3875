internal import MediaCrypto
internal import MediaFiles
public import MediaStore

extension TapeEditor {
    /// Makes the checksums that a clip lacks, or whose file has changed: SHA-1 and SHA-256 in one reading.
    ///
    /// A file that changes while it is read gets none. Cancelling ends it with `.cancelled`.
    ///
    /// - Parameter clip: A clip as the store has it.
    /// - Returns: The clip, kept; unchanged when its original cannot be read.
    /// - Throws: `TapesError` `.storeUnusable`, `.cancelled`.
    public func checksum(_ clip: ClipRecord) async throws(TapesError) -> ClipRecord {
        guard let source = clip.source, let file = await OriginalReading.open(source) else { return clip }
        if clip.sha1 != nil, clip.sha256 != nil, clip.size == file.status.size,
            clip.modifiedNanoseconds == file.status.modificationNanoseconds
        {
            return clip
        }
        guard let digests = try await OriginalReading.digests(of: file) else { return clip }
        var known = clip
        known.size = file.status.size
        known.modifiedNanoseconds = file.status.modificationNanoseconds
        known.sha1 = digests.sha1Hex
        known.sha256 = digests.sha256.hex
        try stored { [known] () throws(StoreError) in try store.keepChecksums(of: [known]) }
        return known
    }
}

/// Reading originals, never writing them.
enum OriginalReading {
    /// Opens an original away from Swift's pool; nil when it cannot be read.
    static func open(_ path: [UInt8]) async -> SourceFile? {
        await BlockingWork.run { try? SourceFile(path: path) }
    }

    /// The digests of an open file; nil when it cannot be read to its end, or is not the same before and after.
    ///
    /// - Throws: `TapesError` `.cancelled`.
    static func digests(of file: SourceFile) async throws(TapesError) -> FileDigests? {
        let digests: FileDigests
        do {
            digests = try await FileDigests.ofFile(descriptor: file.descriptor, byteCount: file.status.size)
        } catch is CancellationError {
            throw TapesError(.cancelled)
        } catch {
            return nil
        }
        let current = await BlockingWork.run { try? file.currentStatus() }
        return current == file.status ? digests : nil
    }
}
