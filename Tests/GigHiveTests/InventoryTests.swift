import Foundation
import MediaStore
import MediaSystem
import MediaTransport
import TestSupport
import Testing

@testable import GigHive

@Suite(.prompt) struct InventoryIndexTests {
    private static let first = String(repeating: "0a", count: 32)
    private static let second = String(repeating: "f1", count: 32)
    private let gig = InventoryEvent(date: "2026-03-01", orgName: "Band")
    private let other = InventoryEvent(date: "2026-03-02", orgName: "Band")

    private func index(_ entries: [String]) throws -> InventoryIndex {
        let body = #"{"pagination":{"page":1,"pageCount":1},"entries":[\#(entries.joined(separator: ","))]}"#
        var index = InventoryIndex()
        for entry in try #require(ListingPage.parse(Array(body.utf8))).entries {
            index.add(entry)
        }
        return index
    }

    private func entry(_ id: Int, _ name: String, date: String = "2026-03-01", org: String = "Band") -> String {
        #"{"id":\#(id),"date":"\#(date)","org_name":"\#(org)","file_type":"video","file_name":"\#(name)"}"#
    }

    @Test func anAssetIsInEveryEventThatListsIt() throws {
        let index = try index([
            entry(7, Self.first + ".mp4"), entry(7, Self.first + ".mp4", date: "2026-03-02"),
            entry(8, Self.second + ".mp4", date: "2026-03-02"),
        ])
        let stored = ServerInventory.Stored(
            fileID: 7,
            served: ServedName(kind: "video", pathExtension: "mp4"),
            isInEvent: true,
            isInSeveralEvents: true
        )
        #expect(index.find(Self.first, in: gig) == stored)
        #expect(index.find(Self.first, in: other) == stored)
        #expect(index.find(Self.second, in: gig)?.isInEvent == false)
        #expect(index.find(Self.second, in: other)?.isInEvent == true)
        #expect(index.find(Self.first.replacing("0", with: "1"), in: gig) == nil)
    }

    @Test(arguments: [
        ("Band", true), ("  Band ", true), ("band", true), ("Bänd", true), ("Band 2", false), ("", false),
    ]) func anOrganizationIsComparedAsTheServerStoresIt(_ name: String, _ isSame: Bool) throws {
        let index = try index([entry(7, Self.first + ".mp4", org: name)])
        #expect(index.find(Self.first, in: gig)?.isInEvent == isSame)
    }

    @Test(arguments: ["A  B", "A B", " A\\tB"]) func runsOfSpacesAreCollapsed(_ name: String) throws {
        let index = try index([entry(7, Self.first, org: name)])
        #expect(index.find(Self.first, in: InventoryEvent(date: "2026-03-01", orgName: "A B"))?.isInEvent == true)
    }

    @Test(arguments: ["", "clip.mp4", "stormpigs20260215_00001_x.mp4", String(repeating: "g", count: 64) + ".mp4"])
    func anEntryWithoutADigestIsIgnored(_ name: String) throws {
        let index = try index([entry(7, name)])
        #expect(index.find(Self.first, in: gig) == nil)
    }

    @Test func theAddressIsUsedForReadableNames() throws {
        let index = try index([#"{"id":7,"file_name":"clip.mp4","url":"\/video\/\#(Self.first).mp4"}"#])
        #expect(index.find(Self.first, in: gig)?.fileID == 7)
    }
}

@Suite(.prompt) struct InventoryTests {
    private func run(_ bench: SandboxBench, _ uploads: [PreparedUpload], jobs: Int = 4) async -> [UploadResult] {
        let log = await bench.uploader.batch(uploads.map { .ready($0) }, UploadBatch.Options(jobs: jobs))
        return uploads.indices.compactMap { log[$0] }
    }

    /// Requests of a kind since the start.
    private func count(_ sandbox: SandboxProcess, _ method: String, _ prefix: String) async throws -> Int {
        try await sandbox.requests().count { $0.method == method && $0.path.hasPrefix(prefix) }
    }

    @Test func aSecondRunSendsNothingAndListsOnce() async throws {
        let bench = try await SandboxProcess.start().bench()
        let paths = try (0..<40).map { try bench.file("content \($0)", name: "\($0).mp4") }
        let prepare = { try paths.map { try bench.prepare($0) } }
        let first = await run(bench, try prepare())
        #expect(first.allSatisfy { $0.state == .done })
        #expect(try await count(bench.sandbox, "GET", "/db/database.php") == 0)

        let second = await run(bench.restarted(), try prepare())
        #expect(second.allSatisfy { $0.state == .duplicate && $0.isSkipped && $0.isDeletableDuplicate })
        #expect(second.map(\.fileID) == first.map(\.fileID))
        #expect(second.map(\.checksumSHA256) == first.map(\.checksumSHA256))
        #expect(try await count(bench.sandbox, "POST", "/api/uploads.php") == 40)
        // Two queries for single files, each with the listing of its day, before the whole listing.
        #expect(try await count(bench.sandbox, "GET", "/db/database.php?") == 3)
        #expect(try await count(bench.sandbox, "GET", "/api/uploads/") == 2)
    }

    @Test func aFileDeletedOnTheServerIsUploadedAgain() async throws {
        let sandbox = try await SandboxProcess.start()
        let bench = try sandbox.bench()
        let paths = try (0..<6).map { try bench.file("content \($0)", name: "\($0).mp4") }
        let prepare = { try paths.map { try bench.prepare($0) } }
        let first = await run(bench, try prepare())
        // Deleted from another machine: this machine has no record of the deletion.
        let stranger = try sandbox.bench(user: "admin")
        for result in first[3...] {
            let entry = try #require(try bench.store.tokens(host: nil).first { $0.fileID == result.fileID })
            #expect(await stranger.deleter.deleteAsAdmin(entry).state == .deleted)
        }
        let second = await run(bench.restarted(), try prepare())
        #expect(second.map(\.state) == [.duplicate, .duplicate, .duplicate, .done, .done, .done])
        #expect(second.map(\.isSkipped) == [true, true, true, false, false, false])
    }

    @Test func aFileRemovedHereIsNeverSkipped() async throws {
        let bench = try await SandboxProcess.start().bench()
        let path = try bench.file("abc", name: "clip.mp4")
        _ = await bench.uploader.upload(try bench.prepare(path))
        let entry = try #require(try bench.store.tokens(host: nil).first)
        try bench.store.remove(entry)
        let again = await bench.restarted().uploader.upload(try bench.prepare(path))
        #expect(again.state == .duplicate)
        #expect(!again.isSkipped)
        #expect(try await count(bench.sandbox, "POST", "/api/uploads.php") == 2)
    }

    /// An administrator has moved the file to another event: the server still has it under its ID.
    @Test(arguments: ["2026-03-01", "2025-12-31"]) func aFileMovedToAnotherEventIsSent(_ date: String) async throws {
        let bench = try Workbench.overriding { _, _, _, _ in false }
        let upload = try bench.prepare()
        let first = await bench.uploader.upload(upload)
        bench.server.remove(18)
        bench.server.store("abc", date: date)
        let second = await bench.uploader.upload(upload)
        let isMoved = date != "2026-03-01"
        #expect(first.state == .done && second.isSkipped == !isMoved)
        #expect(bench.server.uploads.count == (isMoved ? 2 : 1))
    }

    /// The server still has the file under its ID, but no event has it. The listing is read either for this file or, if
    /// it pays off, for the whole run.
    @Test(arguments: [0, 3]) func aFileInNoEventIsSent(otherQueries: Int) async throws {
        let bench = try Workbench.overriding { request, connection, _, _ in
            guard request.path == "/db/database.php" else { return false }
            try connection.respond(200, #"{"pagination":{"page":1,"pageCount":1},"entries":[]}"#)
            return true
        }
        let upload = try bench.prepare()
        let uploader = bench.uploader
        let first = await uploader.upload(upload)
        for _ in 0..<otherQueries { _ = await uploader.inventory.isWorthListing() }
        let second = await uploader.upload(upload)
        #expect(first.state == .done && !second.isSkipped)
        #expect(bench.server.uploads.count == 2)
    }

    // MARK: The hash cache

    /// Another machine whose cache already has the file.
    private func knowing(_ sandbox: SandboxProcess, _ content: String, _ path: String) throws -> SandboxBench {
        var bench = try sandbox.bench()
        bench.hashes = try bench.cache()
        let identity = try #require(try bench.prepare(bench.file(content, name: path)).identity)
        bench.hashes?.keepSurely(FakeFile(id: 1, content: content).checksum, for: identity)
        return bench
    }

    @Test(arguments: [("2026-03-01", true), ("2026-03-02", false)])
    func aFileUploadedByAnotherMachineToTheEventIsSkipped(_ date: String, _ isSkipped: Bool) async throws {
        let sandbox = try await SandboxProcess.start()
        let sent = try await sandbox.bench().upload()
        let bench = try knowing(sandbox, "abc", "mine.mp4")
        let path = Array(bench.temporary.file("mine.mp4").utf8)
        let result = await bench.restarted().uploader.upload(try bench.prepare(path, date: date))
        #expect(result.isSkipped == isSkipped)
        #expect(result.fileID == sent.fileID)
        #expect(result.checksumSHA256 == abcChecksum)
        #expect(!result.hasDeleteToken)
        // Another event has to be linked, which only an upload does (gighive contract section 3).
        #expect(result.state == (isSkipped ? .duplicate : .linked))
        #expect(try await count(sandbox, "POST", "/api/uploads.php") == (isSkipped ? 1 : 2))
        #expect(try bench.store.uploads(states: [], host: nil).count == (isSkipped ? 0 : 1))
    }

    @Test func forceUploadsKnownFiles() async throws {
        let sandbox = try await SandboxProcess.start()
        _ = try await sandbox.bench().upload()
        let bench = try knowing(sandbox, "abc", "mine.mp4")
        let path = Array(bench.temporary.file("mine.mp4").utf8)
        let result = await bench.restarted(force: true).uploader.upload(try bench.prepare(path))
        #expect(result.state == .duplicate)
        #expect(!result.isSkipped)
        #expect(result.httpStatus == 409)
    }

    @Test func aCopyOfAFileUploadedFromHereIsSkipped() async throws {
        var bench = try await SandboxProcess.start().bench()
        bench.hashes = try bench.cache()
        let first = await bench.restarted().uploader.upload(try bench.prepare(bench.file("abc", name: "clip.mp4")))
        let copy = try bench.prepare(bench.file("abc", name: "copy.mp4"))
        bench.hashes?.keepSurely(abcChecksum, for: try #require(copy.identity))
        let second = await bench.restarted().uploader.upload(copy)
        #expect(second.isSkipped)
        #expect(second.fileID == first.fileID)
        #expect(second.fileName == "copy.mp4")
        #expect(second.isDeletableDuplicate)
        #expect(try await count(bench.sandbox, "POST", "/api/uploads.php") == 1)
    }

    // MARK: A listing that fails

    @Test(arguments: ["listing:status=500", "listing:status=502", "listing:status=401"])
    func withoutAListingEveryFileIsQueried(_ fault: String) async throws {
        let bench = try await SandboxProcess.start(faults: [fault]).bench()
        let paths = try (0..<5).map { try bench.file("content \($0)", name: "\($0).mp4") }
        _ = await run(bench, try paths.map { try bench.prepare($0) })
        let second = await run(bench.restarted(), try paths.map { try bench.prepare($0) })
        #expect(second.allSatisfy { $0.state == .duplicate && $0.isSkipped })
        #expect(try await count(bench.sandbox, "GET", "/db/database.php") == 3)
        #expect(try await count(bench.sandbox, "GET", "/api/uploads/") == 5)
    }

    @Test func anUnavailableListingDoesNotCauseUploads() async throws {
        let bench = try await SandboxProcess.start(faults: ["listing:status=503,retry-after=1"]).bench()
        let paths = try (0..<2).map { try bench.file("content \($0)", name: "\($0).mp4") }
        _ = await run(bench, try paths.map { try bench.prepare($0) })
        let second = await run(bench.restarted(), try paths.map { try bench.prepare($0) })
        #expect(second.allSatisfy { $0.state == .duplicate && $0.isSkipped })
        #expect(try await count(bench.sandbox, "POST", "/api/uploads.php") == 2)
    }

    @Test func aNetworkFailureFailsTheItemsWithoutUploading() async throws {
        let bench = try await SandboxProcess.start(faults: ["listing:reset,after=0"]).bench()
        let paths = try (0..<5).map { try bench.file("content \($0)", name: "\($0).mp4") }
        _ = await run(bench, try paths.map { try bench.prepare($0) })
        let second = await run(bench.restarted(), try paths.map { try bench.prepare($0) }, jobs: 1)
        #expect(second.map(\.state) == [.failed, .failed, .failed, .failed, .failed])
        #expect(second.last?.error?.code == .connectionLost)
        #expect(second.last?.error?.isRetryable == true)
        #expect(try await count(bench.sandbox, "POST", "/api/uploads.php") == 5)
    }
}

extension SandboxBench {
    func cache() throws -> HashCache {
        HashCache(directory: temporary.file("cache"))
    }

    /// This machine in a new run.
    func restarted(force: Bool = false) -> SandboxBench {
        var bench = self
        var options = uploader.options
        options.again = force
        bench.uploader = Uploader(
            client: client,
            store: store,
            directory: directory,
            options: options,
            schedule: uploader.schedule,
            hashes: hashes
        )
        return bench
    }
}

extension HashCache {
    /// Caches the digest of a file that was created just now, as if it had been read much later.
    fileprivate func keepSurely(_ digest: String, for identity: FileIdentity) {
        keep(digest, for: identity, readingBegan: Date(timeIntervalSinceNow: 60))
    }
}
