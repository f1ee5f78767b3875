import MediaTransport
import Synchronization
import TestSupport
import Testing

@testable import GigHive

/// The files on a server (gighive contract section 7).
@Suite(.prompt) struct MediaListingTests {
    // MARK: Names

    /// Stored forms as seen on servers of the three dialects; the expected text is the one that was sent.
    @Test(arguments: [
        ("A  B", "A B", true), ("A B", " A   B ", true), ("Cafe\u{301}", "Caf\u{e9}", true),
        ("die arzte", "Die Ärzte", true), ("motley crue", "MÖTLEY  Crüe", true),
        ("strasse & co. - naive (2)", "Straße & Co. – naïve (2)", true), ("rocknroll_100%", "Rock'n'Roll_100%", true),
        ("lodz ore ri ben yu title", "Łódź Øre 日本語 Title", true),
        ("The Band", "the band", true), ("the band", "The Bands", false),
        ("Ann \u{2764}\u{FE0F} Bob", "Ann \u{2764} Bob", true), ("A\u{200B}B", "AB", true),
        // A real server's database treats the pairs in the next two lines as equal; as labels, both exist.
        ("Die Ärzte", "Die Arzte", false), ("Party 🎉", "Party 🎂", false),
        ("№5", "No5", false), ("ｆｕｌｌ", "full", false), ("カ", "か", false), ("Ⅷ", "VIII", false),
        ("Party 🎉", "Party", false), ("カ", "き", false),
        ("", "x", false),
    ]) func namesAreComparedAsServersStoreThem(_ stored: String, _ wanted: String, _ isSame: Bool) {
        #expect(StoredText.isSame(stored, wanted) == isSame)
    }

    @Test(
        arguments: [
            ("The  Larks", "Larks"), ("Rock'n'Roll", "Rock"), ("100% | !no & yes", "100"), ("Łódź", nil), ("a b", nil),
            ("Cafe\u{301}s", "Caf"), ("日本語", nil),
        ] as [(String, String?)]
    )
    func theSearchTermIsPartOfEveryStoredForm(_ wanted: String, _ term: String?) {
        #expect(StoredText.searchTerm(wanted) == term)
    }

    // MARK: Queries

    @Test(arguments: ["d1", "d2", "d3"])
    func aFileIsFoundByEveryListedAttribute(_ dialect: String) async throws {
        let sandbox = try await SandboxProcess.start(dialect: dialect)
        let bench = try sandbox.bench()
        let wanted = try await bench.upload("wanted", name: "a.mp4", date: "2026-03-02")
        _ = try await bench.upload("other", name: "b.mp4", date: "2026-03-01")
        let client = try sandbox.bench(user: "viewer").client
        var query = MediaQuery()
        query.eventDate = "2026-03-02"
        query.orgName = " Band"
        query.label = "one"
        query.fileType = "video"
        query.checksumSHA256 = wanted.checksumSHA256
        let found = try await client.media(matching: query)
        #expect(found.map(\.fileID) == [1])
        #expect(found.first?.checksumSHA256 == wanted.checksumSHA256)
        #expect(found.first?.events.map(\.date) == ["2026-03-02"])
        for path in [\MediaQuery.eventDate, \.orgName, \.label, \.fileType, \.checksumSHA256] {
            var other = query
            other[keyPath: path] = path == \.checksumSHA256 ? String(repeating: "0", count: 64) : "2026-03-09"
            #expect(try await client.media(matching: other).isEmpty)
        }
        #expect(try await client.media().count == 2)
    }

    /// The date of one event and the label of another do not match together.
    @Test func attributesMustMatchInTheSameEvent() async throws {
        let bench = try await SandboxProcess.start(dialect: "d3").bench()
        _ = try await bench.upload(date: "2026-03-01")
        _ = try await bench.upload("other", date: "2026-03-02", label: "two")
        var query = MediaQuery()
        query.eventDate = "2026-03-01"
        #expect(try await bench.client.media(matching: query).map(\.fileID) == [1])
        query.label = "two"
        #expect(try await bench.client.media(matching: query).isEmpty)
    }

    @Test func allEventsOfAFileAreOneFile() async throws {
        let sandbox = try await SandboxProcess.start()
        let bench = try sandbox.bench()
        _ = try await bench.upload(date: "2026-03-01")
        _ = try await sandbox.bench().upload(date: "2026-03-02")
        let found = try await bench.client.media()
        #expect(found.map(\.fileID) == [1])
        #expect(found.first?.events.map(\.date) == ["2026-03-02", "2026-03-01"])
        let asset = try #require(try await bench.client.asset(1))
        #expect(try await bench.client.media(including: asset).sizeBytes == 3)
    }

    /// D1 and D2 report when a file was stored, but D3 does not; none lists the event type (contract 2.5 and section
    /// 7).
    @Test(arguments: [("d1", nil), ("d2", nil), ("d3", "since")] as [(String, String?)])
    func aFilterWithoutItsAttributeIsRefused(_ dialect: String, _ refused: String?) async throws {
        let bench = try await SandboxProcess.start(dialect: dialect).bench()
        _ = try await bench.upload()
        var query = MediaQuery()
        query.since = "2020-01-01"
        if let refused {
            let error = await #expect(throws: GigHiveError.self) { try await bench.client.media(matching: query) }
            #expect(error?.code == .filterUnavailable)
            #expect(error?.field == refused)
        } else {
            #expect(try await bench.client.media(matching: query).count == 1)
            query.since = "2999-01-01 00:00:00"
            #expect(try await bench.client.media(matching: query).isEmpty)
        }
        query = MediaQuery()
        query.eventType = "band"
        let error = await #expect(throws: GigHiveError.self) { try await bench.client.media(matching: query) }
        #expect(error?.field == "event_type")
    }

    @Test(arguments: ["d1", "d2", "d3"])
    func aServedNameMatchesExactly(_ dialect: String) async throws {
        let bench = try await SandboxProcess.start(dialect: dialect).bench()
        let stored = try await bench.upload()
        var query = MediaQuery()
        query.fileName = "\(stored.checksumSHA256 ?? "").mp4"
        #expect(!query.guessesFileName)
        #expect(try await bench.client.media(matching: query).count == 1)
        query.fileName = String(repeating: "0", count: 64) + ".mp4"
        #expect(try await bench.client.media(matching: query).isEmpty)
    }

    /// No release stores the name of the original file; its stem is the default label (contract 2.2, trap T16).
    @Test(arguments: ["d1", "d2", "d3"])
    func anOriginalNameMatchesTheDefaultLabel(_ dialect: String) async throws {
        let bench = try await SandboxProcess.start(dialect: dialect).bench()
        _ = try await bench.upload("wanted", name: "a.mp4", label: "My Clip #2")
        _ = try await bench.upload("other", name: "b.mp4", label: "Clip #2")
        var query = MediaQuery()
        query.fileName = "my clip #2.mp4"
        #expect(query.guessesFileName)
        #expect(try await bench.client.media(matching: query).map(\.fileID) == [1])
        query.fileName = "2.mp4"
        #expect(try await bench.client.media(matching: query).isEmpty, "a part of the label does not match")
    }

    /// Newer servers build a readable name from organization, date and label, as `GET /api/uploads/<id>` reports.
    @Test func anOriginalNameMatchesTheReadableNameOfTheServer() async throws {
        let readable = "the-band20260301_my-clip-2.mp4"
        let server = try FakeGigHive { request, connection, _, _ in
            switch request.path {
            case "/db/database.php": try connection.respond(200, Self.page(1, [1], total: 1))
            case "/api/uploads/1": try connection.respond(200, #"{"id":1,"source_relpath":"\#(readable)"}"#)
            default: return false
            }
            return true
        }
        let bench = try Workbench(server)
        var query = MediaQuery()
        for (name, count) in [
            (readable, 1), ("my-clip_2.MP4", 1), ("My Clip -- 2.mp4", 1), ("my-clip-2.mov", 0), ("clip-2.mp4", 0),
            ("my-clip-2", 0), ("??.mp4", 0), ("t.mp4", 1), ("My Clip 🎸 2.mp4", 0),
        ] {
            query.fileName = name
            #expect(try await bench.client.media(matching: query).count == count, "\(name)")
        }
    }

    /// D1 and D2 do not report readable names; one response shows this, and the other files are not requested.
    @Test func namesMissingInAReleaseAreRequestedOnce() async throws {
        let bench = try await SandboxProcess.start(dialect: "d1").bench()
        for number in 1...3 { _ = try await bench.upload("\(number)", name: "\(number).mp4") }
        let before = try await bench.sandbox.requests().count { $0.path.hasPrefix("/api/uploads/") }
        var query = MediaQuery()
        query.fileName = "nothing.mp4"
        #expect(try await bench.client.media(matching: query).isEmpty)
        #expect(try await bench.sandbox.requests().count { $0.path.hasPrefix("/api/uploads/") } == before + 1)
    }

    // MARK: Pages

    /// The digest of a file is its ID, repeated.
    private static func page(_ number: Int, _ ids: [Int], total: Int) -> String {
        let entries = ids.map { id in
            let name = String(repeating: "\(id)", count: 64) + ".mp4"
            return #"{"id":\#(id),"date":"2026-03-01","org_name":"A","song_title":"t","file_name":"\#(name)"}"#
        }
        return #"{"pagination":{"page":\#(number),"pageCount":2,"total":\#(total)},"#
            + #""entries":[\#(entries.joined(separator: ","))]}"#
    }

    /// Pages of a server that sorts by date alone: one row is listed twice and another one not at all.
    private func server(_ pages: [[Int]], total: Int) throws -> FakeGigHive {
        let next = Mutex(0)
        return try FakeGigHive { request, connection, _, _ in
            guard request.path == "/db/database.php" else { return false }
            let number = next.withLock { number in
                defer { number += 1 }
                return min(number, pages.count - 1)
            }
            try connection.respond(200, Self.page(number % 2 + 1, pages[number], total: total))
            return true
        }
    }

    private static let byEvent = {
        var query = MediaQuery()
        query.eventDate = "2026-03-01"
        return query
    }()

    @Test func overlappingPagesAreReadAgain() async throws {
        let bench = try Workbench(try server([[1, 2], [2, 3], [1, 2], [3, 4]], total: 4))
        #expect(try await bench.client.media(matching: Self.byEvent).map(\.fileID) == [1, 2, 3, 4])
    }

    /// Neither `uploads verify` nor the end of a run reports the file as missing.
    @Test func aFileOnOverlappingPagesIsVerified() async throws {
        let bench = try Workbench(try server([[1, 2], [2, 3], [1, 2], [3, 4]], total: 4))
        let uploads = (1...5).map { id in
            let checksum = String(repeating: "\(id)", count: 64)
            return StoredUpload(fileID: Int64(id), checksumSHA256: checksum, eventDate: "2026-03-01", orgName: "A")
        }
        #expect(try await bench.client.missing(among: uploads) == [4])
    }

    @Test func aListingThatStaysIncompleteIsAnError() async throws {
        let bench = try Workbench(try server([[1, 2], [2, 3]] + Array(repeating: [2, 3], count: 8), total: 4))
        let error = await #expect(throws: GigHiveError.self) {
            try await bench.client.media(matching: Self.byEvent)
        }
        #expect(error?.code == .unexpectedResponse)
        let lost = StoredUpload(fileID: 4, checksumSHA256: Self.digest(4), eventDate: "2026-03-01", orgName: "A")
        await #expect(throws: GigHiveError.self) {
            try await bench.client.missing(among: [lost])
        }
    }

    @Test func anIncompleteListingDoesNotProveThatAFileIsAbsent() async throws {
        let bench = try Workbench(try server([[1, 2], [2, 3]] + Array(repeating: [2, 3], count: 6), total: 4))
        let inventory = ServerInventory(bench.client)
        let events = ["2026-03-01", "2026-03-02"].map { InventoryEvent(date: $0, orgName: "A") }
        let control = TransferControl()
        guard case .stored(let stored) = try await inventory.find(Self.digest(3), in: events[0], control: control)
        else {
            Issue.record("the listing has the file")
            return
        }
        #expect(stored.fileID == 3 && stored.isOnlyInEvent)
        #expect(try await inventory.find(Self.digest(4), in: events[0], control: control) == .unavailable)
        #expect(try await inventory.find(Self.digest(3), in: events[1], control: control) == .unavailable)
        #expect(await inventory.refusal?.code == .unexpectedResponse)
    }

    private static func digest(_ id: Int) -> String { String(repeating: "\(id)", count: 64) }
}
