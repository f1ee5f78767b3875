import Foundation
import MediaStore
import MediaTransport
import Synchronization
import TestSupport
import Testing

@testable import GigHive

@Suite struct UploadTests {
    @Test func anUploadEndsDoneWithItsTokenStored() async throws {
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

    @Test func theRequestHasFieldsInOrderTheFileLastAndAsksForJSONOnly() async throws {
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
        let seen = Mutex<(state: UploadState?, rescueFiles: Int)>((nil, 0))
        let path = Mutex("")
        let bench = try Workbench(
            try FakeGigHive { request, _, _, _ in
                if request.path == "/api/uploads.php" {
                    let directory = try DataDirectory.open(path.withLock { $0 })
                    let row = try TokenStore(in: directory).uploads(states: [], host: nil).first
                    let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
                    seen.withLock { $0 = (row?.state, names.filter { $0.hasPrefix("rescue-") }.count) }
                }
                return false
            }
        )
        path.withLock { $0 = bench.directory.path }
        _ = await bench.uploader.upload(try bench.prepare())
        #expect(seen.withLock { $0.state } == .sending)
        #expect(seen.withLock { $0.rescueFiles } == 1)
    }

    // MARK: Answers

    struct Answer: Sendable, CustomTestStringConvertible {
        var status: Int
        var body = "<title>Gone wrong</title>"
        var headers: [String] = []
        var state = UploadState.failed
        var code: GigHiveError.Code?
        var isRetryable = false
        var testDescription: String { "\(status) \(body.prefix(40))" }
    }

    @Test(arguments: [
        Answer(status: 302, headers: ["Location: http://elsewhere.test/"], code: .redirected),
        Answer(status: 400, body: #"{"error":"Bad Request","message":"Label is required"}"#, code: .badRequest),
        Answer(status: 400, code: .badRequest),
        Answer(status: 401, code: .unauthorized),
        Answer(status: 403, code: .forbidden),
        Answer(status: 404, code: .notFound),
        Answer(status: 408, code: .requestTimeout, isRetryable: true),
        Answer(status: 409, body: #"{"existing_asset_id":8}"#, state: .duplicate),
        Answer(status: 409, body: #"{"existing_file_id":"8"}"#, state: .duplicate),
        Answer(status: 409, state: .duplicate),
        Answer(status: 413, body: #"{"error":"Payload Too Large","message":"M"}"#, code: .payloadTooLarge),
        Answer(status: 413, code: .payloadTooLarge),
        Answer(status: 415, code: .unsupportedMedia),
        Answer(status: 423, code: .locked, isRetryable: true),
        Answer(status: 429, headers: ["Retry-After: 7"], code: .rateLimited, isRetryable: true),
        Answer(status: 500, body: #"{"error":"Server Error","message":"M"}"#, code: .serverError, isRetryable: true),
        Answer(status: 500, body: #"{"message":"SQLSTATE: 1062 Duplicate entry 'x'"}"#, state: .duplicate),
        Answer(status: 501, body: #"{"error":"Not Implemented"}"#, code: .serverError),
        Answer(status: 502, code: .serverError, isRetryable: true),
        Answer(status: 503, code: .serverError, isRetryable: true),
        Answer(status: 504, code: .serverError, isRetryable: true),
        Answer(status: 200, body: "<title>Welcome to the hotel</title>", code: .unexpectedAnswer),
        Answer(status: 418, code: .unexpectedAnswer),
    ]) func anAnswerWithoutAStoredFile(_ answer: Answer) async throws {
        let bench = try Workbench(
            try FakeGigHive { request, connection, _, _ in
                guard request.path == "/api/uploads.php" else { return false }
                let type = answer.body.hasPrefix("{") ? "application/json" : "text/html"
                try connection.answer(answer.status, answer.body, type: type, headers: answer.headers)
                return true
            }
        )
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == answer.state)
        #expect(result.error?.code == answer.code)
        #expect(result.error?.isRetryable ?? false == answer.isRetryable)
        #expect(result.httpStatus == answer.status)
        #expect(result.error?.retryAfterSeconds == (answer.status == 429 ? 7 : nil))
        #expect(!result.hasDeleteToken)
        let row = try #require(try bench.row())
        #expect(row.state == answer.state)
        #expect(row.failureCode == answer.code?.rawValue)
        #expect(try bench.store.tokens(host: nil).isEmpty)
        #expect(bench.rescueFiles.isEmpty)
        #expect(bench.server.uploads.count == 1)
    }

    @Test func theTwoKindsOf413HaveTheirOwnWords() async throws {
        var details: Set<String> = []
        for (body, type) in [
            (#"{"error":"E","message":"words"}"#, "application/json"), ("<title>T</title>", "text/html"),
        ] {
            let bench = try Workbench(
                try FakeGigHive { _, connection, _, _ in
                    try connection.answer(413, body, type: type)
                    return true
                }
            )
            details.insert(await bench.uploader.upload(try bench.prepare()).error?.detail ?? "")
        }
        #expect(details == ["words", "the web server refused the size of the request"])
    }

    @Test(arguments: [408, 429]) func aRefusedUploadIsSentAgain(_ status: Int) async throws {
        let bench = try Workbench(
            try FakeGigHive { request, connection, _, number in
                guard request.path == "/api/uploads.php", number == 1 else { return false }
                try connection.answer(status, "")
                return true
            },
            retries: 1
        )
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
    }

    @Test func anEarlierRefusalIsNotInTheRescueFileOfTheNextTry() async throws {
        let directory = Mutex("")
        let heads = Mutex<[String]>([])
        let bench = try Workbench(
            try FakeGigHive { request, connection, _, number in
                guard request.path == "/api/uploads.php" else { return false }
                let root = directory.withLock { $0 }
                for name in try FileManager.default.contentsOfDirectory(atPath: root) where name.hasPrefix("rescue-") {
                    let head = try Data(contentsOf: URL(fileURLWithPath: root + "/" + name)).prefix(77)
                    heads.withLock { $0.append(String(decoding: head.suffix(11), as: UTF8.self)) }
                }
                guard number == 1 else { return false }
                try connection.answer(429, "{}")
                return true
            },
            retries: 1
        )
        directory.withLock { $0 = bench.directory.path }
        #expect(await bench.uploader.upload(try bench.prepare()).state == .done)
        #expect(heads.withLock { $0 } == ["status 000\n", "status 000\n"])
    }

    @Test func aLostAnswerIsLookedForOnEveryPage() async throws {
        let bench = try Workbench(
            try FakeGigHive { request, connection, server, _ in
                switch request.path {
                case "/api/uploads.php":
                    server.store(request.fileContent)
                    connection.close()
                case "/db/database.php":
                    let page = request.query.contains("page=3&") ? 3 : request.query.contains("page=2&") ? 2 : 1
                    let name = page == 3 ? abcChecksum : "other"
                    try connection.answer(
                        200,
                        #"{"pagination":{"pageCount":"3"},"entries":[{"id":"\#(page)8","file_name":"\#(name).mp4"}]}"#
                    )
                default: return false
                }
                return true
            }
        )
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == .tokenLost)
        #expect(result.fileID == 38)
        let listings = bench.server.requests.filter { $0.path == "/db/database.php" }
        #expect(listings.count == 3)
        #expect(listings.allSatisfy { $0.query.contains("view=librarian") && $0.query.contains("t=") })
    }

    @Test func aSuccessWithoutTokenIsDoneWithAWarning() async throws {
        let bench = try Workbench(
            try FakeGigHive { request, connection, server, _ in
                guard request.path == "/api/uploads.php" else { return false }
                try connection.answer(201, server.store(request.fileContent).replyWithoutToken)
                return true
            }
        )
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == .done)
        #expect(result.warnings == [.noDeleteToken])
        #expect(!result.hasDeleteToken)
        #expect(try bench.store.tokens(host: nil).isEmpty)
    }

    @Test(arguments: [201, 409, 500]) func bytesOfWhichATokenIsAtHandAreADeletableDuplicate(_ status: Int) async throws
    {
        let bench = try Workbench(
            try FakeGigHive { request, connection, server, number in
                guard request.path == "/api/uploads.php", number > 1, let file = server.files.first else {
                    return false
                }
                switch status {
                case 201: try connection.answer(201, file.replyWithoutToken)
                case 409: try connection.answer(409, #"{"existing_asset_id":\#(file.id)}"#)
                default: try connection.answer(500, #"{"message":"1062 Duplicate entry"}"#)
                }
                return true
            }
        )
        _ = await bench.uploader.upload(try bench.prepare())
        let result = await bench.uploader.upload(try bench.prepare(name: "copy.mp4"))
        #expect(result.state == .duplicate)
        #expect(result.fileID == 18)
        #expect(result.isDeletableDuplicate)
        #expect(result.hasDeleteToken)
        #expect(result.warnings.isEmpty)
        #expect(try bench.store.tokens(host: nil).count == 1)
    }

    @Test func aTokenOfBeforeTheServerWasRebuiltIsNoToken() async throws {
        let bench = try Workbench(
            try FakeGigHive { request, connection, _, number in
                guard request.path == "/api/uploads.php", number > 1 else { return false }
                try connection.answer(409, #"{"existing_asset_id":3}"#)
                return true
            }
        )
        _ = await bench.uploader.upload(try bench.prepare())
        let result = await bench.uploader.upload(try bench.prepare(name: "copy.mp4"))
        #expect(result.state == .duplicate)
        #expect(result.fileID == 3)
        #expect(!result.isDeletableDuplicate)
        #expect(!result.hasDeleteToken)
    }

    @Test func htmlWithTheJSONInsideKeepsTheToken() async throws {
        let bench = try Workbench(
            try FakeGigHive { request, connection, server, _ in
                guard request.path == "/api/uploads.php" else { return false }
                let json = server.store(request.fileContent).reply.replacing("\"", with: "&quot;")
                try connection.answer(201, "<!DOCTYPE html><pre>\(json)</pre>", type: "text/html")
                return true
            }
        )
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == .done)
        #expect(result.hasDeleteToken)
        #expect(result.warnings == [.answeredInHTML])
    }

    @Test func aWrongChecksumFailsAndKeepsTheToken() async throws {
        let bench = try Workbench(
            try FakeGigHive { request, connection, server, _ in
                guard request.path == "/api/uploads.php" else { return false }
                try connection.answer(201, server.store("damaged").reply)
                return true
            }
        )
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == .failed)
        #expect(result.error?.code == .checksumMismatch)
        #expect(result.isVerified == false)
        #expect(result.hasDeleteToken)
        #expect(try bench.store.tokens(host: nil).first?.checksumSHA256 == bench.server.files[0].checksum)
    }

    @Test func aMissingChecksumIsAWarning() async throws {
        let bench = try Workbench(
            try FakeGigHive { request, connection, _, _ in
                guard request.path == "/api/uploads.php" else { return false }
                try connection.answer(201, #"{"id":18,"delete_token":"odd"}"#)
                return true
            }
        )
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == .done)
        #expect(result.isVerified == false)
        #expect(result.warnings == [.notVerified, .oddToken])
        #expect(try bench.store.tokens(host: nil).first?.token.secret == "odd")
    }

    // MARK: Cut and lost answers

    @Test func aCutAnswerWithAWholeTokenIsDone() async throws {
        let bench = try Workbench(
            try FakeGigHive { request, connection, server, _ in
                guard request.path == "/api/uploads.php" else { return false }
                let reply = server.store(request.fileContent).reply
                try connection.write("HTTP/1.1 201 Created\r\nContent-Length: 9999\r\n\r\n" + reply.dropLast(2))
                connection.close()
                return true
            }
        )
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == .done)
        #expect(result.hasDeleteToken)
    }

    /// How an answer is lost after the file was stored.
    enum Loss: String, Sendable, CaseIterable {
        case closed, reset, cutInToken, badGateway, serverError, noID, whitespace
    }

    @Test(arguments: Loss.allCases) func aLostAnswerOfAStoredFileIsTokenLost(_ loss: Loss) async throws {
        let bench = try Workbench(
            try FakeGigHive { request, connection, server, _ in
                guard request.path == "/api/uploads.php" else { return false }
                let file = server.store(request.fileContent)
                switch loss {
                case .closed: connection.close()
                case .reset: connection.reset()
                case .cutInToken: try connection.answer(201, String(file.reply.dropLast(20)))
                case .badGateway: try connection.answer(502, "<html>", type: "text/html")
                case .serverError: try connection.answer(500, #"{"message":"1406 Data too long"}"#)
                case .noID: try connection.answer(201, "{}")
                case .whitespace: try connection.answer(201, String(repeating: " ", count: 1 << 20))
                }
                return true
            },
            retries: 3
        )
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == .tokenLost)
        #expect(result.error?.code == .tokenLost)
        #expect(result.error?.fileID == 18)
        #expect(result.fileID == 18)
        #expect(try bench.row()?.state == .tokenLost)
        #expect(bench.server.uploads.count == 1)
        #expect(bench.rescueFiles.isEmpty)
    }

    @Test func aLostAnswerOfAnAbsentFileIsSentAgainOnlyAfterAsking() async throws {
        let bench = try Workbench(
            try FakeGigHive { request, connection, _, number in
                guard request.path == "/api/uploads.php", number == 1 else { return false }
                connection.close()
                return true
            },
            retries: 1
        )
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == .done)
        #expect(result.attempts == 2)
        let paths = bench.server.requests.map(\.path)
        let first = try #require(paths.firstIndex(of: "/api/uploads.php"))
        let again = try #require(paths.lastIndex(of: "/api/uploads.php"))
        #expect(paths[first..<again].contains("/db/database.php"))
        #expect(paths[first..<again].contains("/audio/\(abcChecksum).mp4"))
    }

    @Test func aFileThatAppearsLateIsFoundByPolling() async throws {
        let looks = Mutex(0)
        var bench = try Workbench(
            try FakeGigHive { request, connection, server, _ in
                if request.path.hasPrefix("/video/"),
                    looks.withLock({
                        $0 += 1; return $0 == 3
                    })
                {
                    server.store("abc")
                }
                guard request.path == "/api/uploads.php" else { return false }
                connection.close()
                return true
            }
        )
        bench.options.settleTime = .seconds(60)
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == .tokenLost)
        #expect(looks.withLock { $0 } == 3)
    }

    @Test func aServerThatDoesNotSayLeavesTheOutcomeUnknown() async throws {
        let bench = try Workbench(
            try FakeGigHive { request, connection, _, _ in
                if request.path == "/api/uploads.php" {
                    connection.close()
                } else {
                    try connection.answer(503, "")
                }
                return true
            },
            retries: 3
        )
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == .unknownOutcome)
        #expect(result.error?.code == .outcomeUnknown)
        #expect(try bench.row()?.state == .unknownOutcome)
        #expect(bench.server.uploads.count == 1)
    }

    @Test func aStopEndsTheAskingAndTheOutcomeStaysUnknown() async throws {
        let control = TransferControl()
        let over = Gate()
        var bench = try Workbench(
            try FakeGigHive { request, connection, _, _ in
                if request.path == "/api/uploads.php" {
                    connection.close()
                } else {
                    control.stop()
                    // Unanswered until the upload has ended without it.
                    #expect(over.wait())
                }
                return true
            }
        )
        bench.options.settleTime = .seconds(300)
        let result = await bench.uploader.upload(try bench.prepare(), control: control)
        over.open()
        #expect(result.state == .unknownOutcome)
        #expect(result.error?.code == .outcomeUnknown)
    }

    @Test func aStopDuringTheWaitBeforeATryCancels() async throws {
        let control = TransferControl()
        var bench = try Workbench(
            try FakeGigHive { _, connection, _, _ in
                try connection.answer(429, "", headers: ["Retry-After: 120"])
                return true
            },
            retries: 3
        )
        bench.options.retry.retryAfterCap = .seconds(120)
        let result = await bench.uploader.upload(try bench.prepare(), control: control) { event in
            if case .retrying = event {
                control.stop()
            }
        }
        #expect(result.state == .cancelled)
        #expect(try bench.row()?.state == .cancelled)
        #expect(bench.server.uploads.count == 1)
    }

    @Test func nothingListensIsAFailureThatMayBeRepeated() async throws {
        var server: FakeGigHive? = try FakeGigHive()
        let bench = try Workbench(try #require(server))
        server = nil
        let address = try ServerURL("http://127.0.0.1:1")
        let client = GigHiveClient(server: address, http: bench.client.http, authorization: nil)
        let uploader = Uploader(
            client: client,
            store: bench.store,
            directory: bench.directory,
            options: UploadOptions(retry: RetryPolicy(retries: 2, base: .milliseconds(1)))
        )
        let result = await uploader.upload(try bench.prepare())
        #expect(result.state == .failed)
        #expect(result.error?.code == .cannotConnect)
        #expect(result.error?.isRetryable == true)
        #expect(result.attempts == 3)
        #expect(try bench.row()?.state == .failed)
    }
}
