import Foundation
import MediaStore
import TestSupport
import Testing

@testable import GigHive

/// Deletions with an admin's login (gighive contract 5.2, traps T10 and T25).
@Suite(.prompt) struct AdminDeletionTests {
    private static let deletion = "/db/delete_media_files.php"

    @Test(arguments: ["d1", "d2", "d3"])
    func aTokenOfAnAdminDeletesOnEveryRelease(_ dialect: String) async throws {
        let bench = try await SandboxProcess.start(dialect: dialect).bench(user: "admin")
        let stored = try await bench.upload()
        let entry = try await bench.deleter.entry(for: try #require(stored.fileID))
        let result = await bench.deleter.delete(entry)
        #expect(result.state == .deleted)
        #expect(result.usedAdminRights)
        #expect(try bench.sandbox.storedFiles().isEmpty)
        #expect(try bench.store.tokens(host: nil).isEmpty)
    }

    @Test func aTokenOfAnUploaderNeedsNoAdminRights() async throws {
        let bench = try await SandboxProcess.start().bench()
        _ = try await bench.upload()
        let result = await bench.deleter.delete(try await bench.deleter.entry(for: 1))
        #expect(result.state == .deleted)
        #expect(!result.usedAdminRights)
    }

    /// After the server was rebuilt, the ID belongs to another file: an admin's request would delete it.
    @Test func anotherFileWithTheIDIsKept() async throws {
        let bench = try await SandboxProcess.start().bench(user: "admin")
        _ = try await bench.upload()
        var stale = try await bench.deleter.entry(for: 1)
        stale.checksumSHA256 = String(repeating: "0", count: 64)
        let result = await bench.deleter.delete(stale)
        #expect(result.state == .failed)
        #expect(result.error?.code == .idReused)
        #expect(try bench.sandbox.storedFiles().count == 1)
        #expect(try bench.store.tokens(host: nil).count == 1)
    }

    /// A success that reports IDs other than the requested one, with any success status; and a response that describes
    /// another file, after which nothing is deleted.
    @Test(arguments: [
        (
            deletion, 200,
            #"{"success":true,"deleted_count":2,"results":{"deleted":[{"asset_id":19},{"asset_id":20}]}}"#,
            OutcomeCode.otherFilesDeleted, "deleted IDs: 19, 20"
        ),
        (
            deletion, 202, #"{"success":true,"deleted_count":1,"results":{"deleted":[{"asset_id":19}]}}"#,
            .otherFilesDeleted, "deleted IDs: 19"
        ),
        (
            "/api/uploads/18", 200, #"{"id":19,"checksum_sha256":"00","size_bytes":3}"#,
            .unexpectedResponse, "the response describes file 19, not file 18"
        ),
    ])
    func serverIDsThatDifferAreReported(
        _ path: String,
        _ status: Int,
        _ response: String,
        _ code: OutcomeCode,
        _ detail: String
    ) async throws {
        let bench = try Workbench(respondingTo: path) { _, connection, _, _ in
            try connection.respond(status, response)
        }
        let file = bench.server.store("abc", id: 18)
        let result = await bench.deleter.deleteAsAdmin(AdminDeletion(fileID: 18, checksumSHA256: file.checksum))
        #expect(result.state == .failed)
        #expect(result.error?.code == code)
        #expect(result.error?.detail == detail)
        #expect(bench.server.deletions.count == (path == Self.deletion ? 1 : 0))
        #expect(bench.server.files.count == 1)
    }

    /// A count without IDs is not sufficient; a query confirms that the file was deleted.
    @Test(arguments: [true, false]) func aSuccessWithoutIDsIsVerified(_ isGone: Bool) async throws {
        let bench = try Workbench(respondingTo: Self.deletion) { _, connection, server, _ in
            if isGone { server.remove(18) }
            try connection.respond(200, #"{"success":true,"deleted_count":1}"#)
        }
        let file = bench.server.store("abc", id: 18)
        let result = await bench.deleter.deleteAsAdmin(AdminDeletion(fileID: 18, checksumSHA256: file.checksum))
        #expect(result.state == (isGone ? .deleted : .failed))
        #expect(result.error?.code == (isGone ? nil : .notDeleted))
    }

    @Test func aDeletionWithoutAnEntryRemovesTheEntriesOfTheFile() async throws {
        let bench = try await SandboxProcess.start().bench(user: "admin")
        let stored = try await bench.upload()
        let checksum = try #require(stored.checksumSHA256)
        let result = await bench.deleter.deleteAsAdmin(AdminDeletion(fileID: 1, checksumSHA256: checksum))
        #expect(result.state == .deleted)
        #expect(try bench.store.tokens(host: nil).isEmpty)
    }

    @Test(arguments: ["d1", "d2", "d3"])
    func onlyAnAdminPassesTheRoleCheck(_ dialect: String) async throws {
        let sandbox = try await SandboxProcess.start(dialect: dialect)
        _ = try await sandbox.bench().upload()
        try await sandbox.bench(user: "admin").client.requireAdmin()
        let uploader = await #expect(throws: GigHiveError.self) { try await sandbox.bench().client.requireAdmin() }
        #expect(uploader?.code == .forbidden)
        #expect(uploader?.neededLogin == .admin)
        let viewer = await #expect(throws: GigHiveError.self) {
            try await sandbox.bench(user: "viewer").client.requireAdmin()
        }
        #expect(viewer?.code == .unauthorized)
        #expect(try sandbox.storedFiles().count == 1)
    }
}

extension SandboxProcess {
    /// Names of all stored media files.
    fileprivate func storedFiles() throws -> [String] {
        try ["video", "audio"].flatMap {
            try FileManager.default.contentsOfDirectory(atPath: data.file("media/" + $0))
        }
    }
}
