import Foundation
import MediaStore
import MediaTransport
import Synchronization
import TestSupport
import Testing

@testable import GigHive

@Suite struct DeleteTests {
    /// An uploaded file and its entry.
    private func uploaded(
        _ override: @escaping FakeGigHive.Override = { _, _, _, _ in false }
    ) async throws -> (bench: Workbench, entry: TokenEntry) {
        let bench = try Workbench(try FakeGigHive(override))
        _ = await bench.uploader.upload(try bench.prepare())
        return (bench, try await bench.deleter.entry(for: 18))
    }

    @Test func aDeletionSendsTheIDInBothSpellingsAndTheTokenWithoutLists() async throws {
        let (bench, entry) = try await uploaded()
        let result = await bench.deleter.delete(entry)
        #expect(result.state == .deleted)
        #expect(result.error == nil)
        #expect(bench.server.files.isEmpty)
        #expect(try bench.store.tokens(host: nil).isEmpty)
        #expect(
            bench.server.deletions.map(\.text) == [
                #"{"file_id":18,"asset_id":18,"delete_token":"\#(entry.token.secret)"}"#
            ]
        )
    }

    /// The entry of a deleted file stays if the store cannot be changed, and so does the entry of a rejected token.
    @Test(
        arguments: [
            (#"{"success":true,"deleted_count":1,"results":{"deleted":[{"asset_id":18}]}}"#, 200, .deleted),
            (#"{"error":"Forbidden","message":"Invalid delete token"}"#, 403, .failed),
        ] as [(String, Int, DeleteResult.State)]
    )
    func anEntryThatCannotBeRemovedIsReported(_ body: String, _ status: Int, _ state: DeleteResult.State) async throws {
        let (bench, entry) = try await uploaded { request, connection, _, _ in
            guard request.path == "/db/delete_media_files.php" else { return false }
            try connection.respond(status, body)
            return true
        }
        try bench.execute("CREATE TRIGGER no BEFORE DELETE ON tokens BEGIN SELECT RAISE(ABORT, 'no'); END")
        let result = await bench.deleter.delete(entry) { _ in .remove }
        #expect(result.state == state)
        #expect(result.error?.code == .storeUnusable)
        #expect(try bench.store.tokens(host: nil).count == 1)
    }

    struct Response: Sendable, CustomTestStringConvertible {
        var status: Int
        var body = "<title>Oh</title>"
        var code: OutcomeCode
        var testDescription: String { "\(status) \(body.prefix(30))" }
    }

    @Test(arguments: [
        Response(status: 200, body: #"{"success":false,"deleted_count":0}"#, code: .notDeleted),
        Response(status: 200, body: #"{"deleted_count":2}"#, code: .otherFilesDeleted),
        Response(status: 200, body: #"{"deleted_count":1,"results":{"deleted":[]}}"#, code: .notDeleted),
        Response(
            status: 200,
            body: #"{"deleted_count":1,"results":{"deleted":[{"asset_id":19}]}}"#,
            code: .otherFilesDeleted
        ),
        Response(
            status: 200,
            body: #"{"deleted_count":2,"results":{"deleted":[{"file_id":"18"},{"file_id":19}]}}"#,
            code: .otherFilesDeleted
        ),
        Response(status: 200, body: "welcome", code: .notDeleted),
        Response(status: 400, body: #"{"success":false,"error":"Bad Request","message":"M"}"#, code: .badRequest),
        Response(status: 401, code: .unauthorized),
        Response(status: 403, body: #"{"error":"Forbidden","message":"Forbidden"}"#, code: .forbidden),
        Response(status: 403, code: .forbidden),
        Response(status: 302, code: .redirected),
        Response(status: 405, code: .unexpectedResponse),
        Response(status: 500, body: #"{"error":"Server Error","message":"M"}"#, code: .serverError),
        // A proxy's response: the application behind it may still be deleting the file.
        Response(status: 502, code: .unknownOutcome), Response(status: 504, code: .unknownOutcome),
        Response(status: 503, code: .serverUnavailable),
    ]) func everyOtherResponseKeepsTheEntry(_ response: Response) async throws {
        let (bench, entry) = try await uploaded { request, connection, _, _ in
            guard request.path == "/db/delete_media_files.php" else { return false }
            try connection.respond(response.status, response.body)
            return true
        }
        let result = await bench.deleter.delete(entry)
        #expect(result.state == .failed)
        #expect(result.error?.code == response.code)
        #expect(result.error?.fileID == 18)
        #expect(try bench.store.tokens(host: nil).count == 1)
        #expect(bench.server.deletions.count == 1)
    }

    /// The response to the query for the file cannot be read, for example behind a proxy. The outcome is then unknown,
    /// unless the server reports that it deleted nothing.
    @Test(arguments: [
        (#"{"deleted_count":0}"#, OutcomeCode.notDeleted), (#"{"deleted_count":1}"#, .unknownOutcome),
        ("welcome", .unknownOutcome),
    ])
    func aDeletionWithoutAReadableResponseIsUnknown(_ body: String, _ code: OutcomeCode) async throws {
        let isDeleting = Mutex(false)
        let (bench, entry) = try await uploaded { request, connection, _, _ in
            if request.path == "/db/delete_media_files.php" { isDeleting.withLock { $0 = true } }
            guard isDeleting.withLock({ $0 }) else { return false }
            try connection.respond(200, request.method == "GET" ? "welcome" : body)
            return true
        }
        let result = await bench.deleter.delete(entry)
        #expect(result.state == .failed)
        #expect(result.error?.code == code)
        #expect(try bench.store.tokens(host: nil).count == 1)
    }

    @Test(arguments: ["asset", "file"], [true, false])
    func aForbiddenDeletionRequiresAnotherLogin(_ spelling: String, _ asAdmin: Bool) async throws {
        let wanted = asAdmin ? "\(spelling)_id and delete_token" : "\(spelling)_ids array"
        let (bench, entry) = try await uploaded { request, connection, _, _ in
            guard request.path == "/db/delete_media_files.php" else { return false }
            let message = "Expected JSON body with \(wanted)"
            try connection.respond(400, #"{"success":false,"error":"Bad Request","message":"\#(message)"}"#)
            return true
        }
        let result = await asAdmin ? bench.deleter.deleteAsAdmin(entry) : bench.deleter.delete(entry)
        #expect(result.state == .failed)
        #expect(result.error?.code == .forbidden)
        #expect(result.error?.neededLogin == (asAdmin ? .admin : .uploader))
        #expect(try bench.store.tokens(host: nil).count == 1)
    }

    @Test func aFileDeletedOnTheServerRemovesItsEntry() async throws {
        let (bench, entry) = try await uploaded()
        bench.server.remove(18)
        let result = await bench.deleter.delete(entry)
        #expect(result.state == .gone)
        #expect(try bench.store.tokens(host: nil).isEmpty)
    }

    @Test(arguments: [
        (404, "<title>404 Not Found</title>", OutcomeCode.notFound),
        (404, #"{"error":"Not Found","debug":{"method":"GET"}}"#, .notFound),
        (200, #"{"id":19}"#, .unexpectedResponse),
        (401, "", .unauthorized),
    ]) func deletionIsConfirmedOnlyByJSON(_ status: Int, _ body: String, _ code: OutcomeCode) async throws {
        let (bench, entry) = try await uploaded { request, connection, _, _ in
            guard request.method == "GET", request.path.hasPrefix("/api/uploads/") else { return false }
            try connection.respond(status, body)
            return true
        }
        bench.server.remove(18)
        let result = await bench.deleter.delete(entry)
        #expect(result.state == .failed)
        #expect(result.error?.code == code)
        #expect(try bench.store.tokens(host: nil).count == 1)
    }

    @Test func aReusedIDIsRefused() async throws {
        let (bench, entry) = try await uploaded()
        bench.server.remove(18)
        bench.server.store("a stranger's file", id: 18)
        let wrong = try #require(DeleteToken("wrong"))
        var stale = entry
        stale.token = wrong
        let result = await bench.deleter.delete(stale)
        #expect(result.state == .failed)
        #expect(result.error?.code == .idReused)
        #expect(bench.server.files.count == 1)
        #expect(try bench.store.tokens(host: nil).count == 1)
    }

    @Test(arguments: InvalidTokenChoice.allCases) func aRejectedTokenIsHandledByTheCaller(_ choice: InvalidTokenChoice)
        async throws
    {
        var (bench, entry) = try await uploaded()
        entry.token = try #require(DeleteToken("wrong"))
        let result = await bench.deleter.delete(entry) { _ in choice }
        #expect(result.state == (choice == .keep ? .failed : .entryRemoved))
        #expect(result.error?.code == (choice == .keep ? .invalidDeleteToken : nil))
        #expect(try bench.store.tokens(host: nil).count == (choice == .keep ? 1 : 0))
        #expect(bench.server.files.count == 1)
    }

    @Test(arguments: [true, false]) func aLostResponseIsResolvedByAQuery(_ wasDeleted: Bool) async throws {
        let (bench, entry) = try await uploaded { request, connection, server, _ in
            guard request.path == "/db/delete_media_files.php" else { return false }
            if wasDeleted {
                server.remove(18)
            }
            connection.close()
            return true
        }
        let result = await bench.deleter.delete(entry)
        #expect(result.state == (wasDeleted ? .deleted : .failed))
        #expect(result.error?.code == (wasDeleted ? nil : .unknownOutcome))
        #expect(try bench.store.tokens(host: nil).isEmpty == wasDeleted)
        #expect(bench.server.deletions.count == 1)
    }

    @Test func aLostResponseWithoutConfirmationIsUnknown() async throws {
        let (bench, entry) = try await uploaded { request, connection, _, _ in
            guard request.path != "/api/uploads.php" else { return false }
            connection.close()
            return true
        }
        let result = await bench.deleter.delete(entry)
        #expect(result.error?.code == .unknownOutcome)
        #expect(try bench.store.tokens(host: nil).count == 1)
    }

    // MARK: Choosing the entry

    @Test func anUnknownIDListsTheHostsWithThatID() async throws {
        let (bench, _) = try await uploaded()
        let elsewhere = Deleter(client: bench.client, store: bench.store, host: "other.test")
        let error = await #expect(throws: GigHiveError.self) { try await elsewhere.entry(for: 18) }
        #expect(error?.code == .noDeleteToken)
        #expect(error?.otherHosts == [bench.host])
    }

    @Test func theServersChecksumSelectsOneOfSeveralRows() async throws {
        let (bench, entry) = try await uploaded()
        var newer = entry
        newer.rowID = nil
        newer.checksumSHA256 = FakeFile(id: 1, content: "newer").checksum
        newer.createdAt = entry.createdAt.addingTimeInterval(10)
        newer.token = try #require(DeleteToken("another"))
        #expect(try bench.store.add([newer]) == [.added])
        #expect(try await bench.deleter.entry(for: 18).checksumSHA256 == abcChecksum)
        bench.server.remove(18)
        bench.server.store("newer", id: 18)
        #expect(try await bench.deleter.entry(for: 18).token.secret == "another")
        bench.server.remove(18)
        bench.server.store("another file", id: 18)
        let error = await #expect(throws: GigHiveError.self) { try await bench.deleter.entry(for: 18) }
        #expect(error?.code == .idReused)
    }

    // MARK: Admin

    @Test func anAdminDeletionSendsTheListsAfterComparing() async throws {
        let (bench, entry) = try await uploaded()
        let result = await bench.deleter.deleteAsAdmin(entry)
        #expect(result.state == .deleted)
        #expect(bench.server.deletions.map(\.text) == [#"{"file_ids":[18],"asset_ids":[18]}"#])
        #expect(try bench.store.tokens(host: nil).isEmpty)
    }

    @Test(arguments: ["noChecksum", "otherBytes", "otherSize"])
    func anAdminDeletionThatCannotBeVerifiedSendsNothing(_ doubt: String) async throws {
        var (bench, entry) = try await uploaded()
        switch doubt {
        case "noChecksum": entry.checksumSHA256 = ""
        case "otherSize": entry.sizeBytes = 4
        default:
            bench.server.remove(18)
            bench.server.store("a stranger's file", id: 18)
        }
        let result = await bench.deleter.deleteAsAdmin(entry)
        #expect(result.state == .failed)
        #expect(result.error?.code == (doubt == "noChecksum" ? .adminUnverified : .idReused))
        #expect(bench.server.deletions.isEmpty)
        #expect(bench.server.files.count == 1)
    }

    @Test func anAdminDeletionOfADeletedFileSendsNothing() async throws {
        let (bench, entry) = try await uploaded()
        bench.server.remove(18)
        #expect(await bench.deleter.deleteAsAdmin(entry).state == .gone)
        #expect(bench.server.deletions.isEmpty)
        #expect(try bench.store.tokens(host: nil).isEmpty)
    }
}
