import Foundation
import MediaStore
import MediaTransport
import TestSupport
import Testing

@testable import GigHive

/// The process is killed at each failpoint of a tus upload; another process resumes it with the same data directory.
@Suite struct ResumableKillTests {
    static func upload(
        dyingAt point: UploadFailpoint,
        _ bench: ResumableBench,
        _ path: [UInt8],
        parts: Int = 1
    ) async throws {
        let place = [
            point.rawValue, bench.directory.path, bench.sandbox.baseURL, String(decoding: path, as: UTF8.self),
            String(parts),
        ]
        await #expect(processExitsWith: .signal(SIGKILL)) { [place = place as [String]] in
            setenv("MEDIACTL_KILL_AT", place[0], 1)
            let directory = try DataDirectory.open(place[1])
            let server = try ServerURL(place[2])
            let client = GigHiveClient(
                server: server,
                http: try HTTPClient(),
                authorization: .basic(user: "uploader", password: "uploader", for: server.origin)
            )
            var options = ResumableBench.options()
            options.parallelParts = Int(place[4]) ?? 1
            options.processingTime = .seconds(330)
            let uploader = Uploader(
                client: client,
                store: try TokenStore(in: directory),
                directory: directory,
                options: options
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

    @Test(arguments: UploadFailpoint.ofTus, [true, false])
    func aDeadUploadIsResumedToExactlyOneObject(_ point: UploadFailpoint, _ byRepetition: Bool) async throws {
        // An immediate response would leave no time to kill the process before it.
        let faults = point == .finalizeSent ? ["finalize:delay-response=60,times=1"] : []
        let bench = try ResumableBench(try await SandboxProcess.start(faults: faults))
        let path = try bench.file()
        try await Self.upload(dyingAt: point, bench, path)

        let rescued = try await RescueAdoption.run(store: bench.store, directory: bench.directory)
        let row = try #require(try bench.row())
        if [.responseInRescueFile, .beforeTokenCommit].contains(point) {
            #expect(rescued == [.rescued(uploadID: row.uploadID, fileID: row.fileID ?? 0)])
        }
        if [.responseInRescueFile, .beforeTokenCommit, .afterTokenCommit].contains(point) {
            #expect(row.state == .done)
        } else {
            let result =
                byRepetition
                ? await bench.uploader.upload(try bench.prepare(path))
                : await bench.uploader.resume(row, details: nil)
            #expect(result.state == .done || (point == .finalizeSent && result.state == .tokenLost))
            #expect(result.isVerified == true)
            #expect(result.uploadID == row.uploadID)
        }
        #expect(try bench.row()?.state == (try bench.store.tokens(host: nil).isEmpty ? .tokenLost : .done))
        #expect(try await bench.stored() == [try bench.checksum(path)])
        #expect(try await bench.count("POST", "/files/") == (point == .afterCreate ? 2 : 1))
        #expect(try await bench.patchedBytes() <= (640 << 10) + ResumableBench.chunkBytes)
        #expect(bench.rescueFiles.isEmpty)

        // In every case, the file is not sent again.
        let again = await bench.uploader.upload(try bench.prepare(path))
        #expect(again.state == .duplicate)
        #expect(try await bench.stored().count == 1)
    }
}
