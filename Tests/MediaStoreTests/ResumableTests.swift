import Foundation
import GRDB
import Testing

@testable import MediaStore

@Suite("Resumable uploads and guests in the journal")
struct ResumableTests {
    let fixture: StoreFixture
    let store: TokenStore
    private let id = "u-aaaaaaaaaaaaaaaa"

    init() throws {
        fixture = try StoreFixture()
        store = try fixture.store()
    }

    private func record(_ uploadID: String, tusID: String? = "t1", expiresAt: Date? = nil) -> TusRecord {
        TusRecord(
            uploadID: uploadID,
            parts: [TusRecord.Part(start: 0, byteCount: 12, tusID: tusID, expiresAt: expiresAt)]
        )
    }

    // MARK: tus state

    @Test("the tus state is read back unchanged, and replaced as a whole")
    func tusRoundTrip() async throws {
        try await store.plan(sampleRecord(id))
        #expect(try store.tusRecord(id) == nil)
        let full = TusRecord(
            uploadID: id,
            parts: [
                TusRecord.Part(
                    start: 0,
                    byteCount: 6_442_450_944,
                    tusID: "3f/\"é",
                    expiresAt: Date(timeIntervalSince1970: 1_780_000_000.123),
                    proofs: [
                        TusRecord.Proof(offset: 8_388_608, digest: String(repeating: "a", count: 64)),
                        TusRecord.Proof(offset: 16_777_216, digest: String(repeating: "b", count: 64)),
                    ]
                ),
                TusRecord.Part(start: 6_442_450_944, byteCount: 1),
            ],
            finalTusID: "joined",
            finalizeStartedAt: Date(timeIntervalSince1970: 1_780_000_001.5)
        )
        try await store.save(full)
        #expect(try store.tusRecord(id) == full)
        let afresh = record(id, tusID: nil)
        try await store.save(afresh)
        #expect(try store.tusRecord(id) == afresh)
    }

    @Test("the tus state of an unknown upload is refused")
    func unknownUpload() async throws {
        await #expect(throws: StoreError.self) { try await store.save(record(id)) }
        #expect(try store.tusRecord(id) == nil)
    }

    @Test("unreadable parts are reported, not treated as missing")
    func unreadableParts() async throws {
        try await store.plan(sampleRecord(id))
        try await store.save(record(id))
        try await fixture.rawDatabase().write { try $0.execute(sql: "UPDATE tus_uploads SET parts = '[{}]'") }
        #expect(try storeErrorKind { _ = try store.tusRecord(id) } == .corrupt)
    }

    // MARK: Group commit

    @Test("all rows planned concurrently by many tasks are stored; only a duplicate ID fails")
    func plannedTogether() async throws {
        try await store.plan(sampleRecord("u-7"))
        let failures = await withTaskGroup(of: Int?.self) { group in
            for number in 0..<50 {
                group.addTask {
                    do {
                        try await store.plan(sampleRecord("u-\(number)"))
                        try await store.note("u-\(number)", UploadChange(state: .sending))
                        return nil
                    } catch {
                        return number
                    }
                }
            }
            return await group.reduce(into: []) { failures, number in failures += number.map { [$0] } ?? [] }
        }
        #expect(failures == [7])
        #expect(try store.uploads(states: [.sending], host: nil).count == 49)
        #expect(try store.upload("u-7")?.state == .planned)
    }

    @Test("concurrent writes are committed in one transaction")
    func oneTransaction() async throws {
        for number in 0..<10 { try await store.plan(sampleRecord("u-\(number)")) }
        let before = try fixture.commitCount()
        store.commits.writer.suspend()
        let changes = Task {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<10 {
                    group.addTask { try await store.note("u-\(number)", UploadChange(state: .sent)) }
                    group.addTask { try await store.save(record("u-\(number)")) }
                    group.addTask { try await store.plan(sampleRecord("u-1\(number)")) }
                }
                try await group.waitForAll()
            }
        }
        while store.commits.waitingCount < 30 { await Task.yield() }
        store.commits.writer.resume()
        try await changes.value
        #expect(try store.uploads(states: [.sent], host: nil).count == 10)
        #expect(try fixture.commitCount() - before == 1)
    }

    @Test("a change to an unknown row is an error")
    func noteUnknown() async throws {
        await #expect(throws: StoreError.self) { try await store.note("u-unknown", UploadChange(state: .done)) }
    }

    // MARK: Guests

    @Test("state, token and receipt are stored together; the newest receipt counts")
    func guestReceipt() async throws {
        try await store.plan(sampleRecord(id))
        #expect(try store.guestReceipt(id) == nil)
        try await store.commit(id, UploadChange(state: .done, fileID: 18), token: sampleEntry(), guest: sampleReceipt)
        #expect(try store.guestReceipt(id) == sampleReceipt)
        #expect(try store.tokens(host: nil).count == 1)
        #expect(try store.upload(id)?.state == .done)
        let repeated = GuestReceipt(nonce: "other", jobID: 6)
        try await store.commit(id, UploadChange(), token: nil, guest: repeated)
        #expect(try store.guestReceipt(id) == repeated)
        try await store.commit(id, UploadChange(), token: nil)
        #expect(try store.guestReceipt(id) == repeated)
    }

    @Test("a receipt is stored even if the journal has lost its upload")
    func orphanedReceipt() async throws {
        try await store.commit(id, UploadChange(state: .done), token: nil, guest: sampleReceipt)
        #expect(try store.guestReceipt(id) == sampleReceipt)
        #expect(try store.clear(host: "gighive.app") == 0)
        #expect(try store.guestReceipt(id) == sampleReceipt)
        #expect(try store.clear(host: nil) == 0)
        #expect(try store.guestReceipt(id) == nil)
    }

    @Test("a receipt is printed without its secret")
    func redacted() {
        #expect("\(sampleReceipt)" == "job 5, nonce ***")
    }

    // MARK: Clearing

    @Test(
        "clear removes finished uploads with their receipts and tus states, and never those in flight",
        arguments: ["gighive.app", nil] as [String?]
    )
    func clearFinished(host: String?) async throws {
        for state in UploadState.allCases {
            let id = uploadID(state)
            try await store.plan(sampleRecord(id, state: state))
            try await store.commit(id, UploadChange(), token: nil, guest: sampleReceipt)
            try await store.save(record(id, tusID: state == .failed || state == .cancelled ? nil : "t1"))
        }
        _ = try store.clear(host: host)
        for state in UploadState.allCases {
            let id = uploadID(state)
            #expect(try (store.upload(id) == nil) == state.isFinal)
            #expect(try (store.guestReceipt(id) == nil) == state.isFinal)
            #expect(try (store.tusRecord(id) == nil) == state.isFinal)
        }
    }

    @Test("clear keeps resumable uploads: failed or canceled, with unexpired bytes on a tus server")
    func clearSparesResumable() async throws {
        let kept: [(String, UploadState, Date?)] = [
            ("u-1", .failed, nil), ("u-2", .cancelled, nil), ("u-3", .failed, Date(timeIntervalSinceNow: 3600)),
        ]
        let purged: [(String, UploadState, Date?)] = [
            ("u-4", .failed, Date(timeIntervalSince1970: 1_780_000_000)), ("u-5", .done, nil), ("u-6", .duplicate, nil),
            ("u-7", .tokenLost, nil),
        ]
        for (id, state, expiresAt) in kept + purged {
            try await store.plan(sampleRecord(id, state: state))
            try await store.save(record(id, expiresAt: expiresAt))
        }
        _ = try store.clear(host: nil)
        #expect(try Set(store.uploads(states: [], host: nil).map(\.uploadID)) == Set(kept.map(\.0)))
        #expect(try store.tusRecord("u-1") != nil)
        // Discarded: the server no longer has any bytes.
        try await store.save(record("u-1", tusID: nil))
        _ = try store.clear(host: nil)
        #expect(try store.upload("u-1") == nil)
    }

    @Test("clearing one host keeps the receipts of others")
    func clearOneHost() async throws {
        for host in ["a", "b"] {
            try await store.plan(sampleRecord("u-\(host)", state: .done, host: host))
            try await store.commit("u-\(host)", UploadChange(), token: nil, guest: sampleReceipt)
        }
        _ = try store.clear(host: "a")
        #expect(try store.guestReceipt("u-a") == nil)
        #expect(try store.guestReceipt("u-b") == sampleReceipt)
    }

    private func uploadID(_ state: UploadState) -> String {
        "u-" + state.rawValue.replacing("_", with: "-")
    }
}
