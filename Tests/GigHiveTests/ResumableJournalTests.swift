import Foundation
import MediaCrypto
import MediaStore
import TestSupport
import Testing
import Tus

@testable import GigHive

/// The tus part of an upload in the journal.
@Suite struct ResumableJournalTests {
    private func journal(parts: Int) async throws -> (TusJournal, TokenStore, TemporaryDirectory) {
        let temporary = try TemporaryDirectory()
        let store = try TokenStore(in: try DataDirectory.open(temporary.file("data")))
        let now = Date()
        try await store.plan(
            UploadRecord(
                uploadID: "u-1",
                path: [],
                state: .sending,
                host: "h",
                baseURL: "https://h",
                fields: [],
                identity: nil,
                sizeBytes: 100,
                transport: .tus,
                createdAt: now,
                updatedAt: now
            )
        )
        let record = TusRecord(uploadID: "u-1", parts: TusRecord.layout(byteCount: 100, parts: parts))
        return (TusJournal(record, store: store), store, temporary)
    }

    @Test(arguments: [(100, 1, [100]), (100, 3, [34, 34, 32]), (7, 7, [1, 1, 1, 1, 1, 1, 1]), (1, 1, [1])])
    func aFileIsSplitWithoutGaps(_ byteCount: Int64, _ parts: Int, _ lengths: [Int64]) {
        let layout = TusRecord.layout(byteCount: byteCount, parts: parts)
        #expect(layout.map(\.byteCount) == lengths)
        #expect(layout.map(\.start) == lengths.indices.map { lengths[..<$0].reduce(0, +) })
    }

    @Test func theNewestOfManyChangesIsKept() async throws {
        let (journal, store, temporary) = try await journal(parts: 8)
        defer { withExtendedLifetime(temporary) {} }
        let digest = try #require(SHA256Digest(hex: abcChecksum))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for part in 0..<8 {
                group.addTask {
                    for offset in 1...50 {
                        try await journal.keep(TusProof(offset: Int64(offset), digest: digest), of: part)
                    }
                }
            }
            try await group.waitForAll()
        }
        let kept = try #require(try store.tusRecord("u-1"))
        #expect(kept == (await journal.record))
        #expect(kept.parts.allSatisfy { $0.proofs.map(\.offset) == [49, 50] })
    }

    @Test func anotherAttemptOfAChunkReplacesOnlyItsOwnDigest() async throws {
        let (journal, store, temporary) = try await journal(parts: 1)
        defer { withExtendedLifetime(temporary) {} }
        let digest = try #require(SHA256Digest(hex: abcChecksum))
        for offset in [10, 20, 30, 30, 25] as [Int64] {
            try await journal.keep(TusProof(offset: offset, digest: digest), of: 0)
        }
        #expect(try store.tusRecord("u-1")?.parts[0].proofs.map(\.offset) == [20, 25])
    }
}
