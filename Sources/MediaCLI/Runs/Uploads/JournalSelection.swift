internal import ArgumentParser
internal import GigHive
internal import MediaStore

/// Uploads of the journal that a command is about.
struct JournalSelection: Sendable {
    let store: StoreSession
    /// Only uploads to this host; nil for all.
    let host: String?

    /// Refuses what cannot be an id of the journal.
    ///
    /// - Throws: `ValidationError`.
    static func check(_ ids: [String]) throws {
        for id in ids where !id.hasPrefix("u-") {
            throw ValidationError(
                "\(ErrorCatalogue.quoted(id)) is not an upload ID (u-…); list them with: mediactl uploads status"
            )
        }
    }

    /// The uploads with these ids, each once.
    ///
    /// - Throws: `Diagnosis` for an id that the journal does not know; `StoreError`.
    func named(_ ids: [String]) throws -> [UploadRecord] {
        return try ids.uniqued { $0 }.map { id in
            guard let record = try store.store.upload(id), host == nil || record.host == host else {
                throw Diagnosis(
                    "unknown_upload",
                    "no upload \(ErrorCatalogue.quoted(id)) in the journal"
                        + (host.map { " for \(ErrorCatalogue.clean($0))" } ?? ""),
                    hint: "list the unfinished uploads with: mediactl uploads status",
                    exitCode: .notFound
                )
            }
            return record
        }
    }

    /// The uploads that can go on, oldest first; only one unless `all`.
    ///
    /// - Throws: `Diagnosis` (usage) for several; `StoreError`, `GigHiveError`.
    func resumable(all: Bool) throws -> [UploadRecord] {
        let records = try store.store.uploads(states: [], host: host).filter { try Self.isResumable($0, in: store) }
        guard all || records.count <= 1 else {
            throw Diagnosis.usage(
                "\(records.count) uploads can be resumed",
                hint: "specify an ID, or use --all; list them with: mediactl uploads status"
            )
        }
        return records.reversed()
    }

    /// Whether an upload can be resumed now; not if another process is sending it.
    ///
    /// - Throws: `StoreError`, `GigHiveError`.
    static func isResumable(_ record: UploadRecord, in store: StoreSession) throws -> Bool {
        try Uploader.isResumable(record, in: store.store) && !isBeingSent(record, in: store)
    }

    /// The same for the current state of an upload in the journal.
    static func isResumable(_ uploadID: String, in store: StoreSession) throws -> Bool {
        try store.store.upload(uploadID).map { try isResumable($0, in: store) } ?? false
    }

    /// Whether another process is sending it. The check holds the lock for a moment; a process that starts the upload
    /// in that moment is refused.
    static func isBeingSent(_ record: UploadRecord, in store: StoreSession) throws -> Bool {
        guard let lock = try UploadLock.acquire(record.uploadID, in: store.directory) else { return true }
        lock.release()
        return false
    }
}
