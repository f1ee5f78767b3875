import Foundation
import Testing

@testable import MediaStore

@Suite("Stored details of files")
struct StoredFileTests {
    let fixture: StoreFixture
    let store: TokenStore

    init() throws {
        fixture = try StoreFixture()
        store = try fixture.store()
    }

    private func file(_ date: String, fileID: Int64 = 18, host: String = "gighive.app", position: Int64 = 1)
        -> StoredFile
    {
        var facts = StoredFacts()
        facts.eventID = 6
        facts.position = position
        facts.eventDate = date
        facts.orgName = "A B"
        facts.eventType = "band"
        facts.label = "one"
        facts.mimeType = "video/mp4"
        facts.durationSeconds = 2
        facts.participants = "Ann, Bob"
        facts.keywords = "live"
        return StoredFile(
            host: host,
            fileID: fileID,
            checksumSHA256: String(repeating: "c", count: 64),
            facts: facts
        )
    }

    @Test("a file is read back as stored, one row for each event")
    func roundTrip() async throws {
        try await store.commit("u-none", UploadChange(), token: sampleEntry(), stored: file("2026-05-01"))
        try await store.commit("u-none", UploadChange(), token: sampleEntry(), stored: file("2026-05-02", position: 4))
        #expect(try store.storedFiles(host: "gighive.app") == [file("2026-05-01"), file("2026-05-02", position: 4)])
        #expect(try store.storedFiles(host: nil).count == 2)
        #expect(try store.storedFiles(host: "other").isEmpty)
    }

    @Test("a newer response for the same event replaces the older one")
    func replaced() async throws {
        for position in [1, 3] as [Int64] {
            let stored = file("2026-05-01", position: position)
            try await store.commit("u-none", UploadChange(), token: sampleEntry(), stored: stored)
        }
        #expect(try store.storedFiles(host: nil).map(\.facts.position) == [3])
    }

    @Test("facts without values are read back without values")
    func empty() async throws {
        let stored = StoredFile(host: "h", fileID: 1, checksumSHA256: "", facts: StoredFacts())
        try await store.commit("u-none", UploadChange(), token: sampleEntry(), stored: stored)
        #expect(try store.storedFiles(host: "h") == [stored])
    }

    @Test("the facts of a file are deleted with its entry")
    func removed() async throws {
        try await store.commit("u-none", UploadChange(), token: sampleEntry(), stored: file("2026-05-01"))
        let other = file("2026-05-01", fileID: 19)
        try await store.commit("u-none", UploadChange(), token: sampleEntry(fileID: 19), stored: other)
        try store.remove(try sampleEntry())
        #expect(try store.storedFiles(host: nil) == [other])
    }

    @Test("clear purges only the facts of its host")
    func cleared() async throws {
        for host in ["a", "b"] {
            let entry = try sampleEntry(host: host)
            try await store.commit("u-none", UploadChange(), token: entry, stored: file("2026-05-01", host: host))
        }
        #expect(try store.clear(host: "a") == 1)
        #expect(try store.storedFiles(host: nil).map(\.host) == ["b"])
        #expect(try store.clear(host: nil) == 1)
        #expect(try store.storedFiles(host: nil).isEmpty)
    }

    @Test("a dry run of an import does not store facts")
    func dryRun() throws {
        _ = try store.add([try sampleEntry()], isDryRun: true, stored: [file("2026-05-01")])
        #expect(try store.storedFiles(host: nil).isEmpty)
        _ = try store.add([try sampleEntry()], stored: [file("2026-05-01")])
        #expect(try store.storedFiles(host: nil).count == 1)
    }

    @Test("the last known state of a guest's upload is kept with its time")
    func standing() async throws {
        let record = sampleRecord()
        try store.insert(record)
        let standing = GuestStanding(state: "pending", notedAt: Date(timeIntervalSince1970: 1_780_000_000.25))
        try store.note(standing, of: record.uploadID)
        #expect(try store.guestStandings().isEmpty, "without a receipt it is not a guest upload")
        try await store.commit(record.uploadID, UploadChange(), token: nil, guest: sampleReceipt)
        try store.note(standing, of: record.uploadID)
        #expect(try store.guestStandings() == [record.uploadID: standing])
        let later = GuestStanding(state: "hidden", notedAt: Date(timeIntervalSince1970: 1_780_000_001))
        try store.note(later, of: record.uploadID)
        // The server repeats its response to a further query; the stored state is kept.
        try await store.commit(record.uploadID, UploadChange(), token: nil, guest: sampleReceipt)
        #expect(try store.guestStandings() == [record.uploadID: later])
    }
}
