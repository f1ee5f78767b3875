internal import MediaCrypto
internal import MediaFiles
internal import MediaSystem

/// The SHA-256 of a local file.
enum LocalChecksum {
    /// Reads the file to its end.
    ///
    /// - Returns: 64 lower-case hexadecimal characters.
    /// - Throws: `SourceFileError`; `Diagnosis` when reading fails or the file changes meanwhile.
    static func hex(of path: String) async throws -> String {
        let file = try SourceFile(path: RawArguments.bytes(of: path))
        let digest: SHA256Digest
        do {
            digest = try await SHA256Digest.ofFile(descriptor: file.descriptor, byteCount: file.status.size)
        } catch let error as CryptoError {
            throw Diagnosis(
                "file_unreadable",
                "cannot read \(ErrorCatalogue.quoted(RawArguments.bytes(of: path))): \(ErrorCatalogue.clean("\(error)"))",
                exitCode: .usage
            )
        }
        guard try file.currentStatus() == file.status else {
            throw Diagnosis(
                "source_changed",
                "\(ErrorCatalogue.quoted(RawArguments.bytes(of: path))) changed while it was read",
                exitCode: .sourceChanged,
                isRetryable: true
            )
        }
        return digest.hex
    }
}
