import Foundation
import GRDB
import Testing

@testable import MediaStore

@Suite("Tokens")
struct TokenTests {
    let fixture: StoreFixture
    let store: TokenStore

    init() throws {
        fixture = try StoreFixture()
        store = try fixture.store()
    }

    @Test("an entry is read back as it was stored")
    func roundTrip() async throws {
        var entry = try sampleEntry()
        try await store.commit("u-none", UploadChange(), token: entry)
        let found = try #require(try store.tokens(host: "gighive.app").first)
        #expect(found.rowID != nil)
        entry.rowID = found.rowID
        #expect(found == entry)
    }

    @Test("entries are listed newest first, for one host or for all")
    func order() async throws {
        for (fileID, seconds, host) in [(1, 10.0, "a"), (2, 30.0, "a"), (3, 20.0, "b"), (4, 20.0, "a")] {
            let entry = try sampleEntry(host: host, fileID: Int64(fileID), at: seconds)
            try await store.commit("u-none", UploadChange(), token: entry)
        }
        #expect(try store.tokens(host: nil).map(\.fileID) == [2, 4, 3, 1])
        #expect(try store.tokens(host: "a").map(\.fileID) == [2, 4, 1])
        #expect(try store.tokens(host: "c").isEmpty)
    }

    @Test("the newest entry of a key is primary, whatever the order", arguments: [[1.0, 2.0], [2.0, 1.0]])
    func superseding(times: [Double]) async throws {
        for seconds in times {
            let entry = try sampleEntry(digit: seconds == 2 ? "b" : "a", at: seconds)
            try await store.commit("u-none", UploadChange(), token: entry)
        }
        #expect(try store.tokens(host: nil).map(\.token) == [sampleToken("b")])
        let all = try store.tokens(host: nil, includeSuperseded: true)
        #expect(all.map(\.token) == [try sampleToken("b"), try sampleToken("a")])
        #expect(all.map(\.isSuperseded) == [false, true])
        #expect(try store.tokens(host: "gighive.app", fileID: 18) == all)
        let checksum = String(repeating: "c", count: 64)
        #expect(try store.tokens(host: "gighive.app", checksumSHA256: checksum) == all)
    }

    @Test("a different checksum or host under the same ID is a different key")
    func keys() async throws {
        for (host, checksum) in [("a", "1"), ("a", "2"), ("b", "1")] {
            let entry = try sampleEntry(host: host, checksum: checksum)
            try await store.commit("u-none", UploadChange(), token: entry)
        }
        #expect(try store.tokens(host: nil).count == 3)
    }

    @Test("a missing token never overwrites a token")
    func missingTokenKeepsToken() async throws {
        let record = sampleRecord()
        try store.insert(record)
        try await store.commit(record.uploadID, UploadChange(state: .done), token: sampleEntry())
        try await store.commit(record.uploadID, UploadChange(state: .duplicate), token: nil)
        #expect(try store.tokens(host: nil).map(\.token) == [sampleToken("a")])
        #expect(try store.upload(record.uploadID)?.state == .duplicate)
    }

    @Test("the same token stored twice is one row")
    func storedTwice() async throws {
        for _ in 1...2 { try await store.commit("u-none", UploadChange(), token: sampleEntry()) }
        #expect(try store.add(sampleEntry()) == false)
        #expect(try store.tokens(host: nil, includeSuperseded: true).count == 1)
    }

    // MARK: Removing

    @Test("removing an entry removes the superseded rows and keeps other keys")
    func removal() async throws {
        try await store.commit("u-none", UploadChange(), token: sampleEntry(digit: "a", at: 1))
        try await store.commit("u-none", UploadChange(), token: sampleEntry(digit: "b", at: 2))
        try await store.commit("u-none", UploadChange(), token: sampleEntry(fileID: 19, at: 1))
        try store.remove(try #require(try store.tokens(host: nil).first))
        #expect(try store.tokens(host: nil, includeSuperseded: true).map(\.fileID) == [19])
    }

    @Test("removing keeps a row that another process has stored in the meantime")
    func removalKeepsNewer() async throws {
        let shown = try sampleEntry(digit: "a", at: 1)
        try await store.commit("u-none", UploadChange(), token: shown)
        try await store.commit("u-none", UploadChange(), token: sampleEntry(digit: "b", at: 2))
        try store.remove(shown)
        #expect(try store.tokens(host: nil).map(\.token) == [sampleToken("b")])
    }

    @Test("an import does not restore a removed entry, even one with only whole seconds")
    func tombstone() async throws {
        let entry = try sampleEntry(at: 1_780_000_000.6)
        #expect(try store.add(entry))
        try store.remove(entry)
        #expect(try store.add(entry) == false)
        #expect(try store.add(sampleEntry(digit: "b", at: 1_779_999_999)) == false)
        #expect(try store.add(sampleEntry(at: 1_780_000_001)) == false)
        #expect(try store.add(sampleEntry(digit: "b", at: 1_780_000_002)))
    }

    @Test("a new response for a removed key is stored and removes the tombstone")
    func commitLiftsTombstone() async throws {
        let entry = try sampleEntry()
        _ = try store.add(entry)
        try store.remove(entry)
        try await store.commit("u-none", UploadChange(), token: sampleEntry(digit: "b"))
        #expect(try store.tokens(host: nil).map(\.token) == [sampleToken("b")])
        #expect(try store.add(entry))
    }

    // MARK: Clearing

    @Test("clearing a host purges its entries and tombstones, but nothing that belongs to another host")
    func clearHost() async throws {
        let removed = try sampleEntry(host: "a", fileID: 1)
        _ = try store.add(removed)
        try store.remove(removed)
        try await store.commit("u-none", UploadChange(), token: sampleEntry(host: "a", fileID: 2, digit: "a", at: 1))
        try await store.commit("u-none", UploadChange(), token: sampleEntry(host: "a", fileID: 2, digit: "b", at: 2))
        try await store.commit("u-none", UploadChange(), token: sampleEntry(host: "b"))
        #expect(try store.clear(host: "a") == 2)
        #expect(try store.tokens(host: nil, includeSuperseded: true).map(\.host) == ["b"])
        #expect(try store.add(removed))
        #expect(try store.clear(host: nil) == 2)
        #expect(try store.tokens(host: nil).isEmpty)
    }

    @Test("after clearing, no byte of a token remains in any file, with other connections open")
    func clearLeavesNoBytes() async throws {
        let other = try fixture.store()
        for fileID in 1...100 {
            try await store.commit("u-none", UploadChange(), token: sampleEntry(fileID: Int64(fileID)))
        }
        #expect(try other.tokens(host: nil).count == 100)
        #expect(try tokenBytes(in: fixture) != [])
        #expect(try store.clear(host: nil) == 100)
        #expect(try tokenBytes(in: fixture) == [])
    }

    /// Names of the files that contain the sample token.
    private func tokenBytes(in fixture: StoreFixture) throws -> [String] {
        let token = Data(String(repeating: "a", count: 64).utf8)
        return try fixture.names().filter { $0.hasPrefix("tokens.sqlite") }.filter { name in
            Data(try fixture.bytes(fixture.directory.file(name))).range(of: token) != nil
        }
    }
}
