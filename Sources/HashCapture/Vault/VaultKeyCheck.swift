internal import CaptureSubmission
internal import MediaCrypto
internal import MediaFiles
internal import MediaStore
internal import MediaSystem

extension CaptureVault {
    /// Number of captures to try, so one damaged copy is not mistaken for a wrong key.
    private static let triedCaptures = 8

    /// Checks that a key opens one of the newest captures before new data is encrypted with it. A vault whose captures
    /// use several keys could not be read completely after one key is lost.
    ///
    /// - Throws: `.vaultUnusable` if the key opens none of them.
    func checkKey(_ key: StreamingAEAD.Key) async throws(CaptureError) {
        let ids = try newestCaptures()
        guard !ids.isEmpty else { return }
        for id in ids {
            if try await opens(id, key) { return }
        }
        throw CaptureError(
            .vaultUnusable,
            detail: "its key decrypts none of the newest captures, so it was replaced; "
                + "restore the earlier key from a backup, or use another --data-dir",
            path: Array(directory.path(of: .captures).utf8)
        )
    }

    /// Captures with media, newest first.
    private func newestCaptures() throws(CaptureError) -> [String] {
        guard let captures = try captures() else { return [] }
        return try CaptureError.inVault {
            let names = try captures.names().map { String(decoding: $0, as: UTF8.self) }
            let kept = try names.filter(CaptureID.isValid).compactMap { name in
                try captures.status(of: Array(name.utf8)).map { (name: name, time: $0.modificationNanoseconds) }
            }
            var newest: [String] = []
            for (name, _) in kept.sorted(by: { $0.time > $1.time }) where newest.count < Self.triedCaptures {
                let capture = try captures.subdirectory(name, creating: false)
                if try capture?.status(of: Array(Kind.media.rawValue.utf8)) != nil { newest.append(name) }
            }
            return newest
        }
    }

    /// Whether a key opens the first segment of a capture's media.
    private func opens(_ id: String, _ key: StreamingAEAD.Key) async throws(CaptureError) -> Bool {
        struct Opened: Error {}
        let path = Array("\(directory.path(of: .captures))/\(id)/\(Kind.media.rawValue)".utf8)
        do {
            let file = try SourceFile(path: path)
            defer { withExtendedLifetime(file) {} }
            _ = try await StreamingAEAD.decrypt(
                file: file.descriptor,
                key: key,
                associatedData: Self.associatedData(.media, of: id)
            ) { _ in throw Opened() }
            return true
        } catch is Opened {
            return true
        } catch is CancellationError {
            throw CaptureError(.cancelled)
        } catch {
            // The capture is unreadable, damaged, or encrypted with a different key.
            return false
        }
    }
}
