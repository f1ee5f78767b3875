import ArgumentParser
import Foundation
import GigHive
import MediaStore
import TestSupport
import Testing

@testable import MediaCLI

/// `uploads list`: every event of a file, filters, and guest uploads.
@Suite struct ListTests {
    private func kept(_ fileID: Int64, label: String? = "One", date: String = "2026-03-01") -> KeptUpload {
        var entry = JSONSchemaTests.entry
        entry.fileID = fileID
        entry.label = label
        entry.eventDate = date
        return KeptUpload(entry)
    }

    private func facts(_ date: String, _ organization: String, label: String = "Linked") -> StoredFacts {
        var facts = StoredFacts()
        facts.eventDate = date
        facts.orgName = organization
        facts.eventType = "wedding"
        facts.label = label
        return facts
    }

    private func lines(_ uploads: [KeptUpload]) -> [String] {
        let now = Date(timeIntervalSince1970: 1_780_000_000 + 3 * 86_400)
        let hasGuests = uploads.contains(where: \.isGuest)
        return TextRenderer.table(of: uploads, now: now, isTokenShown: false, hasGuests: hasGuests)
            .lines(fitting: nil, style: Style(.never, isTerminal: false, environment: [:]))
    }

    // MARK: Events

    @Test func everyEventOfALinkedFileHasARow() {
        var upload = kept(7)
        upload.events = [facts("2026-03-01", "Tus", label: "One"), facts("2026-04-01", "Other")]
        let lines = lines([upload])
        #expect(lines.count == 3)
        #expect(lines[1].contains("2026-03-01  Tus") && lines[1].contains("One"))
        #expect(lines[2].contains("7  2026-04-01  Other  wedding  Linked (linked)"))
        #expect(upload.otherEvents == [facts("2026-04-01", "Other")])
        #expect(upload.stored == facts("2026-03-01", "Tus", label: "One"))
    }

    @Test func eventsOfARealServerAreListed() async throws {
        let (fixture, file) = try await BatchFixture.withFile("a.mp4")
        for date in ["2026-03-01", "2026-03-02"] {
            let result = try await fixture.upload([file, "--event-date", date, "--org-name", "A   B"])
            #expect(result.exitCode == 0, "\(result.errors)")
        }
        let list = try await fixture.runner.run(["uploads", "list", "--json"])
        try list.expectShapes("uploads-list")
        let item = try #require(try list.records().first)
        #expect(item["org_name"] as? String == "A B", "as the server has it (trap T27)")
        #expect(item["position"] as? Int == 1 && item["event_id"] is Int && item["mime_type"] as? String == "video/mp4")
        let linked = try #require(item["linked_events"] as? [[String: Any]])
        #expect(linked.map { $0["event_date"] as? String } == ["2026-03-02"])
        let text = try await fixture.runner.run(["uploads", "list"])
        #expect(text.lines.count == 3)
        let show = try await fixture.runner.run(["uploads", "show", "1"])
        #expect(show.output.contains("2026-03-02, A B") && show.output.contains("video/mp4"))
        // A filter finds the file by any of its events.
        for (date, count) in [("2026-03-02", 3), ("2026-03-03", 0)] {
            let found = try await fixture.runner.run(["uploads", "list", "-q", "--event-date", date])
            #expect(found.exitCode == 0 && found.lines.count == count)
        }
    }

    @Test func theTransportOfEveryUploadIsListed() async throws {
        let (fixture, file) = try await BatchFixture.withFile("a.mp4")
        for arguments in [[file], [try fixture.file("b.mp4"), "--transport", "tus"]] {
            let result = try await fixture.upload(arguments)
            #expect(result.exitCode == 0, "\(result.errors)")
        }
        let items = try await fixture.runner.run(["uploads", "list", "--json"]).records()
        #expect(items.map { $0["transport"] as? String } == ["tus", "multipart"])
    }

    // MARK: Filters

    @Test(arguments: [
        (["--event-date", "2026-03-01"], [1 as Int64]), (["--org-name", "tU"], [2, 1]),
        (["--event-type", "BAND"], [2, 1]),
        (["--event-type", "wedding"], []), (["--label", "econ"], [2]), (["--label", "a.mp4"], [2, 1]),
        (["--limit", "1"], [2]),
        (["--since", "2026-05-28T20:26:40Z"], [2, 1]), (["--since", "2026-05-28T20:26:41Z"], []), ([], [2, 1]),
        (["--org-name", "x"], []), (["--label", "One", "--event-date", "2026-03-02"], []),
    ])
    func filters(_ arguments: [String], _ expected: [Int64]) throws {
        // 1 780 000 000 s after 1970 is 2026-05-28T20:26:40Z.
        let options = try KeptUploadOptions.parse(arguments)
        let uploads = [kept(2, label: "Second", date: "2026-03-02"), kept(1)]
        var selection = try options.selection()
        #expect(selection.take(uploads).map(\.fileID) == expected)
    }

    @Test(arguments: [["--limit", "0"], ["--limit", "-1"], ["--limit=x"], ["--event-date", "2026-02-30"]])
    func filtersAreChecked(_ arguments: [String]) {
        #expect(throws: (any Error).self) { try KeptUploadOptions.parse(arguments) }
    }

    @Test func anInvalidTimeIsRefused() throws {
        let options = try KeptUploadOptions.parse(["--since", "yesterday"])
        #expect(throws: UserFacingError.self) { try options.selection() }
    }

    // MARK: Guests

    @Test func theStateOfGuestsIsASeparateColumn() {
        #expect(!lines([kept(1)])[0].contains("STATE"))
        var guest = kept(2)
        guest.token = nil
        guest.isGuest = true
        #expect(lines([guest])[1].hasSuffix("not checked"))
        guest.guestState = .pending
        guest.guestStateAt = Date(timeIntervalSince1970: 1_780_000_000 + 2 * 86_400)
        let both = lines([guest, kept(1)])
        #expect(both[0].hasSuffix("STATE"))
        #expect(both[1].hasSuffix("pending, 1 day ago"))
        #expect(both[2].hasSuffix("  -"))
    }

    @Test(arguments: [
        (GuestState.pending, "can be hidden once"), (.approved, "mediactl uploads delete 2"), (.rejected, "rejected"),
        (.hidden, "the server keeps the file"),
        (.expired, "if it was approved, mediactl uploads delete 2 hides it, otherwise the server refuses"),
    ])
    func onlyUploadsThatCanBeHiddenAreMarked(_ state: GuestState, _ words: String) {
        var guest = kept(2)
        guest.token = nil
        guest.isGuest = true
        guest.guestState = state
        guest.guestStateAt = guest.createdAt
        let text = TextRenderer.kept(
            guest,
            now: guest.createdAt,
            isTokenShown: false,
            style: Style(.never, isTerminal: false, environment: [:])
        )
        .joined(separator: "\n")
        #expect(text.contains(words))
        #expect(text.contains("uploads delete") == state.mayBeHidden)
    }
}

/// `uploads status` and `uploads resume --all` count the same uploads.
@Suite struct ResumableCountTests {
    private func record(_ number: Int, _ state: UploadState, _ transport: UploadTransport, isGuest: Bool = false)
        -> UploadRecord
    {
        var record = JSONSchemaTests.record
        record.uploadID = "u-aaaaaaaaaaaaaaa\(number + 1)"
        record.path = Array("/no/such-\(number).mp4".utf8)
        (record.host, record.baseURL) = ("127.0.0.1:9", "http://127.0.0.1:9")
        (record.state, record.transport, record.isGuest) = (state, transport, isGuest)
        record.fileID = state == .done ? 7 : nil
        return record
    }

    /// The upload is for a server that the command does not specify, so its credentials are missing.
    @Test func theHintOfMissingCredentialsSpecifiesTheServerOnce() async throws {
        let runner = try BinaryRunner()
        let store = try runner.store()
        try store.insert(record(2, .sending, .multipart))
        let result = try await runner.run(["uploads", "status", "--no-input"])
        #expect(result.exitCode == 6, "\(result.errors)")
        #expect(
            result.errors.contains("hint: mediactl uploads status --server http://127.0.0.1:9\n"),
            "\(result.errors)"
        )
    }

    @Test func statusCountsWhatResumeWouldResume() async throws {
        let runner = try BinaryRunner()
        let directory = try DataDirectory.open(runner.home.file("data/mediactl"))
        let store = try TokenStore(in: directory)
        // The first two are resumable. A finished guest upload, one that left nothing on the server, and one whose
        // content is unknown are not.
        var records = [
            record(1, .sending, .tus), record(2, .sending, .multipart), record(3, .done, .tus, isGuest: true),
            record(4, .failed, .tus), record(5, .sending, .multipart),
        ]
        records[1].checksumSHA256 = String(repeating: "a", count: 64)
        records[1].fields =
            try UploadDetails.validated(eventDate: "2026-03-01", orgName: "Band", eventType: "band", label: "a").fields
        for record in records { try store.insert(record) }
        try await store.commit(
            records[2].uploadID,
            UploadChange(),
            token: nil,
            guest: GuestReceipt(nonce: String(repeating: "n", count: 32), jobID: 1)
        )
        func counts() async throws -> (status: Int?, resume: Int?) {
            let status = try await runner.run(["uploads", "status", "--dry-run", "--json"])
            try status.expectShapes("uploads-status")
            let resume = try await runner.run(["uploads", "resume", "--all", "--dry-run", "--json"])
            return (
                try status.records("summary").first?["resumable"] as? Int,
                try resume.records("summary").first?["items"] as? Int
            )
        }
        #expect(try await counts() == (2, 2))
        let note = try await runner.run(["uploads", "status", "--dry-run"])
        #expect(note.errors.contains("2 uploads can be resumed: mediactl uploads resume --all"))
        // Another process is sending one of the uploads.
        let lock = try #require(try UploadLock.acquire(records[0].uploadID, in: directory))
        #expect(try await counts() == (1, 1))
        lock.release()
    }
}
