import Foundation
import MediaStore
import MediaSystem
import MediaTransport
import TestSupport
import Testing

@testable import PhotoSync

/// The process is killed at each failpoint; another one starts with the same directories and has the same result as an
/// uninterrupted run.
@Suite struct DownloadKillTests {
    private typealias File = DownloadServer.File

    private static let bodies = [
        "a": filler(3 << 20, seed: 1), "b": "small",
        "c": SmallPhoto.stampedText("c", filler(2 << 20, seed: 3)),
    ]

    /// `c` is rewritten by the server; all have one name, so that a lost reservation would be detected.
    private func photos() throws -> [PhotoRecord] {
        let uploaded = Self.bodies.merging(["c": filler(2 << 20, seed: 4)]) { $1 }
        return try uploaded.sorted { $0.key < $1.key }.enumerated().map { place in
            try .of(place.element.value, id: place.element.key, uploadedAt: Int64(place.offset))
        }
    }

    private func server() throws -> DownloadServer {
        let digests = Dictionary(uniqueKeysWithValues: try photos().map { ($0.id, $0.sha256) })
        return try DownloadServer { request in
            .file(File(body: Self.bodies[request.id] ?? "", digest: digests[request.id]))
        }
    }

    private func download(dyingAt point: SyncFailpoint, after passes: Int, _ bench: DownloadBench) async throws {
        let place = [point.rawValue, "\(passes)", bench.account.server, bench.temporary.path, bench.target]
        await #expect(processExitsWith: .signal(SIGKILL)) { [place = place as [String]] in
            setenv("MEDIACTL_KILL_AT", place[0], 1)
            setenv("MEDIACTL_KILL_AFTER", place[1], 1)
            let server = try ServerURL(place[2])
            let directory = try DataDirectory.open(place[3] + "/data")
            let account = SyncAccount(
                client: PhotoSyncClient(
                    server: server,
                    http: try HTTPClient(),
                    authorization: .apiKey("key", for: server.origin)
                ),
                deviceID: "device",
                index: try SyncIndex(in: directory),
                library: try LibraryStore(in: directory)
            )
            let hashes = HashCache(directory: place[3] + "/cache")
            let download = Download(account, hashes: hashes, options: Download.Options(jobs: 1))
            _ = try await download.run(.missing, to: Array(place[4].utf8), onItem: { _ in })
        }
    }

    /// The relevant values of a row: without the server's port and the inode.
    private func rows(_ bench: DownloadBench) throws -> [String] {
        try bench.copies().map { copy in
            let name = String(decoding: copy.path, as: UTF8.self).dropFirst(bench.target.count)
            let identity = FileIdentity(ofRegularFile: copy.path)
            return
                "\(copy.photoID) \(name) \(copy.state) \(copy.sha256 ?? "-") \(copy.serverSHA256) \(copy.temporaryName ?? "-") "
                + "\(copy.lastModified ?? "-") \(identity == copy.identity)"
        }
    }

    /// Within the large photo, otherwise at the second of three.
    private static let deaths: [(SyncFailpoint, Int)] = [
        (.downloadPlanned, 1), (.downloadMidBody, 0), (.downloadMidBody, 10), (.downloadAfterBody, 1),
        (.downloadWritten, 1), (.downloadRenamed, 1),
    ]

    @Test(arguments: deaths) func aDeadDownloadEndsAsIfNothingHadHappened(
        _ point: SyncFailpoint,
        _ passes: Int
    ) async throws {
        let server = try server()
        let undisturbed = try DownloadBench(server.address)
        try undisturbed.index(try photos())
        #expect(await undisturbed.run().result?.counts == [.verified: 2, .rewritten: 1])

        let bench = try DownloadBench(server.address)
        try bench.index(try photos())
        try await download(dyingAt: point, after: passes, bench)
        // Before the files have their names, every file with a final name is a whole photo.
        for (name, content) in try bench.files() where !name.hasSuffix("mediactl-part") {
            #expect(Self.bodies.values.contains(content))
        }
        let outcome = await bench.run()
        #expect(outcome.error == nil)
        #expect(outcome.items.allSatisfy { $0.state == .verified || $0.state == .rewritten })
        #expect(try bench.files() == (try undisturbed.files()))
        #expect(try rows(bench) == (try rows(undisturbed)))
        for name in try bench.files().keys {
            #expect(try bench.modificationTime(name) == 1_709_634_030)
        }
        #expect(await bench.run().items.isEmpty)
    }
}
