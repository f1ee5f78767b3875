internal import Foundation
internal import MediaCrypto
internal import MediaStore
internal import Tus

/// The tus side of one upload, in memory and in the journal at once. Whoever holds the upload's lock has the only one.
actor TusJournal {
    private let store: TokenStore
    private(set) var record: TusRecord
    /// Saves go one after the other: an older state must never replace a newer one.
    private var lastSave: Task<StoreError?, Never>?

    init(_ record: TusRecord, store: TokenStore) {
        self.record = record
        self.store = store
    }

    /// Creation of a part was answered. `chunkBytes` is the size of its chunks where it must not change.
    func created(_ part: Int, _ creation: TusCreation, chunkBytes: Int64? = nil) async throws(StoreError) {
        record.parts[part].tusID = creation.id
        record.parts[part].expiresAt = creation.expiresAt
        record.parts[part].createdAt = Date()
        record.parts[part].chunkBytes = chunkBytes
        record.parts[part].proofs = []
        try await save()
    }

    /// The server has forgotten a part.
    func lost(_ part: Int) async throws(StoreError) {
        record.parts[part].tusID = nil
        record.parts[part].expiresAt = nil
        record.parts[part].createdAt = nil
        record.parts[part].chunkBytes = nil
        record.parts[part].proofs = []
        record.finalTusID = nil
        try await save()
    }

    /// Keeps what a part's first bytes hash to. Two are enough: the server has the older one's bytes for certain, and the
    /// newer one's perhaps. A chunk that is tried again, perhaps with another length, replaces only its own.
    func keep(_ proof: TusProof, of part: Int) async throws(StoreError) {
        let kept = TusRecord.Proof(offset: proof.offset, digest: proof.digest.hex)
        let certain = record.parts[part].proofs.filter { $0.offset < proof.offset }
        record.parts[part].proofs = certain.suffix(1) + [kept]
        try await save()
    }

    /// All bytes are on the server under this id.
    func completed(as tusID: String) async throws(StoreError) {
        guard record.finalTusID != tusID else { return }
        record.finalTusID = tusID
        try await save()
    }

    /// The last chunk has not arrived after all: the server has stored nothing, and sending continues.
    func undelivered() async throws(StoreError) {
        for part in record.parts.indices {
            let end = record.parts[part].byteCount
            record.parts[part].proofs.removeAll { $0.offset == end }
        }
        record.finalTusID = nil
        record.finalizeStartedAt = nil
        try await save()
    }

    /// A finalize request is about to be sent, or its answer was lost just now. The server may store the file from here
    /// on.
    func finalizing(at time: Date = Date()) async throws(StoreError) {
        record.finalizeStartedAt = time
        try await save()
    }

    /// Records now and then that the request is still in flight, until the task is cancelled: the time in which a later process
    /// does not repeat it counts from its end.
    nonisolated func pulse(every interval: Duration) -> Task<Void, Never> {
        Task {
            while (try? await Task.sleep(for: interval)) != nil {
                // A missed record only makes that time slightly shorter; the next change of the journal reports a
                // store that fails.
                try? await finalizing()
            }
        }
    }

    /// The server has refused, and is not at work.
    func finalizeRefused() async throws(StoreError) {
        record.finalizeStartedAt = nil
        try await save()
    }

    /// Lays the file out anew; nothing of it is on the server.
    func restart(_ parts: [TusRecord.Part]) async throws(StoreError) {
        record = TusRecord(uploadID: record.uploadID, parts: parts)
        try await save()
    }

    /// There is nothing more to go on with.
    func forget() async throws(StoreError) {
        try await restart([])
    }

    private func save() async throws(StoreError) {
        let (record, store, previous) = (record, store, lastSave)
        let save = Task { () -> StoreError? in
            _ = await previous?.value
            do throws(StoreError) {
                try await store.save(record)
                return nil
            } catch {
                return error
            }
        }
        lastSave = save
        if let error = await save.value {
            throw error
        }
    }
}

extension TusRecord {
    /// Everything of the upload that the server may hold.
    var tusIDs: [String] {
        var ids = parts.compactMap(\.tusID)
        if let finalTusID, !ids.contains(finalTusID) {
            ids.append(finalTusID)
        }
        return ids
    }

    /// A file's bytes in equal parts; the last one may be a little shorter.
    static func layout(byteCount: Int64, parts: Int) -> [Part] {
        let count = Int64(max(1, parts))
        let size = (byteCount + count - 1) / count
        return stride(from: 0, to: byteCount, by: Int64.Stride(size)).map { start in
            Part(start: start, byteCount: min(size, byteCount - start))
        }
    }
}

extension TusError {
    /// Changes the journal; what the store throws becomes `.journal`.
    static func journalling(_ change: () async throws(StoreError) -> Void) async throws(TusError) {
        do {
            try await change()
        } catch {
            throw TusError(.journal, detail: error.detail, underlying: error)
        }
    }
}
