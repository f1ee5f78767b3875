import Foundation
import TestSupport
import Testing

/// Overlapping uploads collide as on the real servers: the message, the stored files, and the result of a retry.
@Suite(.prompt) struct RaceTests {
    static let event = ["event_date=2026-05-05", "org_name=RaceRec"]

    /// A recording, the fault that repeats it, and the value that collides, from the rule of gighive contract 3.
    @Test(arguments: [
        ("d1-race-event", "event", "2026-05-05-RaceRec"), ("d2-race-event", "event", "2026-05-05-racerec"),
        ("d3-race-event", "event", "1-2026-05-05-RaceRec"), ("d1-race-sequence", "sequence", "1-1"),
        ("d2-race-sequence", "sequence", "1-1"),
        // SHA-256 of "checksum", cut so that the value has 64 characters.
        ("d3-race-checksum", "checksum", "1-96fa8f226d3801741e807533552bc4b177ac4544d834073b6a5298934d3..."),
    ])
    func aCollisionReadsLikeTheRecording(name: String, key: String, value: String) async throws {
        let recording = try Transcript(named: name)
        let fixture = try await Fixture(dialect: String(name.prefix(2)), faults: ["upload:collision=\(key)"])
        let reply = try await fixture.upload(try fixture.file(content: "checksum"), fields: Self.event)
        #expect(reply.status == recording.status)
        #expect(Self.withoutValue(reply.text) == Self.withoutValue(recording.text))
        #expect(reply.text.contains("Duplicate entry '\(value)' for key"))
    }

    @Test(arguments: ["d1", "d2", "d3"])
    func aLostEventStoresNothingAndTheRetryFindsTheEvent(dialect: String) async throws {
        let fixture = try await Fixture(dialect: dialect, faults: ["upload:collision=event,times=1"])
        let path = try fixture.file(content: "first")
        #expect(try await fixture.upload(path, fields: Self.event).status == 500)
        #expect(try fixture.storedFiles().isEmpty)
        let retry = try await fixture.upload(path, fields: Self.event)
        #expect(retry.status == 201)
        #expect(try retry.string("delete_token")?.count == 64)
        // The winner created the event; the retry did not make a second one.
        #expect(try retry.int(dialect == "d3" ? "event_id" : "session_id") == 1)
    }

    @Test(arguments: ["d1", "d2"])
    func aLostSequenceNumberLeavesBytesWithoutARow(dialect: String) async throws {
        let fixture = try await Fixture(dialect: dialect, faults: ["upload:collision=sequence,times=1"])
        let path = try fixture.file(content: "orphan")
        #expect(try await fixture.upload(path, fields: Self.event).status == 500)
        let url = "/video/" + (try #require(try fixture.storedFiles().first))
        #expect(try await fixture.get(url).text == "orphan")
        #expect(try await fixture.listedTitles().isEmpty)
        let retry = try await fixture.upload(path, fields: Self.event)
        #expect(retry.status == 201)
        #expect(try retry.string("delete_token")?.count == 64)
        #expect(try await fixture.listedTitles() == ["clip"])
        #expect(try fixture.storedFiles().count == 1)
    }

    @Test(arguments: [("d1", 201, nil), ("d2", 409, 409), ("d3", 500, 201)] as [(String, Int, Int?)])
    func aLostChecksumBelongsToAnotherEvent(dialect: String, status: Int, retryStatus: Int?) async throws {
        let fixture = try await Fixture(dialect: dialect, faults: ["upload:collision=checksum,times=1"])
        let path = try fixture.file(content: "twins")
        let reply = try await fixture.upload(path, fields: Self.event)
        #expect(reply.status == status)
        #expect(try reply.string("delete_token") == nil)
        guard let retryStatus else { return }
        #expect(try await fixture.listedOrganizations().filter { $0.lowercased() == "racerec" }.isEmpty)
        let retry = try await fixture.upload(path, fields: Self.event)
        #expect(retry.status == retryStatus)
        #expect(try retry.string("delete_token") == nil)
    }

    @Test(arguments: [("d2", "event"), ("d3", "event"), ("d1", "sequence"), ("d2", "sequence")])
    func finalizeKeepsTheDataOnlyWhenTheEventCollides(dialect: String, key: String) async throws {
        let fixture = try await Fixture(dialect: dialect, faults: ["finalize:collision=\(key),times=1"])
        let id = try await fixture.completeUpload("by tus")
        #expect(try await fixture.finalize(id).status == 500)
        let retry = try await fixture.finalize(id)
        if key == "event" {
            #expect(retry.status == 201)
            #expect(try retry.string("delete_token")?.count == 64)
        } else {
            #expect(retry.text == #"{"error":"Server Error","message":"Upload data missing on disk"}"#)
            #expect(try await fixture.tus("HEAD", id).status == 404)
        }
    }

    /// With a window, the losers are those that came between look-up and insert; every 201 has a row, no 500 has one.
    @Test(arguments: [
        ("d1", ["unique_session_date_org"]), ("d2", ["unique_session_date_org"]),
        ("d3", ["uq_events_tenant_date_org"]),
    ])
    func uploadsIntoANewEventCollide(dialect: String, keys: [String]) async throws {
        let fixture = try await Fixture(dialect: dialect, arguments: ["--races", "1.5"])
        let replies = try await fixture.uploadAtOnce((0..<4).map { ("file \($0)", "label \($0)") })
        let stored = replies.filter { $0.status == 201 }
        #expect(stored.count + replies.filter { $0.status == 500 }.count == 4)
        #expect(stored.count < 4)
        for key in keys { #expect(replies.contains { $0.text.contains("for key '\(key)'") }) }
        #expect(try await fixture.listedTitles().count == stored.count)
    }

    @Test func uploadsIntoAnExistingEventCollideOnTheNumber() async throws {
        let fixture = try await Fixture(dialect: "d1", arguments: ["--races", "1.5"])
        #expect(try await fixture.uploadAtOnce([("first", "first")]).map(\.status) == [201])
        let replies = try await fixture.uploadAtOnce((0..<4).map { ("file \($0)", "label \($0)") })
        let stored = replies.filter { $0.status == 201 }
        #expect(stored.count < 4)
        #expect(replies.contains { $0.text.contains("'1-2' for key 'uq_files_session_seq'") })
        #expect(try await fixture.listedTitles().count == 1 + stored.count)
    }

    @Test func identicalBytesCollideOnTheChecksum() async throws {
        let fixture = try await Fixture(arguments: ["--races", "1.5"])
        #expect(try await fixture.uploadAtOnce([("first", "first")]).map(\.status) == [201])
        let replies = try await fixture.uploadAtOnce((0..<4).map { ("same", "label \($0)") })
        #expect(replies.filter { $0.status == 201 }.count == 1)
        #expect(replies.contains { $0.text.contains("uq_assets_tenant_checksum") })
        #expect(try await fixture.listedTitles().count == 2)
    }

    @Test func d3HasNoNumberToCollideOn() async throws {
        let fixture = try await Fixture()
        await #expect(throws: SandboxProcess.Failure.self) {
            try await fixture.sandbox.addFaults("upload:collision=sequence")
        }
        await #expect(throws: SandboxProcess.Failure.self) {
            _ = try await Fixture(faults: ["upload:collision=sequence"])
        }
    }

    private static func withoutValue(_ text: String) -> String {
        text.replacing(/'[^']*' for key/, with: "VALUE for key").trimmingCharacters(in: .newlines)
    }
}

extension Fixture {
    /// Uploads files of these contents and labels into the event of ``RaceTests``, all at the same time.
    func uploadAtOnce(_ files: [(content: String, label: String)]) async throws -> [CurlReply] {
        let files = try files.map { (path: try file(content: $0.content), label: $0.label) }
        return try await withThrowingTaskGroup(of: CurlReply.self) { group in
            for file in files {
                group.addTask { try await upload(file.path, fields: RaceTests.event + ["label=\(file.label)"]) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    func listedTitles() async throws -> [String] { try await listed("song_title") }

    func listedOrganizations() async throws -> [String] { try await listed("org_name") }

    private func listed(_ key: String) async throws -> [String] {
        let listing = try await get("/db/database.php?format=json").object()
        let entries = try #require(listing["entries"] as? [[String: Any]])
        return entries.compactMap { $0[key] as? String }
    }
}
