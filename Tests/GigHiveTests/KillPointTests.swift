import Foundation
import MediaStore
import MediaTransport
import TestSupport
import Testing

@testable import GigHive

/// The process is killed at each failpoint; another one starts with the same data directory.
@Suite struct KillPointTests {
    private func upload(dyingAt point: UploadFailpoint, _ bench: Workbench, _ path: [UInt8]) async throws {
        let place = [point.rawValue, bench.directory.path, bench.server.address, String(decoding: path, as: UTF8.self)]
        await #expect(processExitsWith: .signal(SIGKILL)) { [place = place as [String]] in
            setenv("MEDIACTL_KILL_AT", place[0], 1)
            let directory = try DataDirectory.open(place[1])
            let client = GigHiveClient(server: try ServerURL(place[2]), http: try HTTPClient(), authorization: nil)
            let uploader = Uploader(
                client: client,
                store: try TokenStore(in: directory),
                directory: directory,
                options: UploadOptions()
            )
            let details = try UploadDetails.validated(
                eventDate: "2026-03-01",
                orgName: "Band",
                eventType: "band",
                label: "one"
            )
            _ = await uploader.upload(try uploader.prepare(.file(path: Array(place[3].utf8)), details: details))
        }
    }

    @Test(arguments: UploadFailpoint.ofMultipart)
    func aDeadUploadEndsWithItsTokenOrHonestly(_ point: UploadFailpoint) async throws {
        let bench = try Workbench(try FakeGigHive())
        let path = try bench.file(String(repeating: "0123456789abcdef", count: 1 << 16))
        try await upload(dyingAt: point, bench, path)
        // The server processes the bytes it has received; the test's time for that is much shorter than in production.
        #expect(bench.server.waitUntilIdle())

        let rescued = try await RescueAdoption.run(store: bench.store, directory: bench.directory)
        let row = try #require(try bench.row())
        let resolved = await bench.uploader.resolve(row)
        let tokens = try bench.store.tokens(host: nil)
        #expect(bench.rescueFiles.isEmpty)
        switch point {
        case .afterIntent, .midBody:
            #expect(resolved.state == .failed)
            #expect(bench.server.files.isEmpty)
            #expect(tokens.isEmpty)
        case .afterBody:
            // The response was never read.
            #expect([.tokenLost, .failed, .done].contains(resolved.state))
            #expect((resolved.state == .failed) == bench.server.files.isEmpty)
        case .responseInRescueFile, .beforeTokenCommit:
            #expect(rescued == [.rescued(uploadID: row.uploadID, fileID: 18)])
            #expect(resolved.state == .done)
            #expect(tokens.map(\.token.secret) == [bench.server.files[0].token])
        default:
            #expect(rescued.isEmpty)
            #expect(resolved.state == .done)
            #expect(tokens.map(\.token.secret) == [bench.server.files[0].token])
        }
        #expect(bench.server.uploads.count <= 1)

        // In every case, the next upload of the file succeeds, and the server has one object.
        let again = await bench.uploader.upload(
            try bench.uploader.prepare(.file(path: path), details: try bench.details())
        )
        #expect([.done, .duplicate].contains(again.state))
        #expect(bench.server.files.count == 1)
    }
}
