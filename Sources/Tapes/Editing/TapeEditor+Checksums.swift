internal import MediaCrypto
internal import MediaFiles
public import MediaStore
internal import MediaSystem

extension TapeEditor {
    /// Makes the checksums that a clip lacks, or whose file has changed: SHA-1 and SHA-256 in one reading.
    ///
    /// A file that changes while it is read gets none, and one whose file system does not answer for 30 seconds neither (rule
    /// R14). Cancelling ends it with `.cancelled`.
    ///
    /// - Parameter clip: A clip as the store has it.
    /// - Returns: The clip, kept; unchanged when its original cannot be read.
    /// - Throws: `TapesError` `.storeUnusable`, `.cancelled`.
    public func checksum(_ clip: ClipRecord) async throws(TapesError) -> ClipRecord {
        guard let source = clip.source else { return clip }
        let original = try await OriginalReading.read(source) { status in
            clip.sha1 != nil && clip.sha256 != nil && clip.isUnchanged(status)
        }
        guard let original, let digests = original.digests else { return clip }
        var known = clip
        known.size = original.status.size
        known.modifiedNanoseconds = original.status.modificationNanoseconds
        known.sha1 = digests.sha1Hex
        known.sha256 = digests.sha256.hex
        try stored { [known] () throws(StoreError) in try store.keepChecksums(of: [known]) }
        return known
    }
}

extension ClipRecord {
    /// Whether its file still is the one that its checksums were made of.
    func isUnchanged(_ status: FileIdentity) -> Bool {
        size == status.size && modifiedNanoseconds == status.modificationNanoseconds
    }
}
