package import CaptureSubmission
internal import Foundation
package import MediaCrypto
package import MediaFiles
package import MediaStore
internal import MediaSystem

/// Encrypted media and depth maps of captures, in the data directory. mediactl never deletes committed captures.
///
///     captures/            0700
///       vault.key          0600, 64 hexadecimal digits and a line feed (`VaultKey.file` only)
///       <id>/              0700, the capture's ID
///         media, depth     0600, `StreamingAEAD`
///       .draft-<id>/       the same while it is created; locked (`flock`) by its process
///
/// The associated data of a blob is `<id>|<kind>|1` in UTF-8, such as `0f1e2d3c-4b5a-4978-8695-a4b3c2d1e0ff|media|1`;
/// the last part is the format version. This prevents blobs from being exchanged (hash-only contract section 8).
package struct CaptureVault: Sendable {
    package enum Kind: String, Sendable, CaseIterable {
        /// The bytes of the photo or video.
        case media
        /// The depth map: little-endian binary32, row by row.
        case depth
    }

    /// An uncommitted capture: its files have temporary names. Its lock is held as long as this value, or a copy of it,
    /// is in use.
    package struct Draft: Sendable {
        package let id: String
        let directory: TargetDirectory
    }

    let directory: DataDirectory
    let keyring: VaultKeyring

    package init(directory: DataDirectory, key: VaultKey) {
        self.directory = directory
        keyring = VaultKeyring(key, in: directory)
    }

    static let draftPrefix = ".draft-"

    static func associatedData(_ kind: Kind, of id: String) -> [UInt8] { Array("\(id)|\(kind.rawValue)|1".utf8) }

    /// nil if there are no captures yet.
    func captures() throws(CaptureError) -> TargetDirectory? {
        try CaptureError.inVault {
            try TargetDirectory.open(Array(directory.path(of: .captures).utf8), creating: false)
        }
    }
}

extension CaptureVault {
    /// Starts a capture with an unused ID, a lowercase UUID. The draft is locked.
    ///
    /// - Throws: `.vaultUnusable`, `.diskFull`.
    package func begin(id: String) throws(CaptureError) -> Draft {
        guard CaptureID.isValid(id) else {
            throw CaptureError(.vaultUnusable, detail: "not the ID of a capture", value: id)
        }
        return try CaptureError.inVault {
            let path = Array(try directory.make(.captures).utf8)
            guard let captures = try TargetDirectory.open(path, creating: false),
                try captures.status(of: Array(id.utf8)) == nil
            else { throw CaptureError(.vaultUnusable, detail: "a capture with this ID already exists", value: id) }
            while true {
                // Until it is locked, the draft has a different UUID in its name: a process that adopts drafts may
                // remove it first, in which case a new name is used.
                let name = Self.draftPrefix + UUID().uuidString.lowercased()
                guard let draft = try captures.makePrivateSubdirectory(name),
                    try Self.hold(draft, name, in: captures)
                else { continue }
                try captures.rename(Array(name.utf8), to: Array((Self.draftPrefix + id).utf8))
                return Draft(id: id, directory: draft)
            }
        }
    }

    /// - Returns: false if another process has locked the draft, or it was removed.
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

    /// Encrypts a file, and hashes exactly the bytes that it encrypts, in one pass. The result is synced when this
    /// returns. Uses a few MiB of memory for any size. The first capture creates the key. Cancellation throws
    /// `.cancelled`. The original must not change while it is read. `progress` is called with the number of finished
    /// bytes and the total, on another thread. Returns the SHA-256 of the file.
    ///
    /// - Throws: `.sourceChanged`, `.fileUnreadable`, `.diskFull`, `.vaultUnusable`, including for a key that opens
    ///   none of the newest captures. The draft then contains no data from the file.
    package func keepMedia(
        _ file: SourceFile,
        in draft: Draft,
        progress: (@Sendable (_ done: Int64, _ total: Int64) -> Void)? = nil
    ) async throws(CaptureError) -> SHA256Digest {
        let key = try await keyring.sealingKey { key throws(CaptureError) in try await checkKey(key) }
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
        let blob = try await BlockingWork.run {
            let blob = try BlobFile(Kind.media.rawValue, in: draft.directory)
            try blob.file.reserve(StreamingAEAD.ciphertextByteCount(of: total))
            return blob
        }
        let digest = try await StreamingAEAD.encrypt(
            file: file.descriptor,
            byteCount: total,
            key: key,
            associatedData: Self.associatedData(.media, of: draft.id)
        ) { bytes in
            let written = try blob.append(bytes)
            // Disregards the header and the tags, which are a few bytes per million; the last call reports the end.
            progress?(min(written, total), total)
        }
        _ = try await BlockingWork.run { try blob.file.sync() }
        return digest
    }

    /// If the file changed, that takes precedence over the error of reading it.
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
        CaptureError(.sourceChanged, detail: "changed while it was being read", isRetryable: true, path: file.path)
    }

    /// Encrypts a depth map. The result is synced when this returns. Blocks. The map is little-endian binary32, row by
    /// row; the record has the width and height. Called after `keepMedia`.
    ///
    /// - Throws: `.diskFull`, `.vaultUnusable`.
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
            _ = try blob.file.sync()
        } catch {
            try? draft.directory.remove(Array(Kind.depth.rawValue.utf8))
            throw .ofVault(error)
        }
    }

    /// Removes a draft without a record. `adopt` removes any leftovers.
    package func discard(_ draft: Draft) {
        guard let captures = try? captures() else { return }
        try? Self.remove(draft.directory, Self.draftPrefix + draft.id, from: captures)
    }

    /// Gives the files their final names and syncs. The record must be stored first: after a crash in between, `adopt`
    /// then commits the draft. Blocks. The draft is unusable afterwards.
    ///
    /// - Throws: `.vaultUnusable`; the draft is left to `adopt`.
    package func commit(_ draft: Draft) throws(CaptureError) {
        guard let captures = try captures() else {
            throw CaptureError(.vaultUnusable, detail: "the vault no longer exists")
        }
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

extension CaptureVault {
    /// Decrypts a blob to a new file (0600) and returns the digest of the plaintext. The file gets its final name only
    /// when it is complete and verified, and does not replace an existing file. Cancellation throws `.cancelled`.
    /// `path` is the target, as bytes; its directory must exist. `expecting` is the required digest of the plaintext.
    ///
    /// - Throws: `.mediaMissing`, `.mediaDamaged`, `.checksumMismatch`, `.vaultUnusable`, `.targetExists`,
    ///   `.targetUnusable`, `.diskFull`, `.busy`; nothing is then left at the target.
    package func export(
        _ kind: Kind,
        of id: String,
        to path: [UInt8],
        expecting: SHA256Digest? = nil
    ) async throws(CaptureError) -> SHA256Digest {
        let source = try blob(kind, of: id)
        let key = try await keyring.key(creating: false)
        let target = try Self.target(path)
        do {
            let blob = try await BlockingWork.run {
                try BlobFile(".\(id)-\(kind.rawValue).mediactl-part", in: target.directory)
            }
            do {
                try await BlockingWork.run {
                    try blob.file.reserve(StreamingAEAD.plaintextByteCount(of: source.status.size))
                }
                let digest = try await decrypt(source, kind, of: id, with: key) { try blob.append($0) }
                if let expecting, digest != expecting {
                    throw CaptureError(.checksumMismatch, detail: "the vault has \(digest.hex)", value: id)
                }
                try await BlockingWork.run {
                    _ = try blob.file.sync()
                    try blob.file.publish(as: target.name)
                }
                return digest
            } catch {
                try? blob.file.discard()
                throw error
            }
        } catch let error as FileWriteError {
            throw Self.failure(error, target: path)
        } catch {
            throw .ofVault(error)
        }
    }

    /// Opens the directory of an export, and checks that the name, as bytes, is free; publishing checks it again.
    ///
    /// - Throws: `.targetExists`, `.targetUnusable`.
    private static func target(_ path: [UInt8]) throws(CaptureError) -> (directory: TargetDirectory, name: [UInt8]) {
        let (name, parent) = (path.nameOfPath, path.directoryOfPath)
        guard !name.isEmpty, name != Array(".".utf8), name != Array("..".utf8) else {
            throw CaptureError(.targetUnusable, detail: "not a file name", path: path)
        }
        do throws(FileWriteError) {
            let directory = try TargetDirectory.open(parent, creating: false)
            guard try directory?.status(of: name) == nil else { throw FileWriteError(.exists, path: path) }
            if let directory { return (directory, name) }
        } catch {
            throw failure(error, target: path)
        }
        throw CaptureError(.targetUnusable, detail: "no such directory", path: parent)
    }

    private static func failure(_ error: FileWriteError, target path: [UInt8]) -> CaptureError {
        CaptureError(error.code, detail: error.detail, path: path, underlying: error)
    }

    /// Decrypts a blob and returns the digest of the plaintext, without writing anything.
    ///
    /// - Throws: `.mediaMissing`, `.mediaDamaged`, `.vaultUnusable`.
    package func check(_ kind: Kind, of id: String) async throws(CaptureError) -> SHA256Digest {
        let source = try blob(kind, of: id)
        let key = try await keyring.key(creating: false)
        do {
            return try await decrypt(source, kind, of: id, with: key) { _ in }
        } catch {
            throw .ofVault(error)
        }
    }

    private func decrypt(
        _ source: SourceFile,
        _ kind: Kind,
        of id: String,
        with key: StreamingAEAD.Key,
        _ body: @escaping @Sendable (UnsafeRawBufferPointer) throws -> Void
    ) async throws -> SHA256Digest {
        defer { withExtendedLifetime(source) {} }
        do {
            return try await StreamingAEAD.decrypt(
                file: source.descriptor,
                key: key,
                associatedData: Self.associatedData(kind, of: id),
                body
            ).digest
        } catch let error as CryptoError where error.isDamaged {
            throw Self.damaged(kind, id, path: source.path)
        }
    }

    /// Why a blob cannot be read: `.mediaMissing`, `.mediaDamaged` if it is empty, or `.vaultUnusable`; nil if it can
    /// be read. Its content is not checked. Does not require a key.
    package func problem(with kind: Kind, of id: String) -> OutcomeCode? {
        do throws(CaptureError) {
            _ = try blob(kind, of: id)
            return nil
        } catch {
            return error.code
        }
    }

    private func blob(_ kind: Kind, of id: String) throws(CaptureError) -> SourceFile {
        guard CaptureID.isValid(id) else {
            throw CaptureError(.mediaMissing, detail: "not the ID of a capture", value: id)
        }
        let path = Array("\(directory.path(of: .captures))/\(id)/\(kind.rawValue)".utf8)
        do {
            return try SourceFile(path: path)
        } catch {
            switch error.kind {
            case .notFound: throw CaptureError(.mediaMissing, detail: "not in the vault", path: path, value: id)
            case .empty: throw Self.damaged(kind, id, path: path)
            default: throw CaptureError(.vaultUnusable, detail: "\(error.kind)", path: path, underlying: error)
            }
        }
    }

    private static func damaged(_ kind: Kind, _ id: String, path: [UInt8]) -> CaptureError {
        CaptureError(
            .mediaDamaged,
            detail: "the \(kind.rawValue) in the vault was changed, or its key was replaced",
            path: path,
            value: id
        )
    }
}

extension StreamingAEAD {
    /// The length of the plaintext; 0 for an invalid length.
    fileprivate static func plaintextByteCount(of ciphertextByteCount: Int64) -> Int64 {
        let segments = (ciphertextByteCount + (1 << 20) - 1) >> 20
        return max(0, ciphertextByteCount - 40 - 16 * segments)
    }
}

extension CaptureVault {
    /// Recovers from crashed processes: commits drafts that have a record and removes drafts that do not, which were
    /// never reported and whose originals are unchanged. Ignores drafts of running processes and entries not created by
    /// the vault.
    ///
    /// - Throws: `.vaultUnusable`, `.storeUnusable`.
    package func adopt(hasRecord: (String) throws -> Bool) throws(CaptureError) {
        guard let captures = try captures() else { return }
        for name in try CaptureError.inVault({ try captures.names() }).map({ String(decoding: $0, as: UTF8.self) }) {
            if name.hasPrefix(VaultKeyFile.draftPrefix) {
                try CaptureError.inVault { try VaultKeyFile.discardDraft(name, in: captures) }
            } else if name.hasPrefix(Self.draftPrefix) {
                try adopt(name, in: captures, hasRecord)
            }
        }
    }

    private func adopt(
        _ name: String,
        in captures: TargetDirectory,
        _ hasRecord: (String) throws -> Bool
    ) throws(CaptureError) {
        let id = String(name.dropFirst(Self.draftPrefix.count))
        guard CaptureID.isValid(id) else { return }
        let draft = try CaptureError.inVault { () throws -> TargetDirectory? in
            guard let draft = try captures.subdirectory(name, creating: false) else { return nil }
            return try Self.hold(draft, name, in: captures) ? draft : nil
        }
        guard let draft else { return }
        // Checked while holding the lock: other processes can no longer store a record.
        let isRecorded: Bool
        do {
            isRecorded = try hasRecord(id)
        } catch {
            throw CaptureError(.storeUnusable, detail: "\(error)", underlying: error)
        }
        try CaptureError.inVault {
            if isRecorded {
                try Self.publish(draft, id, in: captures)
            } else {
                try Self.remove(draft, name, from: captures)
            }
        }
    }
}
