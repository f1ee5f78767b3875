import Foundation
import MediaStore
import MediaTransport
import Synchronization
import TestSupport
import Testing

@testable import PhotoSync

/// A copy that changed since it was uploaded or downloaded may be damaged, and is uploaded as a new photo only if the
/// user confirms it.
@Suite struct PushChangedTests {
    private func verify(_ bench: PushBench) async throws -> Int {
        let verification = Verification(bench.account, hashes: bench.hashes)
        return try await verification.run(onDifference: { _ in }).counts[.copyChanged] ?? 0
    }

    @Test(arguments: ["as it was tAken", ""], [false, true])
    func aChangedOriginalIsNotUploaded(content: String, isDryRun: Bool) async throws {
        let bench = try await PushBench()
        try bench.write("a.jpg", "as it was taken")
        let id = try #require(await bench.push().item("a.jpg")?.photoID)
        try bench.write("a.jpg", content)
        try bench.write("new.jpg")
        let outcome = await bench.push(dryRun: isDryRun)
        #expect(outcome.states == ["a.jpg": .changed, "new.jpg": isDryRun ? .planned : .uploaded])
        #expect(outcome.item("a.jpg")?.photoID == id)
        #expect(outcome.item("a.jpg")?.error?.code == .changedSinceUpload)
        #expect(try await bench.uploads.count == (isDryRun ? 1 : 2))
        #expect(try await verify(bench) == 1)
        // The next push reports it as well.
        #expect(await bench.push().item("a.jpg")?.state == .changed)
        #expect(try await verify(bench) == 1)
        // No server stores an empty file.
        guard content.isEmpty else { return }
        let forced = await bench.pushWith { $0.sendsChanged = true }
        #expect(forced.item("a.jpg")?.state == .failed && forced.item("a.jpg")?.error?.code == .emptyFile)
    }

    @Test func aChangedDownloadIsNotUploaded() async throws {
        let bench = try await PushBench("--photosync-rewrite", "off")
        let id = try #require(try await bench.sandbox.addPhotos(#"{"content":"as uploaded"}"#).first)
        _ = try await Pull(bench.account).run()
        let directory = Array(bench.photos.path.utf8)
        let download = Download(bench.account, hashes: bench.hashes)
        _ = try await download.run(.ids([id]), to: directory, onItem: { _ in })
        let path = try #require(try bench.copies.first).path
        try Data("damaged".utf8).write(to: URL(fileURLWithPath: String(decoding: path, as: UTF8.self)))
        let outcome = await bench.push()
        #expect(outcome.items.map(\.state) == [.changed] && outcome.items.first?.photoID == id)
        #expect(try await bench.uploads.isEmpty)
    }

    @Test func aChangedFileIsUploadedOnRequest() async throws {
        let bench = try await PushBench()
        try bench.write("a.jpg", "as it was taken")
        let id = try #require(await bench.push().item("a.jpg")?.photoID)
        try bench.write("a.jpg", "edited")
        #expect(await bench.pushWith(dryRun: true) { $0.sendsChanged = true }.states == ["a.jpg": .planned])
        let outcome = await bench.pushWith { $0.sendsChanged = true }
        #expect(outcome.states == ["a.jpg": .uploaded])
        #expect(outcome.item("a.jpg")?.photoID != id)
        #expect(await bench.push().states == ["a.jpg": .present])
        // Nothing was replaced.
        #expect(try await bench.sandbox.photos().count == 2)
        // The original bytes are only on the server.
        let differences = try await differences(bench)
        #expect(differences.map(\.kind) == [.copyChanged] && differences.first?.photoID == id)
        #expect(differences.first?.uploadedAs == outcome.item("a.jpg")?.photoID)
    }

    /// The change is reported until the photo's own bytes are on this machine again, or the photo is deleted on the
    /// server.
    @Test(arguments: ["download", "restore", "delete"]) func anUploadedChangeStaysReported(until end: String)
        async throws
    {
        let bench = try await PushBench("--photosync-rewrite", "off")
        try bench.write("a.jpg", "as it was taken")
        let id = try #require(await bench.push().item("a.jpg")?.photoID)
        try bench.write("a.jpg", "edited")
        _ = await bench.pushWith { $0.sendsChanged = true }
        for _ in 1...2 { #expect(try await verify(bench) == 1) }
        switch end {
        case "download":
            let download = Download(bench.account, hashes: bench.hashes)
            let result = try await download.run(.missing, to: Array(bench.photos.path.utf8), onItem: { _ in })
            #expect(result.counts == [.verified: 1])
        case "restore":
            try bench.write("a.jpg", "as it was taken")
            #expect(await bench.push().states == ["a.jpg": .present])
        default:
            try await bench.sandbox.photoSync("DELETE", "photos/\(id)")
        }
        #expect(try await verify(bench) == (end == "restore" ? 1 : 0))
        let differences = try await differences(bench)
        // After a restore, the edited version is the one without a file.
        if end == "restore" { #expect(differences.first?.uploadedAs == id) }
    }

    /// Each replaced version is reported.
    @Test func aFileThatChangedTwiceIsReportedTwice() async throws {
        let bench = try await PushBench()
        try bench.write("a.jpg", "one")
        _ = await bench.push()
        for text in ["two", "three"] {
            try bench.write("a.jpg", text)
            _ = await bench.pushWith { $0.sendsChanged = true }
        }
        #expect(try await verify(bench) == 2)
    }

    /// The same bytes are on the server from another file, so the push uploads nothing.
    @Test func aChangeIsReportedEvenIfItsBytesAreOnTheServer() async throws {
        let bench = try await PushBench()
        try bench.write("a.jpg", "as it was taken")
        _ = await bench.push()
        try bench.write("a.jpg", "edited")
        try bench.write("b.jpg", "edited")
        // The other file has the same bytes, and no record: it is new.
        #expect(await bench.push().states == ["a.jpg": .changed, "b.jpg": .uploaded])
        #expect(try await verify(bench) == 1)
        for _ in 1...2 {
            _ = await bench.push()
            #expect(try await verify(bench) == 1)
        }
    }

    private func differences(_ bench: PushBench) async throws -> [SyncDifference] {
        let found = Mutex<[SyncDifference]>([])
        let verification = Verification(bench.account, hashes: bench.hashes)
        _ = try await verification.run(onDifference: { difference in found.withLock { $0.append(difference) } })
        return found.withLock { $0 }
    }

    /// Two files that exchanged their names are the same two photos.
    @Test func renamedFilesAreNotChanged() async throws {
        let bench = try await PushBench()
        try bench.write("a.jpg", "one")
        try bench.write("b.jpg", "two")
        _ = await bench.push()
        try bench.write("a.jpg", "two")
        try bench.write("b.jpg", "one")
        #expect(await bench.push().states == ["a.jpg": .present, "b.jpg": .present])
        #expect(try await verify(bench) == 0)
    }
}
