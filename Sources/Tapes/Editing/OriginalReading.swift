internal import MediaCrypto
internal import MediaFiles
internal import MediaSystem

/// Reads originals, never writes them, and waits for no file system for ever (rule R14).
enum OriginalReading {
    /// An original that could be read.
    struct Original: Sendable {
        var status: FileIdentity
        /// nil when they were not wanted.
        var digests: FileDigests?
    }

    /// How long a file system may take for one block.
    static let patience = Duration.seconds(30)

    /// Opens a file and makes its digests in one reading.
    ///
    /// - Parameters:
    ///   - path: Absolute, as bytes.
    ///   - isKnown: Whether the digests of a file of this status are not wanted.
    /// - Returns: nil when it cannot be read to its end, or is not the same before and after.
    /// - Throws: `TapesError` `.cancelled`.
    static func read(
        _ path: [UInt8],
        unless isKnown: @escaping @Sendable (FileIdentity) -> Bool = { _ in false }
    ) async throws(TapesError) -> Original? {
        do {
            let original = try await ClipOriginal(path) { !isKnown($0) }
            return Original(status: original.file.status, digests: original.digests)
        } catch .cancelled {
            throw TapesError(.cancelled)
        } catch {
            return nil
        }
    }

    /// Whether there is a regular file at a path; nil when its file system does not answer.
    ///
    /// - Throws: `TapesError` `.cancelled`.
    static func isPresent(_ path: [UInt8]) async throws(TapesError) -> Bool? {
        try await bounded { _ in FileIdentity(ofRegularFile: path) != nil }
    }

    /// Runs work on a file system; nil when that does not answer.
    ///
    /// - Throws: `TapesError` `.cancelled`.
    static func bounded<Value: Sendable>(
        _ work: @escaping @Sendable (WorkSteps) throws(AlbumError) -> Value
    ) async throws(TapesError) -> Value? {
        do {
            return try await BoundedWork.run(stallLimit: patience, work)
        } catch {
            guard error.kind != .cancelled else { throw TapesError(.cancelled) }
            return nil
        }
    }
}
