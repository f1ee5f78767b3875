public import CaptureSubmission
public import MediaCrypto
public import MediaFiles
public import MediaStore

/// Media and depth maps of captures, encrypted, in the data directory. Nothing in it is ever deleted by the program.
public struct CaptureVault: Sendable {
    /// What a blob holds.
    public enum Kind: String, Sendable, CaseIterable {
        case media, depth
    }

    /// The vault of a data directory.
    public init(directory: DataDirectory, key: VaultKey) {}

    /// A capture being put in: its files have temporary names until `commit`.
    public struct Draft: Sendable {
        /// The capture's id.
        public let id: String
    }

    /// Begins a capture.
    ///
    /// - Throws: `CaptureError` `.vaultUnusable`, `.diskFull`.
    public func begin(id: String) throws(CaptureError) -> Draft { throw CaptureError(.internalError) }

    /// Encrypts a file, and hashes the very bytes that are encrypted, in one pass; on the disk when this returns.
    ///
    /// Cancelling ends it with `.cancelled`.
    ///
    /// - Throws: `CaptureError` `.sourceChanged`, `.fileUnreadable`, `.diskFull`, `.vaultUnusable`.
    public func keepMedia(
        _ file: SourceFile,
        in draft: Draft,
        progress: (@Sendable (_ done: Int64, _ total: Int64) -> Void)? = nil
    ) async throws(CaptureError) -> SHA256Digest {
        throw CaptureError(.internalError)
    }

    /// Encrypts a depth map: little-endian binary32, its width and height in the associated data's place of the format.
    public func keepDepth(_ bytes: [UInt8], in draft: Draft) throws(CaptureError) { throw CaptureError(.internalError) }

    /// Removes a draft that gets no record.
    public func discard(_ draft: Draft) {}

    /// Gives the files their names. The record is kept before this; `adopt` finishes what a crash between left.
    public func commit(_ draft: Draft) throws(CaptureError) { throw CaptureError(.internalError) }

    /// Finishes or discards what processes that have died left: a draft with a record is committed, one without was never
    /// reported to anybody, and its original is untouched.
    public func adopt(hasRecord: (String) throws -> Bool) throws(CaptureError) {}

    /// Decrypts a blob to a file of its own and returns the digest of the plaintext.
    ///
    /// - Throws: `CaptureError` `.mediaMissing`, `.mediaDamaged` (nothing is left at the target), `.targetExists` …
    ///
    /// With `expecting`, a plaintext of another digest gives `.hashMismatch`, and nothing is left at the target.
    public func export(
        _ kind: Kind,
        of id: String,
        to path: [UInt8],
        expecting: SHA256Digest? = nil
    ) async throws(CaptureError) -> SHA256Digest {
        throw CaptureError(.internalError)
    }

    /// Decrypts a blob and returns the digest of the plaintext, without writing anything.
    public func check(_ kind: Kind, of id: String) async throws(CaptureError) -> SHA256Digest {
        throw CaptureError(.internalError)
    }
}

/// Where the vault's key comes from.
public enum VaultKey: Sendable {
    /// A file of the data directory (0600), made with the first capture.
    case file
    /// A program that prints 64 hexadecimal digits or base64 of 32 bytes on its first line; no shell.
    case command([String])
}
