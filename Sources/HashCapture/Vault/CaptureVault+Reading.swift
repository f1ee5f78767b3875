package import CaptureSubmission
package import MediaCrypto
internal import MediaFiles
internal import MediaStore
internal import MediaSystem

extension CaptureVault {
    /// Decrypts a blob to a file of its own (0600) and returns the digest of the plaintext. The file gets its name only when
    /// it is whole and right, and replaces nothing.
    ///
    /// Cancelling ends it with `.cancelled`.
    ///
    /// - Parameters:
    ///   - kind: Which blob.
    ///   - id: Of the capture.
    ///   - path: Where to, as bytes; its directory must be there.
    ///   - expecting: The digest that the plaintext must have.
    /// - Returns: The SHA-256 of the plaintext.
    /// - Throws: `CaptureError` `.mediaMissing`, `.mediaDamaged`, `.checksumMismatch`, `.vaultUnusable`, `.targetExists`,
    ///   `.targetUnusable`, `.diskFull`, `.busy`; nothing is left at the target then.
    package func export(
        _ kind: Kind,
        of id: String,
        to path: [UInt8],
        expecting: SHA256Digest? = nil
    ) async throws(CaptureError) -> SHA256Digest {
        let source = try blob(kind, of: id)
        let key = try await keyring.key(creating: false)
        let target = try ExportTarget(path, temporaryName: ".\(id)-\(kind.rawValue).mediactl-part")
        do {
            let file = try await FileReading.onOwnThread { _ in
                let file = try BlobFile(target.temporaryName, in: target.directory)
                try file.reserve(StreamingAEAD.plaintextByteCount(of: source.status.size))
                return file
            }
            do {
                let digest = try await decrypt(source, kind, of: id, with: key) { try file.append($0) }
                if let expecting, digest != expecting {
                    throw CaptureError(.checksumMismatch, detail: "the vault holds \(digest.hex)", value: id)
                }
                try await FileReading.onOwnThread { _ in
                    try file.settle()
                    try file.publish(as: target.name)
                }
                return digest
            } catch {
                file.discard()
                throw error
            }
        } catch let error as FileWriteError {
            throw ExportTarget.failure(error, path: path)
        } catch {
            throw .ofVault(error)
        }
    }

    /// Decrypts a blob and returns the digest of the plaintext, without writing anything.
    ///
    /// - Parameters:
    ///   - kind: Which blob.
    ///   - id: Of the capture.
    /// - Returns: The SHA-256 of the plaintext.
    /// - Throws: `CaptureError` `.mediaMissing`, `.mediaDamaged`, `.vaultUnusable`.
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

    private func blob(_ kind: Kind, of id: String) throws(CaptureError) -> SourceFile {
        guard CaptureID.isValid(id) else { throw CaptureError(.mediaMissing, detail: "no id of a capture", value: id) }
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
            detail: "the \(kind.rawValue) in the vault is not what was put in, or the key is another",
            path: path,
            value: id
        )
    }
}

extension StreamingAEAD {
    /// Bytes of plaintext in so many of ciphertext; 0 for what is none.
    fileprivate static func plaintextByteCount(of ciphertextByteCount: Int64) -> Int64 {
        let segments = (ciphertextByteCount + (1 << 20) - 1) >> 20
        return max(0, ciphertextByteCount - 40 - 16 * segments)
    }
}
