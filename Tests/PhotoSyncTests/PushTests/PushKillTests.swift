import Foundation
import MediaStore
import MediaTransport
import TestSupport
import Testing

@testable import PhotoSync

/// The process is killed at each failpoint of a push; another one starts with the same data directory.
@Suite struct PushKillTests {
    @Test(arguments: [SyncFailpoint.pushAfterHash, .pushAfterUpload, .pushBeforeRecord, .pushAfterRecord])
    func aDeadPushIsFinishedByTheNextOne(_ point: SyncFailpoint) async throws {
        let bench = try await PushBench()
        for number in 0..<3 { try bench.write("\(number).jpg", "photo \(number)") }
        let place = [
            point.rawValue, bench.sandbox.baseURL, bench.account.deviceID ?? "", bench.machine.path, bench.photos.path,
        ]
        await #expect(processExitsWith: .signal(SIGKILL)) { [place = place as [String]] in
            setenv("MEDIACTL_KILL_AT", place[0], 1)
            let data = try DataDirectory.open(place[3] + "/data")
            let server = try ServerURL(place[1])
            let client = PhotoSyncClient(
                server: server,
                http: try HTTPClient(),
                authorization: .apiKey(SandboxProcess.aliceKey, for: server.origin)
            )
            let account = SyncAccount(
                client: client,
                deviceID: place[2],
                index: try SyncIndex(in: data),
                library: try LibraryStore(in: data)
            )
            let push = Push(account, hashes: HashCache(directory: place[3] + "/cache"))
            _ = try await push.run([Array(place[4].utf8)], onItem: { _ in })
        }
        let sentBefore = try await bench.sandbox.photos().count
        #expect(sentBefore > 0 || point == .pushAfterHash)

        let outcome = await bench.push()
        #expect(outcome.result?.counts[.uploaded, default: 0] == 3 - sentBefore)
        #expect(outcome.result?.counts[.present, default: 0] == sentBefore)
        // Nothing is sent twice, and the result is that of an uninterrupted push.
        #expect(try await bench.uploads.count == 3)
        #expect(try await bench.sandbox.photos().count == 3)
        #expect(Set(try bench.copies.map(\.photoID)) == Set(try await bench.sandbox.photos().map(\.id)))
        #expect(try bench.copies.allSatisfy { $0.state == .present && $0.sha256 == $0.serverSHA256 })
    }
}
