internal import MediaCrypto
internal import MediaFiles
internal import MediaSystem

/// SHA-256 of a whole file.
enum FileDigest {
    /// Reads a file of a given identity to its end, away from Swift's own threads.
    ///
    /// - Returns: nil when the file is gone, unreadable, or another than `identity`.
    static func hex(path: [UInt8], identity: FileIdentity) async -> String? {
        guard let file = try? SourceFile(path: path), file.status == identity,
            let digest = try? await SHA256Digest.ofFile(descriptor: file.descriptor, byteCount: identity.size),
            let status = try? file.currentStatus(), status == file.status
        else { return nil }
        return digest.hex
    }
}
