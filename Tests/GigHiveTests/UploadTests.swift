import Foundation
import MediaStore
import MediaTransport
import Synchronization
import TestSupport
import Testing

@testable import GigHive

@Suite struct UploadTests {
    @Test func aFinishedUploadHasItsTokenStored() async throws {
        let bench = try Workbench(try FakeGigHive())
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == .done)
        #expect(result.error == nil)
        #expect(result.fileID == 18)
        #expect(result.isVerified == true)
        #expect(result.hasDeleteToken)
        #expect(result.checksumSHA256 == abcChecksum)
        #expect(result.mediaURL == "\(bench.client.server)/video/\(abcChecksum).mp4")
        #expect(result.attempts == 1)
        #expect(result.warnings.isEmpty)
        let entry = try #require(try bench.store.tokens(host: bench.host).first)
        #expect(entry.fileID == 18)
        #expect(entry.token.secret == bench.server.files[0].token)
        #expect(entry.checksumSHA256 == abcChecksum)
        #expect(entry.fileName == "clip.mp4")
        #expect(entry.fileType == "video")
        #expect(entry.label == "one")
        #expect(entry.sizeBytes == 3)
        let row = try #require(try bench.row())
        #expect(row.state == .done)
        #expect(row.fileID == 18)
        #expect(row.checksumSHA256 == abcChecksum)
        #expect(bench.rescueFiles.isEmpty)
    }

    @Test func theRequestHasFieldsInOrderTheFileLastAndAcceptsJSONOnly() async throws {
        let bench = try Workbench(try FakeGigHive())
        _ = await bench.uploader.upload(try bench.prepare())
        let request = try #require(bench.server.uploads.first)
        let names = ["event_date", "org_name", "event_type", "label", "file"]
        let places = names.compactMap { request.text.range(of: "name=\"\($0)\"")?.lowerBound }
        #expect(places.count == names.count)
        #expect(places == places.sorted())
        #expect(request.text.contains("filename=\"clip.mp4\""))
        #expect(request.text.lowercased().contains("content-type: video/mp4"))
        #expect(request.head.contains("Accept: application/json\r\n"))
        #expect(!request.head.contains("text/html"))
        #expect(request.head.contains("Authorization: Basic "))
    }

    @Test func intentRescueFileAndLockExistBeforeTheFirstByte() async throws {
        let seen = Mutex<(state: UploadState, rescueFiles: Int, isLocked: Bool)?>(nil)
        let path = Mutex("")
        let bench = try Workbench.overriding { request, _, _, _ in
            if request.path == "/api/uploads.php" {
                let directory = try DataDirectory.open(path.withLock { $0 })
                let row = try #require(try TokenStore(in: directory).uploads(states: [], host: nil).first)
                let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
                let isLocked = try UploadLock.acquire(row.uploadID, in: directory) == nil
                seen.withLock { $0 = (row.state, names.count { $0.hasPrefix("rescue-") }, isLocked) }
            }
            return false
        }
        path.withLock { $0 = bench.directory.path }
        let result = await bench.uploader.upload(try bench.prepare())
        let first = try #require(seen.withLock { $0 })
        #expect(first == (.sending, 1, true))
        let lock = try UploadLock.acquire(try #require(result.uploadID), in: bench.directory)
        #expect(lock != nil)
    }

    // MARK: Responses

    struct Response: Sendable, CustomTestStringConvertible {
        var status: Int
        var body = "<title>Gone wrong</title>"
        var headers: [String] = []
        var state = UploadState.failed
        var code: OutcomeCode?
        var isRetryable = false
        var testDescription: String { "\(status) \(body.prefix(40))" }
    }

    @Test(arguments: [
        Response(status: 302, headers: ["Location: http://elsewhere.test/"], code: .redirected),
        Response(status: 400, body: #"{"error":"Bad Request","message":"Label is required"}"#, code: .badRequest),
        Response(status: 400, code: .badRequest),
        Response(status: 401, code: .unauthorized),
        Response(status: 403, code: .forbidden),
        Response(status: 404, code: .notFound),
        Response(status: 408, code: .requestTimeout, isRetryable: true),
        // Refused as duplicates of files that the server does not have.
        Response(status: 409, body: #"{"existing_asset_id":8}"#, code: .unexpectedResponse),
        Response(status: 409, body: #"{"existing_file_id":"8"}"#, code: .unexpectedResponse),
        Response(status: 409, code: .unexpectedResponse),
        Response(status: 413, body: #"{"error":"Payload Too Large","message":"M"}"#, code: .payloadTooLarge),
        Response(status: 413, code: .payloadTooLarge),
        Response(status: 415, code: .unsupportedMedia),
        Response(status: 423, code: .locked, isRetryable: true),
        Response(status: 429, headers: ["Retry-After: 7"], code: .rateLimited, isRetryable: true),
        Response(status: 500, body: #"{"error":"Server Error","message":"M"}"#, code: .serverError, isRetryable: true),
        Response(
            status: 500,
            body: #"{"message":"SQLSTATE: 1062 Duplicate entry 'x'"}"#,
            code: .serverRace,
            isRetryable: true
        ),
        Response(status: 501, body: #"{"error":"Not Implemented"}"#, code: .serverError),
        Response(status: 502, code: .serverError, isRetryable: true),
        Response(status: 503, code: .serverUnavailable, isRetryable: true),
        Response(status: 504, code: .serverError, isRetryable: true),
        Response(status: 200, body: "<title>Welcome to the hotel</title>", code: .unexpectedResponse),
        Response(status: 418, code: .badRequest),
    ]) func aResponseWithoutAStoredFile(_ response: Response) async throws {
        let bench = try Workbench { _, connection, _, _ in
            let type = response.body.hasPrefix("{") ? "application/json" : "text/html"
            try connection.respond(response.status, response.body, type: type, headers: response.headers)
        }
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == response.state)
        #expect(result.error?.code == response.code)
        #expect(result.error?.isRetryable ?? false == response.isRetryable)
        #expect(result.httpStatus == response.status)
        #expect(result.error?.retryAfterSeconds == (response.status == 429 ? 7 : nil))
        #expect(!result.hasDeleteToken)
        let row = try #require(try bench.row())
        #expect(row.state == response.state)
        #expect(row.failureCode == response.code?.rawValue)
        #expect(try bench.store.tokens(host: nil).isEmpty)
        #expect(bench.rescueFiles.isEmpty)
        #expect(bench.server.uploads.count == (response.code == .serverRace ? 11 : 1))
    }

    @Test func theTwoKindsOf413HaveDifferentMessages() async throws {
        var details: Set<String> = []
        for (body, type) in [
            (#"{"error":"E","message":"words"}"#, "application/json"), ("<title>T</title>", "text/html"),
        ] {
            let bench = try Workbench.overriding { _, connection, _, _ in
                try connection.respond(413, body, type: type)
                return true
            }
            details.insert(await bench.uploader.upload(try bench.prepare()).error?.detail ?? "")
        }
        #expect(details == ["words", "the web server refused the size of the request"])
    }

    /// The server may have stored a complete body, regardless of the status that a proxy sends.
    @Test(arguments: [405, 408, 410, 418, 423, 425, 429, 451, 499]) func aRejectedUploadIsRetriedOnlyAfterAQuery(
        _ status: Int
    ) async throws {
        let bench = try Workbench.overriding(retries: 1) { request, connection, _, number in
            guard request.path == "/api/uploads.php", number == 1 else { return false }
            try connection.respond(status, "")
            return true
        }
        let events = Mutex(0)
        let result = await bench.uploader.upload(try bench.prepare()) { event in
            if case .retrying(attempt: 1, _, let error) = event, error.httpStatus == status {
                events.withLock { $0 += 1 }
            }
        }
        #expect(result.state == .done)
        #expect(result.attempts == 2)
        #expect(events.withLock { $0 } == 1)
        #expect(bench.server.uploads.count == 2)
        #expect(bench.rescueFiles.isEmpty)
        #expect(try bench.row()?.attempts == 2)
        let paths = bench.server.requests.map(\.path)
        let first = try #require(paths.firstIndex(of: "/api/uploads.php"))
        let again = try #require(paths.lastIndex(of: "/api/uploads.php"))
        #expect(paths[first..<again].contains("/db/database.php"))
    }

    /// If a proxy rejects an upload whose file is on the server, the file is not sent again.
    @Test(arguments: [405, 408, 410, 418, 423, 425, 429, 451, 499]) func aRejectedUploadThatWasStoredIsFound(
        _ status: Int
    ) async throws {
        let bench = try Workbench(retries: 3) { request, connection, server, _ in
            _ = server.store(request.fileContent)
            try connection.respond(status, "{}")
        }
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == .tokenLost)
        #expect(result.fileID == 18)
        #expect(bench.server.uploads.count == 1)
    }

    @Test func anEarlierRefusalIsNotInTheRescueFileOfTheNextAttempt() async throws {
        let directory = Mutex("")
        let heads = Mutex<[String]>([])
        let bench = try Workbench.overriding(retries: 1) { request, connection, _, number in
            guard request.path == "/api/uploads.php" else { return false }
            let root = directory.withLock { $0 }
            for name in try FileManager.default.contentsOfDirectory(atPath: root) where name.hasPrefix("rescue-") {
                let content = try Data(contentsOf: URL(fileURLWithPath: root + "/" + name))
                heads.withLock { $0.append(content.dropFirst(22).contains { $0 != 0 } ? "a response" : "none") }
            }
            guard number == 1 else { return false }
            try connection.respond(429, "{}")
            return true
        }
        directory.withLock { $0 = bench.directory.path }
        #expect(await bench.uploader.upload(try bench.prepare()).state == .done)
        #expect(heads.withLock { $0 } == ["none", "none"])
    }

    @Test func aLostResponseIsSearchedForOnEveryPage() async throws {
        let bench = try Workbench.overriding { request, connection, server, _ in
            switch request.path {
            case "/api/uploads.php":
                server.store(request.fileContent)
                connection.close()
            case "/db/database.php":
                let page = request.query.contains("page=3&") ? 3 : request.query.contains("page=2&") ? 2 : 1
                let name = page == 3 ? abcChecksum : "other"
                try connection.respond(
                    200,
                    #"{"pagination":{"pageCount":"3"},"entries":[{"id":"\#(page)8","file_name":"\#(name).mp4"}]}"#
                )
            default: return false
            }
            return true
        }
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == .tokenLost)
        #expect(result.fileID == 38)
        let listings = bench.server.requests.filter { $0.path == "/db/database.php" }
        #expect(listings.count == 3)
        #expect(listings.allSatisfy { $0.query.contains("view=event") && $0.query.contains("t=") })
    }

    @Test(arguments: [201, 409, 500]) func bytesWithAStoredTokenAreADeletableDuplicate(_ status: Int) async throws {
        let bench = try Workbench.overriding { request, connection, server, number in
            guard request.path == "/api/uploads.php", number > 1, let file = server.files.first else {
                return false
            }
            switch status {
            case 201: try connection.respond(201, file.responseWithoutToken)
            case 409: try connection.respond(409, #"{"existing_asset_id":\#(file.id)}"#)
            default: try connection.respond(500, #"{"message":"1062 Duplicate entry"}"#)
            }
            return true
        }
        _ = await bench.uploader.upload(try bench.prepare())
        let result = await bench.uploader.upload(try bench.prepare(name: "copy.mp4"))
        #expect(result.state == (status == 201 ? .linked : .duplicate))
        #expect(result.fileID == 18)
        #expect(result.isDeletableDuplicate)
        #expect(result.hasDeleteToken)
        #expect(result.warnings.isEmpty)
        #expect(try bench.store.tokens(host: nil).count == 1)
    }

    @Test func aTokenFromBeforeTheServerWasRebuiltIsNotUsed() async throws {
        let bench = try Workbench.overriding { request, connection, server, number in
            guard request.path == "/api/uploads.php", number > 1 else { return false }
            server.remove(18)
            server.store("abc", id: 3)
            try connection.respond(409, #"{"existing_asset_id":3}"#)
            return true
        }
        _ = await bench.uploader.upload(try bench.prepare())
        let result = await bench.uploader.upload(try bench.prepare(name: "copy.mp4"))
        #expect(result.state == .duplicate)
        #expect(result.fileID == 3)
        #expect(!result.isDeletableDuplicate)
        #expect(!result.hasDeleteToken)
    }

    @Test func htmlThatContainsTheJSONKeepsTheToken() async throws {
        let bench = try Workbench { request, connection, server, _ in
            let json = server.store(request.fileContent).response.replacing("\"", with: "&quot;")
            try connection.respond(201, "<!DOCTYPE html><pre>\(json)</pre>", type: "text/html")
        }
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == .done)
        #expect(result.hasDeleteToken)
        #expect(result.warnings == [.respondedInHTML])
    }

    @Test func aWrongChecksumFailsAndKeepsTheToken() async throws {
        let bench = try Workbench { _, connection, server, _ in
            try connection.respond(201, server.store("damaged").response)
        }
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == .failed)
        #expect(result.error?.code == .checksumMismatch)
        #expect(result.isVerified == false)
        #expect(result.hasDeleteToken)
        #expect(try bench.store.tokens(host: nil).first?.checksumSHA256 == bench.server.files[0].checksum)
    }

    @Test(arguments: ["\"id\":18,", ""]) func anInvalidTokenStaysInTheRescueFile(_ id: String) async throws {
        let bench = try Workbench { request, connection, server, _ in
            let file = server.store(request.fileContent)
            try connection.respond(
                201,
                #"{\#(id)"checksum_sha256":"\#(file.checksum)","delete_token":"a\u001bb"}"#
            )
        }
        let result = await bench.uploader.upload(try bench.prepare())
        let path = try #require(result.error?.rescuePath)
        #expect(result.state == .done)
        #expect(result.fileID == 18)
        #expect(result.error?.code == .tokenNotStored)
        #expect(result.warnings == [.noDeleteToken, .unusableToken(rescuePath: path)])
        #expect(try bench.row()?.state == .done)
        for _ in 1...2 {
            let later = try await RescueAdoption.run(store: bench.store, directory: bench.directory)
            #expect(later == [.unusableToken(rescuePath: path)])
        }
        #expect(bench.rescueFiles.count == 1)
    }

    @Test func aDuplicateWithOtherBytesIsNotADuplicate() async throws {
        let other = String(repeating: "0f", count: 32)
        let bench = try Workbench { _, connection, _, _ in
            try connection.respond(409, #"{"existing_asset_id":8,"checksum_sha256":"\#(other)"}"#)
        }
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == .failed)
        #expect(result.error?.code == .unexpectedResponse)
        #expect(result.error?.detail.contains(other) == true)
        #expect(result.error?.detail.contains(abcChecksum) == true)
        #expect(try bench.row()?.state == .failed)
    }

    @Test(arguments: ["7.5", "-7", "0", "100000000000000000000000", "null"])
    func aTokenWithoutAUsableIDIsKeptAndReportedAtEveryStart(_ id: String) async throws {
        let bench = try Workbench { request, connection, _, _ in
            let file = FakeFile(id: 7, content: request.fileContent)
            try connection.respond(201, #"{"id":\#(id),"delete_token":"\#(file.token)"}"#)
        }
        let result = await bench.uploader.upload(try bench.prepare())
        let path = try #require(result.error?.rescuePath)
        #expect(result.state == .finalized)
        #expect(result.error?.code == .tokenNotStored)
        let before = try bench.row()?.updatedAt
        for _ in 1...2 {
            let later = try await RescueAdoption.run(store: bench.store, directory: bench.directory)
            #expect(later == [.tokenKept(rescuePath: path)])
        }
        #expect(try bench.row()?.updatedAt == before)
        // The server does not have the file, whatever it responded; the token is kept anyway.
        let resolved = await bench.uploader.resolve(try #require(try bench.row()))
        #expect(resolved.state == .finalized)
        #expect(resolved.error?.code == .tokenNotStored)
        #expect(resolved.error?.rescuePath == path)
        #expect(bench.rescueFiles.count == 1)
    }

    @Test func aMissingChecksumIsAWarning() async throws {
        let bench = try Workbench { _, connection, _, _ in
            try connection.respond(201, #"{"id":18,"delete_token":"odd"}"#)
        }
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == .done)
        #expect(result.isVerified == false)
        #expect(result.warnings == [.notVerified, .oddToken])
        #expect(try bench.store.tokens(host: nil).first?.token.secret == "odd")
    }
}
