import Foundation
import MediaStore
import TestSupport
import Testing
import Tus

@testable import GigHive

/// An upload to a server that counts chunks is killed at each failpoint, and another process resumes it with the same
/// chunk size or a different one (gighive-d4 contract section 10).
@Suite struct ChunkedKillTests {
    private enum Resumption: CaseIterable {
        case repeated, resumed, resumedWithLargerChunks
    }

    @Test(arguments: UploadFailpoint.ofTus, Resumption.allCases)
    private func isStoredOnce(_ point: UploadFailpoint, _ resumption: Resumption) async throws {
        let faults = point == .finalizeSent ? ["finalize:delay-response=60,times=1"] : []
        var bench = try ResumableBench(try await SandboxProcess.start(dialect: "d4", faults: faults), retries: 3)
        let path = try bench.file()
        try await ResumableKillTests.upload(dyingAt: point, bench, path)
        if resumption == .resumedWithLargerChunks { bench.options.chunks.chunkBytes *= 3 }

        _ = try await RescueAdoption.run(store: bench.store, directory: bench.directory)
        let row = try #require(try bench.row())
        if !row.state.isFinal {
            let result =
                resumption == .repeated
                ? await bench.uploader.upload(try bench.prepare(path)) : await bench.uploader.resume(row)
            #expect(result.error == nil)
            #expect(result.isVerified == true)
            #expect(result.uploadID == row.uploadID)
        }
        #expect(try bench.row()?.state == .done)
        #expect(try await bench.stored() == [try bench.checksum(path)])
        // Only an upload whose ID was lost is created twice.
        #expect(try await bench.count("POST", "/files/") == (point == .afterCreate ? 2 : 1))
        #expect(try await bench.patchedBytes() <= (640 << 10) + ResumableBench.chunkBytes)
        let sizes = try await bench.sandbox.requests().filter { $0.method == "PATCH" }.map { Int64($0.bodyBytesRead) }
        #expect(sizes.allSatisfy { $0 <= ResumableBench.chunkBytes } || point == .afterIntent || point == .afterCreate)
        #expect(bench.rescueFiles.isEmpty)

        let again = await bench.uploader.upload(try bench.prepare(path))
        #expect(again.state == .duplicate)
        #expect(try await bench.stored().count == 1)
    }
}
