internal import Foundation
internal import MediaCore
internal import MediaCrypto
internal import MediaStore
internal import MediaTransport
internal import Synchronization
internal import Tus

/// The tus state of one upload, in memory and in the journal. Only the holder of the upload's lock has an instance.
actor TusJournal {
    private let store: TokenStore
    private let now: @Sendable () -> Date
    private(set) var record: TusRecord
    /// The parts for which this run has begun to send a chunk.
    private var begun: Set<Int> = []
    /// Saves run in order: an older state must never replace a newer one.
    private var lastSave: Task<Result<Void, StoreError>, Never>?

    init(_ record: TusRecord, store: TokenStore, now: @escaping @Sendable () -> Date = { Date() }) {
        self.record = record
        self.store = store
        self.now = now
    }

    /// A part was created. `chunkBytes` is the size of its chunks if that must not change.
    func created(_ part: Int, _ creation: TusCreation, chunkBytes: Int64? = nil) async throws(StoreError) {
        record.parts[part].tusID = creation.id
        record.parts[part].expiresAt = creation.expiresAt
        record.parts[part].createdAt = now()
        record.parts[part].chunkBytes = chunkBytes
        record.parts[part].lastChunk = nil
        record.parts[part].proofs = []
        try await save()
    }

    /// The server no longer has a part.
    func lost(_ part: Int) async throws(StoreError) {
        let (start, byteCount) = (record.parts[part].start, record.parts[part].byteCount)
        record.parts[part] = TusRecord.Part(start: start, byteCount: byteCount)
        record.finalTusID = nil
        try await save()
    }

    /// A chunk is about to be sent. It is stored if a later run could otherwise send the same chunk in the same size
    /// again; other chunks are stored with the next proof.
    func begin(_ chunk: TusRecord.Chunk, of part: Int) async throws(StoreError) {
        let last = record.parts[part].lastChunk
        record.parts[part].lastChunk = chunk
        let isFirst = begun.insert(part).inserted
        guard isFirst || chunk.byteCount < last?.byteCount ?? .max else { return }
        try await save()
    }

    /// Stores the proof of a part's first bytes. Two proofs are enough: the server certainly has the bytes of the older
    /// one, and perhaps those of the newer one. A retried chunk, perhaps of a different length, replaces only its own
    /// proof.
    func keep(_ proof: TusProof, of part: Int) async throws(StoreError) {
        let kept = TusRecord.Proof(offset: proof.offset, digest: proof.digest.hex)
        let certain = record.parts[part].proofs.filter { $0.offset < proof.offset }
        record.parts[part].proofs = certain.suffix(1) + [kept]
        if let last = record.parts[part].lastChunk {
            record.parts[part].lastChunk = TusRecord.Chunk(offset: proof.offset, byteCount: last.byteCount)
        }
        try await save()
    }

    /// All bytes are on the server under this ID.
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

    /// A finalize request is about to be sent, or its response was just lost. From here on, the server may store the
    /// file.
    func finalizing(at time: Date? = nil) async throws(StoreError) {
        record.finalizeStartedAt = time ?? now()
        try await save()
    }

    /// Periodically records that the request is still in flight, until the task is canceled, because the time during
    /// which a later process must not repeat it starts when the request ends.
    nonisolated func pulse(every interval: Duration) -> Task<Void, Never> {
        Task {
            while (try? await Task.sleep(for: interval)) != nil {
                // A missed record only makes that time slightly shorter; the next change to the journal reports a store
                // that fails.
                try? await finalizing()
            }
        }
    }

    /// The server has refused the finalize request, and is not working on it.
    func finalizeRefused() async throws(StoreError) {
        record.finalizeStartedAt = nil
        try await save()
    }

    /// Divides the file into new parts, none of which is on the server yet.
    func restart(_ parts: [TusRecord.Part]) async throws(StoreError) {
        record = TusRecord(uploadID: record.uploadID, parts: parts)
        try await save()
    }

    /// Nothing is left to resume.
    func forget() async throws(StoreError) {
        try await restart([])
    }

    private func save() async throws(StoreError) {
        let (record, store, previous) = (record, store, lastSave)
        let save = Task {
            _ = await previous?.value
            return await Result { () async throws(StoreError) in try await store.save(record) }
        }
        lastSave = save
        try await save.value.get()
    }
}

extension TusRecord {
    /// The IDs of all uploads that may be on the server.
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
    /// Changes the journal; store errors become `.journal`.
    static func journalling(_ change: () async throws(StoreError) -> Void) async throws(TusError) {
        do {
            try await change()
        } catch {
            throw TusError(.journal, detail: error.detail, underlying: error)
        }
    }
}

/// Limits the concurrent uploads from this machine to a server that allows five unfinished uploads for all users
/// together (gighive-d4 contract 4.5): four, so one remains for the server's own web page. Processes share the slots by
/// using locks.
final class TusSlots: Sendable {
    static let limit = 4

    private struct State {
        /// Uploads that this process has created on the server and is sending.
        var created = 0
        var watching: [CheckedContinuation<Bool, Never>] = []
    }

    private let slots = TransferSlots(TusSlots.limit)
    private let state = Mutex(State())

    /// Waits for a slot, first come, first served. A stop makes every holder release its slot, which also interrupts
    /// this wait.
    func take() async -> TusSlot {
        _ = await slots.take()
        return TusSlot(self)
    }

    /// Waits until another upload by this process finishes, which makes room on the server. Returns false if there is
    /// no such upload.
    func waitForAnother() async -> Bool {
        await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
            let mayWait = state.withLock { state in
                guard state.created > 0 else { return false }
                state.watching.append(continuation)
                return true
            }
            if !mayWait { continuation.resume(returning: false) }
        }
    }

    fileprivate func noteCreated() {
        state.withLock { $0.created += 1 }
    }

    /// An upload that was created on the server is no longer being sent.
    fileprivate func noteEnded() {
        let watching = state.withLock { state in
            state.created -= 1
            return exchange(&state.watching, with: [])
        }
        for continuation in watching { continuation.resume(returning: true) }
    }

    fileprivate func giveBack(wasCreated: Bool) {
        if wasCreated { noteEnded() }
        slots.giveBack()
    }
}

final class TusSlot: Sendable {
    private let owner: TusSlots
    private let state = Mutex((isHeld: true, isCreated: false))
    private let lock = Mutex<UploadLock?>(nil)

    fileprivate init(_ owner: TusSlots) {
        self.owner = owner
    }

    /// Holds a lock that other processes respect, until this slot is released.
    func keep(_ lock: UploadLock) {
        self.lock.withLock { $0 = lock }
    }

    /// The server has created an upload; counted once.
    func noteCreated() {
        let isFirst = state.withLock { state in
            defer { state.isCreated = true }
            return state.isHeld && !state.isCreated
        }
        if isFirst { owner.noteCreated() }
    }

    /// The upload that the server has created is no longer being sent; another follows.
    func noteAbandoned() {
        let wasCreated = state.withLock { state in
            defer { state.isCreated = false }
            return state.isHeld && state.isCreated
        }
        if wasCreated { owner.noteEnded() }
    }

    /// Waits until another upload by this process finishes. Returns false if there is no such upload.
    func waitForAnother() async -> Bool {
        noteAbandoned()
        return await owner.waitForAnother()
    }

    /// The upload is finished, or is no longer sent; later calls have no effect.
    func end() {
        let (wasHeld, wasCreated) = state.withLock { state in
            defer { state.isHeld = false }
            return (state.isHeld, state.isCreated)
        }
        lock.withLock { lock in
            lock?.release()
            lock = nil
        }
        if wasHeld { owner.giveBack(wasCreated: wasCreated) }
    }
}
