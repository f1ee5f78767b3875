package import CaptureSubmission
internal import MediaFiles
internal import MediaStore

extension CaptureVault {
    /// Finishes or discards what processes that have died left: a draft with a record is committed, one without was never
    /// reported to anybody, and its original is untouched. Drafts of living processes are left alone, and so is everything
    /// that the vault did not make.
    ///
    /// - Parameter hasRecord: Whether there is a record of a capture.
    /// - Throws: `CaptureError` `.vaultUnusable`, `.storeUnusable` when `hasRecord` throws something else than a
    ///   `CaptureError`.
    package func adopt(hasRecord: (String) throws -> Bool) throws(CaptureError) {
        guard let captures = try captures() else { return }
        var names: [String] = []
        try CaptureError.inVault { try captures.forEachName { names.append(String(decoding: $0, as: UTF8.self)) } }
        for name in names {
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
        // Asked with the lock held: whoever could still keep a record is gone.
        let isRecorded = try Self.answer(hasRecord, id)
        try CaptureError.inVault {
            if isRecorded {
                try Self.publish(draft, id, in: captures)
            } else {
                try Self.remove(draft, name, from: captures)
            }
        }
    }

    private static func answer(_ hasRecord: (String) throws -> Bool, _ id: String) throws(CaptureError) -> Bool {
        do {
            return try hasRecord(id)
        } catch let error as CaptureError {
            throw error
        } catch {
            throw CaptureError(.storeUnusable, detail: "\(error)", underlying: error)
        }
    }
}
