package import CaptureSubmission
internal import Foundation
package import MediaCrypto
package import MediaFiles
internal import MediaStore
internal import MediaSystem

extension CaptureVault {
    /// Begins a capture.
    ///
    /// - Parameter id: A UUID in lower case that no capture has.
    /// - Returns: The draft, locked.
    /// - Throws: `CaptureError` `.vaultUnusable`, `.diskFull`.
    package func begin(id: String) throws(CaptureError) -> Draft {
        guard CaptureID.isValid(id) else { throw CaptureError(.vaultUnusable, detail: "no id of a capture", value: id) }
        return try CaptureError.inVault {
            let path = Array(try directory.make(.captures).utf8)
            guard let captures = try TargetDirectory.open(path, creating: false),
                try captures.status(of: Array(id.utf8)) == nil
            else { throw CaptureError(.vaultUnusable, detail: "there is a capture of this id", value: id) }
            while true {
                // Under a name of its own until it is locked: whoever adopts drafts may take it away before, and then
                // the next name is tried.
                let name = Self.draftPrefix + UUID().uuidString.lowercased()
                guard let draft = try captures.makePrivateSubdirectory(name),
                    try Self.hold(draft, name, in: captures)
                else { continue }
                try captures.rename(Array(name.utf8), to: Array((Self.draftPrefix + id).utf8))
                return Draft(id: id, directory: draft)
            }
        }
    }

    /// Locks a draft.
    ///
    /// - Returns: false when somebody else has it, or it is gone.
    static func hold(
        _ draft: TargetDirectory,
        _ name: String,
        in captures: TargetDirectory
    ) throws(FileWriteError) -> Bool {
        do throws(FileWriteError) {
            try draft.lock()
        } catch {
            guard error.kind == .busy else { throw error }
            return false
        }
        return try draft.isEntry(Array(name.utf8), of: captures)
    }

    /// Encrypts a file, and hashes the very bytes that are encrypted, in one pass; on the disk when this returns. Needs a
    /// few MiB of memory, whatever the size. The first capture makes the key.
    ///
    /// Cancelling ends it with `.cancelled`.
    ///
    /// - Parameters:
    ///   - file: The original; it must not change meanwhile.
    ///   - draft: From `begin`.
    ///   - progress: Gets the bytes done and their total, on another thread.
    /// - Returns: The SHA-256 of the file.
    /// - Throws: `CaptureError` `.sourceChanged`, `.fileUnreadable`, `.diskFull`, `.vaultUnusable`. Nothing of the file is
    ///   left in the draft then.
    package func keepMedia(
        _ file: SourceFile,
        in draft: Draft,
        progress: (@Sendable (_ done: Int64, _ total: Int64) -> Void)? = nil
    ) async throws(CaptureError) -> SHA256Digest {
        let key = try await keyring.key(creating: true)
        do {
            try Self.checkUnchanged(file)
            let digest = try await encrypt(file, with: key, in: draft, progress: progress)
            try Self.checkUnchanged(file)
            return digest
        } catch {
            try? draft.directory.remove(Array(Kind.media.rawValue.utf8))
            throw Self.failure(error, reading: file)
        }
    }

    private func encrypt(
        _ file: SourceFile,
        with key: StreamingAEAD.Key,
        in draft: Draft,
        progress: (@Sendable (Int64, Int64) -> Void)?
    ) async throws -> SHA256Digest {
        let total = file.status.size
        let blob = try await FileReading.onOwnThread { _ in
            let blob = try BlobFile(Kind.media.rawValue, in: draft.directory)
            try blob.reserve(StreamingAEAD.ciphertextByteCount(of: total))
            return blob
        }
        let digest = try await StreamingAEAD.encrypt(
            file: file.descriptor,
            byteCount: total,
            key: key,
            associatedData: Self.associatedData(.media, of: draft.id)
        ) { bytes in
            let written = try blob.append(bytes)
            // Header and tags are a few bytes in a million; the last call is for the end.
            progress?(min(written, total), total)
        }
        try await FileReading.onOwnThread { _ in try blob.settle() }
        return digest
    }

    /// What became of the file counts more than what the reading made of it.
    private static func failure(_ error: any Error, reading file: SourceFile) -> CaptureError {
        if error is CryptoError, let status = try? file.currentStatus(), status != file.status {
            return changed(file)
        }
        if let error = error as? CryptoError {
            return CaptureError(.fileUnreadable, detail: error.detail, path: file.path, underlying: error)
        }
        if let error = error as? SourceFileError {
            return CaptureError(.fileUnreadable, path: file.path, underlying: error)
        }
        return .ofVault(error)
    }

    private static func checkUnchanged(_ file: SourceFile) throws {
        guard try file.currentStatus() == file.status else { throw changed(file) }
    }

    private static func changed(_ file: SourceFile) -> CaptureError {
        CaptureError(.sourceChanged, detail: "changed while it was read", isRetryable: true, path: file.path)
    }

    /// Encrypts a depth map; on the disk when this returns. Blocks.
    ///
    /// - Parameters:
    ///   - bytes: Little-endian binary32, row by row; width and height are the record's to keep.
    ///   - draft: From `begin`, after `keepMedia`.
    /// - Throws: `CaptureError` `.diskFull`, `.vaultUnusable`.
    package func keepDepth(_ bytes: [UInt8], in draft: Draft) throws(CaptureError) {
        let key = try keyring.knownKey()
        do {
            let blob = try BlobFile(Kind.depth.rawValue, in: draft.directory)
            var encryptor = try StreamingAEAD.Encryptor(
                key: key,
                associatedData: Self.associatedData(.depth, of: draft.id)
            ) { piece in _ = try blob.append(piece) }
            try bytes.withUnsafeBytes { try encryptor.update($0) }
            try encryptor.finish()
            try blob.settle()
        } catch {
            try? draft.directory.remove(Array(Kind.depth.rawValue.utf8))
            throw .ofVault(error)
        }
    }

    /// Removes a draft that gets no record.
    ///
    /// - Parameter draft: From `begin`; of no use afterwards. What cannot be removed is left to `adopt`.
    package func discard(_ draft: Draft) {
        guard let captures = try? captures() else { return }
        try? Self.remove(draft.directory, Self.draftPrefix + draft.id, from: captures)
    }

    /// Gives the files their names, and waits for the disk. The record is kept before this; `adopt` finishes what a crash
    /// between left. Blocks.
    ///
    /// - Parameter draft: From `begin`; of no use afterwards.
    /// - Throws: `CaptureError` `.vaultUnusable`; the draft stays for `adopt`.
    package func commit(_ draft: Draft) throws(CaptureError) {
        guard let captures = try captures() else { throw CaptureError(.vaultUnusable, detail: "the vault is gone") }
        try CaptureError.inVault { try Self.publish(draft.directory, draft.id, in: captures) }
    }

    static func publish(
        _ draft: TargetDirectory,
        _ id: String,
        in captures: TargetDirectory
    ) throws(FileWriteError) {
        try draft.synchronize()
        try captures.rename(Array((draftPrefix + id).utf8), to: Array(id.utf8))
        try captures.synchronize()
    }

    static func remove(
        _ draft: TargetDirectory,
        _ name: String,
        from captures: TargetDirectory
    ) throws(FileWriteError) {
        for kind in Kind.allCases { try draft.remove(Array(kind.rawValue.utf8)) }
        try captures.removeDirectory(Array(name.utf8))
    }
}
