import Foundation
import MediaStore
import MediaTransport
import TestSupport
import Testing

@testable import GigHive

/// Which responses mean "already on the server", and which mean a failed upload (gighive contract section 3, trap T19).
@Suite(.prompt) struct DuplicateConfirmationTests {
    /// The server's error message for a collision of a key.
    private static func collision(_ key: String) -> String {
        """
        {"error":"Server Error","message":"SQLSTATE[23000]: Integrity constraint violation: 1062 Duplicate entry \
        '2026-03-01-Band' for key '\(key)'"}
        """
    }

    private static let eventKeys = [
        "unique_session_date_org", "uq_files_session_seq", "uq_events_tenant_date_org", "uq_assets_tenant_checksum",
    ]

    @Test(arguments: eventKeys) func aLostRaceIsRetriedUntilItIsStored(_ key: String) async throws {
        let bench = try Workbench.overriding { request, connection, _, number in
            guard request.path == "/api/uploads.php", number < 4 else { return false }
            try connection.respond(500, Self.collision(key))
            return true
        }
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == .done)
        #expect(result.hasDeleteToken)
        #expect(bench.server.uploads.count == 4)
        #expect(bench.server.files.count == 1)
    }

    @Test(arguments: eventKeys) func aRaceThatIsAlwaysLostFails(_ key: String) async throws {
        let bench = try Workbench { _, connection, _, _ in
            try connection.respond(500, Self.collision(key))
        }
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == .failed)
        #expect(result.error?.code == .serverRace)
        #expect(bench.server.uploads.count == 11)
        #expect(try bench.row()?.state == .failed)
    }

    /// Regardless of which key collided, this upload failed: a different one stored the bytes and has their token.
    @Test(arguments: eventKeys) func bytesInTheEventAfterALostRaceAreADuplicate(_ key: String) async throws {
        let bench = try Workbench { request, connection, server, _ in
            server.store(request.fileContent)
            try connection.respond(500, Self.collision(key))
        }
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == .duplicate)
        #expect(result.fileID == 18)
        #expect(bench.server.uploads.count == 1)
    }

    /// D2 keeps the bytes of a failed upload on its disk, without a row: they are served, but not listed.
    @Test func servedBytesWithoutARowAreNotAnUpload() async throws {
        let bench = try Workbench.overriding { request, connection, _, number in
            if request.path == "/api/uploads.php", number == 1 {
                try connection.respond(500, Self.collision("unique_session_date_org"))
                return true
            }
            guard request.method == "HEAD" else { return false }
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n")
            return true
        }
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == .done)
        #expect(bench.server.uploads.count == 2)
    }

    // MARK: Refusals

    @Test(arguments: [
        ("2026-03-01", UploadState.duplicate), ("2025-12-31", .refusedDuplicate),
    ]) func aRefusalOfOldServersCountsOnlyWithTheListing(_ date: String, _ state: UploadState) async throws {
        let bench = try Workbench(try Self.refusing(spelling: "existing_file_id"))
        bench.server.store("abc", date: date)
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == state)
        #expect(result.fileID == 18)
        #expect(result.error?.code == (state == .duplicate ? nil : .refusedDuplicate))
        #expect(bench.server.uploads.count == 1)
    }

    /// A server that failed between storing the file and adding it to its event does not have it in any event (trap
    /// T7).
    @Test(arguments: [
        (200, #"{"pagination":{"page":1,"pageCount":1},"entries":[]}"#, UploadState.refusedDuplicate, "in no event"),
        (500, #"{"error":"Internal Server Error"}"#, .unknownOutcome, "its event could not be checked"),
    ])
    func aRefusalOfAFileThatIsNotListed(_ status: Int, _ body: String, _ state: UploadState, _ detail: String)
        async throws
    {
        let bench = try Workbench.overriding { request, connection, server, _ in
            switch request.path {
            case "/api/uploads.php": try Self.refuse(connection, server, "existing_file_id")
            case "/db/database.php": try connection.respond(status, body)
            default: return false
            }
            return true
        }
        bench.server.store("abc")
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == state)
        #expect(result.fileID == 18)
        #expect(result.error?.detail.contains(detail) == true)
        #expect(result.error?.field == "event")
    }

    @Test func theNewestServersRefuseOnlyDuplicatesInTheEvent() async throws {
        let bench = try Workbench(try Self.refusing(spelling: "existing_asset_id"))
        bench.server.store("abc", date: "2025-12-31")
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == .duplicate)
        #expect(!bench.server.requests.contains { $0.path == "/db/database.php" })
        #expect(bench.server.requests.contains { $0.path == "/api/uploads/18" })
    }

    @Test func aRefusalThatTheServerContradictsIsAFailure() async throws {
        let bench = try Workbench(try Self.refusing(spelling: "existing_asset_id"))
        bench.server.store("other bytes")
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == .failed)
        #expect(result.error?.code == .unexpectedResponse)
    }

    // MARK: Refusals that do not identify the existing file

    /// The content of the refusal, whether the server has the file, and whether a warning is expected.
    @Test(arguments: [
        ("", true, true), ("", false, true), ("{}", true, true), ("<title>409 Conflict</title>", true, true),
        (#"{"checksum_sha256":"\#(String(repeating: "0", count: 64))"}"#, true, true),
        (#"{"checksum_sha256":"\#(String(repeating: "0", count: 64))"}"#, false, true),
        (#"{"existing_asset_id":18}"#, false, true), (#"{"existing_asset_id":18}"#, true, false),
        (#"{"checksum_sha256":"\#(abcChecksum)"}"#, true, false),
    ]) func aRefusalWithoutTheExistingFileWarnsOfALostToken(
        _ body: String,
        _ isOnServer: Bool,
        _ isWarning: Bool
    ) async throws {
        let bench = try Workbench { request, connection, server, _ in
            if isOnServer { server.store(request.fileContent) }
            try connection.respond(409, body, type: body.hasPrefix("<") ? "text/html" : "application/json")
        }
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == (isOnServer ? .duplicate : .failed))
        #expect(result.warnings == (isWarning ? [.tokenMayBeLost] : []))
        #expect(!result.hasDeleteToken)
        #expect(bench.server.uploads.count == 1)
    }

    @Test func aStoredTokenIsNotReportedAsLost() async throws {
        let bench = try Workbench.overriding { request, connection, _, number in
            guard request.path == "/api/uploads.php", number > 1 else { return false }
            try connection.respond(409, "")
            return true
        }
        #expect(await bench.uploader.upload(try bench.prepare()).state == .done)
        let result = await bench.uploader.upload(try bench.prepare(name: "copy.mp4"))
        #expect(result.state == .duplicate && result.hasDeleteToken)
        #expect(result.warnings.isEmpty)
    }

    @Test func aLostTokenIsReportedOnce() async throws {
        let bench = try Workbench { request, connection, server, number in
            if number == 1 {
                server.store(request.fileContent)
                connection.close()
            } else {
                try connection.respond(409, "")
            }
        }
        #expect(await bench.uploader.upload(try bench.prepare()).state == .tokenLost)
        let result = await bench.uploader.upload(try bench.prepare(name: "copy.mp4"))
        #expect(result.state == .duplicate)
        #expect(result.warnings == [.tokenLostEarlier])
    }

    /// A load balancer may respond with 503 after the server has stored the file, and even to the query for it.
    @Test(arguments: [true, false]) func aDuplicateAfterA503WarnsOfALostToken(_ wasStored: Bool) async throws {
        let fake = try FakeGigHive { request, connection, server, number in
            if request.method == "HEAD", wasStored {
                try connection.respond(503, "")
                return true
            }
            guard request.path == "/api/uploads.php", number == 1 || wasStored else { return false }
            if number == 1 {
                if wasStored { server.store(request.fileContent) }
                try connection.respond(503, "")
            } else {
                try connection.respond(409, #"{"existing_asset_id":18}"#)
            }
            return true
        }
        let bench = try Workbench(fake, retries: 1)
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == (wasStored ? .duplicate : .done))
        #expect(result.warnings == (wasStored ? [.tokenMayBeLost] : []))
        #expect(result.hasDeleteToken != wasStored)
    }

    @Test func aFinalizeRefusedWithoutTheExistingFileWarnsOfALostToken() async throws {
        let bench = try ResumableBench(try await SandboxProcess.start(faults: ["finalize:status-after=409,times=1"]))
        let result = await bench.uploader.upload(try bench.prepare(try bench.file()))
        #expect(result.state == .duplicate)
        #expect(result.warnings == [.tokenMayBeLost])
    }

    private static func refusing(spelling: String) throws -> FakeGigHive {
        try FakeGigHive { request, connection, server, _ in
            guard request.path == "/api/uploads.php" else { return false }
            try refuse(connection, server, spelling)
            return true
        }
    }

    private static func refuse(
        _ connection: ScriptedServer.Connection,
        _ server: FakeGigHive,
        _ spelling: String
    ) throws {
        let id = server.files.first?.id ?? 0
        try connection.respond(
            409,
            #"{"error":"Duplicate Upload","\#(spelling)":\#(id),"checksum_sha256":"\#(abcChecksum)"}"#
        )
    }

    // MARK: Success without a token

    @Test(arguments: [
        (#""asset_id":18,"event_id":6,"event_item_id":9"#, ["2026-03-01", "2025-12-31"], UploadState.linked),
        // The server does not indicate that it already had the file; it only omits the token.
        (#""asset_id":18,"event_id":6,"event_item_id":9"#, ["2026-03-01"], .done),
        (#""session_id":3,"seq":2"#, [], .duplicate), (#""session_id":4,"seq":1"#, [], .linked),
        (#""session_id":3,"seq":1"#, [], .done),
    ]) func aSuccessWithoutTokenReportsWhetherTheEventHadTheFile(
        _ response: String,
        _ events: [String],
        _ state: UploadState
    ) async throws {
        let bench = try Workbench.overriding { request, connection, server, _ in
            switch request.path {
            case "/api/uploads.php":
                for date in events { server.store("abc", id: 18, date: date) }
                try connection.respond(201, #"{"id":18,\#(response),"checksum_sha256":"\#(abcChecksum)"}"#)
            case "/api/uploads/18":
                try connection.respond(
                    200,
                    #"{"id":18,"session_id":3,"seq":1,"checksum_sha256":"\#(abcChecksum)"}"#
                )
            default: return false
            }
            return true
        }
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == state)
        #expect(result.error == nil)
        #expect(result.warnings == [.noDeleteToken])
        #expect(!result.hasDeleteToken)
        #expect(try bench.store.tokens(host: nil).isEmpty)
        #expect(try bench.row()?.state == state)
    }

    // MARK: Lost responses

    /// A HEAD response counts only if it has the length that was uploaded, and does not override the listing.
    @Test(arguments: [(2, false), (3, true)])
    func aServedFileProvesNothing(_ length: Int, _ hasListing: Bool) async throws {
        let bench = try Workbench.overriding { request, connection, _, _ in
            if request.path == "/api/uploads.php" {
                connection.close()
            } else if request.path.hasPrefix("/video/") {
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\n")
            } else if request.path == "/db/database.php", !hasListing {
                try connection.respond(500, #"{"error":"Internal Server Error"}"#)
            } else {
                return false
            }
            return true
        }
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == .unknownOutcome)
        // Later, the server can no longer be processing the upload: it has the bytes without a row.
        var client = bench.client
        client.now = { Date(timeIntervalSinceNow: 3600) }
        let (store, directory, options) = (bench.store, bench.directory, bench.options)
        let later = Uploader(client: client, store: store, directory: directory, options: options)
        let row = try #require(try bench.store.uploads(states: [], host: nil).first)
        #expect(await later.resolve(row).state == (hasListing ? .failed : .unknownOutcome))
    }

    /// A web server that is not GigHive may respond to every request with a page, or with no content.
    @Test(arguments: [
        "200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked", "204 No Content",
        "200 OK\r\nContent-Type: text/html\r\nContent-Length: 5",
    ])
    func aServerThatRespondsToEverythingHasNoFile(_ head: String) async throws {
        let bench = try Workbench.overriding { request, connection, _, _ in
            let isChunked = head.contains("chunked")
            let page = request.method == "HEAD" || head.hasPrefix("204") ? "" : "<p/>\n"
            let body = isChunked && !page.isEmpty ? "5\r\n\(page)\r\n0\r\n\r\n" : page
            try connection.write("HTTP/1.1 \(head)\r\n\r\n\(body)")
            return true
        }
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == .unknownOutcome)
        #expect(result.error?.code == .unknownOutcome)
        #expect(result.isVerified != true)
        #expect(result.fileID == nil)
        #expect(try bench.row()?.state == .unknownOutcome)
    }

    private static let firstByte = "206 Partial Content\r\nContent-Range: bytes 0-0/"

    /// If the listing cannot be read, only a file of the uploaded length counts. A server in PHP states the
    /// length only in the response to a range (gighive-d4 contract section 2).
    @Test(arguments: [
        (401, "\(firstByte)3", UploadState.tokenLost), (403, "\(firstByte)3", .tokenLost),
        (500, "\(firstByte)3", .tokenLost), (401, "\(firstByte)2", .unknownOutcome),
        (500, "\(firstByte)2", .unknownOutcome),
        (401, "\(firstByte)*", .unknownOutcome), (401, "200 OK", .unknownOutcome),
    ])
    func withoutTheListingTheLengthConfirmsAFile(_ listing: Int, _ range: String, _ state: UploadState) async throws {
        let bench = try Workbench.overriding { request, connection, _, _ in
            if request.path == "/api/uploads.php" {
                connection.close()
            } else if request.path.hasPrefix("/video/"), request.method == "HEAD" {
                try connection.write("HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n")
            } else if request.path.hasPrefix("/video/") {
                #expect(request.head.lowercased().contains("range: bytes=0-0"))
                try connection.write("HTTP/1.1 \(range)\r\nContent-Length: 1\r\n\r\na")
            } else if request.path == "/db/database.php" {
                let challenge = #"WWW-Authenticate: Basic realm="GigHive Protected""#
                try connection.respond(listing, "<title>No</title>", type: "text/html", headers: [challenge])
            } else {
                return false
            }
            return true
        }
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == state)
        #expect(result.fileID == nil)
    }

    /// A server that limits the rate of requests cannot be queried before the limit has expired.
    @Test(.timeLimit(.minutes(1))) func aRateLimitDoesNotExtendTheInquiry() async throws {
        let bench = try Workbench.overriding { request, connection, _, _ in
            if request.path == "/api/uploads.php" {
                connection.close()
            } else {
                let body = request.method == "HEAD" ? "" : "{}"
                try connection.respond(429, body, headers: ["Retry-After: 3600"])
            }
            return true
        }
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == .unknownOutcome)
        #expect(bench.server.requests.map(\.method) == ["POST", "HEAD"])
    }

    // MARK: The journal of 0.1.0

    /// 0.1.0 recorded a failed upload, and one that D2 refused, as a duplicate.
    @Test func aDuplicateRecordedOnlyInTheJournalIsUploadedAgain() async throws {
        let bench = try Workbench(try FakeGigHive())
        bench.server.store("abc", date: "2025-12-31")
        let upload = try bench.prepare()
        var row = bench.uploader.record(of: upload)
        row.state = .duplicate
        row.checksumSHA256 = abcChecksum
        row.fileID = 18
        try bench.store.insert(row)
        let result = await bench.uploader.upload(upload)
        #expect(!result.isSkipped)
        #expect(bench.server.uploads.count == 1)
    }
}

/// Which uploads of an event run in parallel.
@Suite struct EventGateTests {
    private let event = InventoryEvent(date: "2026-03-01", orgName: "Band")

    @Test func theFirstUploadOfAnEventIsExclusive() async {
        let gate = EventGate()
        #expect(await gate.enter(event) == .alone)
        let isStored = Locked(false)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<3 {
                group.addTask {
                    #expect(await gate.enter(event) == .free)
                    #expect(isStored.withLock { $0 })
                }
            }
            // Uploads that do not wait would enter meanwhile.
            for _ in 0..<100 { await Task.yield() }
            isStored.withLock { $0 = true }
            gate.leave(event, .assets)
        }
        #expect(await gate.enter(event) == .free)
    }

    @Test func oldServersGetUploadsOfAnEventInSequence() async {
        let gate = EventGate()
        let running = Locked((now: 0, most: 0, total: 0))
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    #expect(await gate.enter(event) == .alone)
                    running.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1), $0.total + 1) }
                    for _ in 0..<10 { await Task.yield() }
                    running.withLock { $0.now -= 1 }
                    gate.leave(event, .sessions)
                }
            }
        }
        #expect(running.withLock { $0 } == (0, 1, 8))
    }

    @Test func otherEventsDoNotWait() async {
        let gate = EventGate()
        #expect(await gate.enter(event) == .alone)
        #expect(await gate.enter(InventoryEvent(date: "2026-03-02", orgName: "Band")) == .alone)
    }

    @Test func anUploadWithoutResponseLetsTheNextOneRunExclusively() async {
        let gate = EventGate()
        #expect(await gate.enter(event) == .alone)
        gate.leave(event, nil)
        #expect(await gate.enter(event) == .alone)
    }

    @Test func aClosedGateRejectsAllWaiters() async {
        let gate = EventGate()
        #expect(await gate.enter(event) == .alone)
        async let second = gate.enter(event)
        async let third = gate.enter(event)
        // Uploads that do not wait yet would be refused as well.
        for _ in 0..<100 { await Task.yield() }
        gate.close()
        #expect(await second == .refused)
        #expect(await third == .refused)
        #expect(await gate.enter(event) == .refused)
    }

    /// Names are compared as the database compares them, and as late D2 releases list them.
    @Test(arguments: [
        ("The  Band", "the band", true), ("Café Noir", "cafe noir", true), ("O’Neil – Live", "oneil - live", true),
        ("Łódź — Øre", "lodz - ore", true), ("Band", "Bands", false),
    ]) func namesAreComparedAsTheServerDoes(_ sent: String, _ listed: String, _ isSame: Bool) {
        let event = InventoryEvent(date: "2026-03-01", orgName: sent)
        var entry = ListingPage.Entry(fileID: 1)
        entry.date = "2026-03-01"
        entry.orgName = listed
        #expect(entry.isIn(event) == isSame)
    }
}
