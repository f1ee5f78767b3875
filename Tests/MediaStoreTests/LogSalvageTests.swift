import Foundation
import TestSupport
import Testing

@testable import MediaStore

/// A power loss in the transaction that stores a token: any page of it may be missing from the write-ahead log.
@Suite struct LogSalvageTests {
    @Test func anUploadFinishesOnlyWithItsToken() async throws {
        let source = try StoreFixture()
        let store = try source.store()
        let uploadID = "u-aaaaaaaaaaaaaaaa"
        var record = sampleRecord(uploadID)
        record.state = .sent
        try store.insert(record)
        let log = source.databasePath + "-wal"
        let begin = try source.bytes(log).count
        let entry = try sampleEntry(host: record.host)
        try await store.commit(uploadID, UploadChange(state: .done, fileID: entry.fileID), token: entry)
        // The files are read before the store is closed, which empties the log.
        let database = try source.bytes(source.databasePath)
        let whole = try source.bytes(log)
        withExtendedLifetime(store) {}

        var found: Set<String> = []
        let frame = 24 + 4096
        for start in stride(from: begin, to: whole.count, by: frame) {
            let fixture = try StoreFixture()
            var damaged = whole
            damaged.replaceSubrange(start..<start + frame, with: Array(repeating: 0, count: frame))
            try fixture.write(database, to: fixture.databasePath)
            try fixture.write(damaged, to: fixture.databasePath + "-wal")
            let reopened = try fixture.store()
            let state = try #require(try reopened.upload(uploadID)).state
            let hasToken = try !reopened.tokens(host: nil).isEmpty
            #expect(state != .done || hasToken, "frame \((start - 32) / frame)")
            found.insert("\(state) \(hasToken)")
        }
        // The frame with the token, and others.
        #expect(found.contains("sent false"))
        #expect(found.contains { $0.hasSuffix("true") })
    }
}
