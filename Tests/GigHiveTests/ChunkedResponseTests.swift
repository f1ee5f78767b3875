import Foundation
import MediaStore
import MediaTransport
import Synchronization
import TestSupport
import Testing
import Tus

@testable import GigHive

/// Responses to finalize requests that the sandbox does not send: a file that was spliced, never completed, or deleted
/// (gighive-d4 contract 4.2 and section 5).
@Suite struct ChunkedResponseTests {
    private static let content = "hello"
    /// `printf wrong | sha256sum`
    private static let otherDigest = "8810ad581e59f2bc3928b261707a71308f7e139eb04820366dc4d5c18d980225"

    /// A server that counts chunks, and accepts the whole file in one chunk.
    private func server(finalize: String) throws -> FakeGigHive {
        let features = ["Tus-Extension: creation", "Tus-Max-Size: 6442450944"]
        return try FakeGigHive.withTus(features, offset: 5) { request, connection, _, _ in
            guard request.path == "/api/uploads/finalize" else { return false }
            try connection.respond(201, finalize)
            return true
        }
    }

    private func upload(_ finalize: String) async throws -> (result: UploadResult, log: EventLog, Workbench) {
        var bench = try Workbench(try server(finalize: finalize))
        bench.options.transport = .tus
        var uploader = bench.uploader
        uploader.pendingRetry = RetryPolicy(delays: [.zero, .zero])
        let log = EventLog()
        let result = await uploader.upload(try bench.prepare(Self.content, name: "a.mp4"), onEvent: log.add)
        return (result, log, bench)
    }

    private func response(digest: String) -> String {
        """
        {"id":7,"asset_id":7,"file_name":"\(digest).mp4","file_type":"video","size_bytes":5,"mime_type":"video\\/mp4",\
        "checksum_sha256":"\(digest)","duration_seconds":null,"thumbnail_done":false,"db_done":true}
        """
    }

    @Test func aSplicedFileIsNeverASuccess() async throws {
        let (result, _, _) = try await upload(response(digest: Self.otherDigest))
        #expect(result.state == .failed)
        let error = try #require(result.error)
        #expect(error.code == .checksumMismatch)
        #expect(error.detail.contains("the server has \(Self.otherDigest) as 7"))
        #expect(error.value == Self.otherDigest)
        #expect(error.neededLogin == .admin)
        // The fields of this warning would contain the local digest.
        #expect(!result.warnings.contains(.noDeleteToken))
    }

    @Test func anUploadThatIsNeverCompletedIsRestartedOnce() async throws {
        let (result, log, bench) = try await upload(#"{"status":"pending","upload_id":"abc"}"#)
        #expect(result.state == .failed)
        #expect(result.error?.code == .serverError)
        // Two delays for each of two uploads.
        #expect(log.all.count { if case .retrying = $0 { true } else { false } } == 4)
        #expect(log.restarts.count == 1)
        #expect(log.all.count { if case .leavingUnfinished = $0 { true } else { false } } == 1)
        let row = try #require(try bench.store.uploads(states: [], host: nil).first)
        #expect(try !Uploader.isResumable(row, in: bench.store))
    }

    @Test func aDeletedFileIsReportedAsDeleted() async throws {
        let deleted = """
            {"id":7,"asset_id":7,"file_name":"","file_type":"video","size_bytes":0,"mime_type":"video\\/mp4",\
            "checksum_sha256":"","duration_seconds":null,"thumbnail_done":false,"db_done":true}
            """
        let (result, _, bench) = try await upload(deleted)
        #expect(result.state == .failed)
        #expect(result.error?.code == .uploadExpired)
        #expect(result.error?.detail.contains("deleted") == true)
        let row = try #require(try bench.store.uploads(states: [], host: nil).first)
        #expect(try !Uploader.isResumable(row, in: bench.store))
    }
}
