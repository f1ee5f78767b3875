import Foundation
import TestSupport
import Testing

/// Concurrent uploads collide as on the real servers: the message, the stored files, and the result of a retry.
@Suite(.prompt) struct RaceTests {
    static let event = ["event_date=2026-05-05", "org_name=RaceRec"]

    /// A recording, the contents of the files, and the value on which they collide according to gighive contract 3.
    @Test(arguments: [
        ("d1-race-event", ["a", "b", "c"], "2026-05-05-RaceRec"),
        ("d2-race-event", ["a", "b", "c"], "2026-05-05-racerec"),
        ("d3-race-event", ["a", "b", "c"], "1-2026-05-05-RaceRec"),
        ("d1-race-sequence", ["first", "a", "b", "c"], "1-2"),
        ("d2-race-sequence", ["first", "a", "b", "c"], "1-2"),
        // SHA-256 of "checksum", truncated so that the value has 64 characters.
        (
            "d3-race-checksum", ["first", "checksum", "checksum", "checksum"],
            "1-96fa8f226d3801741e807533552bc4b177ac4544d834073b6a5298934d3..."
        ),
    ])
    func aCollisionRespondsLikeTheRecording(name: String, contents: [String], value: String) async throws {
        let recording = try GigHiveTranscript(name)
        let fixture = try await Fixture(dialect: String(name.prefix(2)), arguments: ["--races", "0.5"])
        let first = contents.filter { $0 == "first" }
        #expect(try await fixture.uploadAtOnce(first.map { ($0, $0) }).allSatisfy { $0.status == 201 })
        let responses = try await fixture.uploadAtOnce(contents.dropFirst(first.count).map { ($0, $0) })
        let loser = try #require(responses.first { $0.status == 500 })
        #expect(loser.status == recording.status)
        #expect(Self.withoutValue(loser.text) == Self.withoutValue(recording.text))
        #expect(loser.text.contains("Duplicate entry '\(value)' for key"))
    }

    @Test(arguments: ["d1", "d2"])
    func aLostSequenceNumberLeavesBytesWithoutARow(dialect: String) async throws {
        let fixture = try await Fixture(dialect: dialect, arguments: ["--races", "0.5"])
        #expect(try await fixture.uploadAtOnce([("first", "first")]).map(\.status) == [201])
        let responses = try await fixture.uploadAtOnce([("a", "a"), ("b", "b")])
        #expect(responses.map(\.status).sorted() == [201, 500])
        #expect(try fixture.storedFiles().count == 3)
        #expect(try await fixture.listedTitles().count == 2)
        for file in try fixture.storedFiles() { #expect(try await fixture.get("/video/" + file).status == 200) }
        let retries = try await fixture.uploadAtOnce([("a", "a")]) + fixture.uploadAtOnce([("b", "b")])
        #expect(try retries.contains { try $0.status == 201 && $0.string("delete_token")?.count == 64 })
        #expect(try fixture.storedFiles().count == 3)
    }

    @Test(arguments: [("d2", true), ("d3", true), ("d1", false), ("d2", false)])
    func finalizeKeepsTheDataOnlyWhenTheEventCollides(dialect: String, isNewEvent: Bool) async throws {
        let fixture = try await Fixture(dialect: dialect, arguments: ["--races", "0.5"])
        if !isNewEvent { _ = try await fixture.finalize(try await fixture.completeUpload("first")) }
        let ids = [try await fixture.completeUpload("by tus"), try await fixture.completeUpload("at the same time")]
        let responses = try await withThrowingTaskGroup(of: (String, CurlResponse).self) { group in
            for id in ids { group.addTask { (id, try await fixture.finalize(id)) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(responses.map(\.1.status).sorted() == [201, 500])
        let id = try #require(responses.first { $0.1.status == 500 }?.0)
        let retry = try await fixture.finalize(id)
        if isNewEvent {
            #expect(retry.status == 201)
            #expect(try retry.string("delete_token")?.count == 64)
        } else {
            #expect(retry.text == #"{"error":"Server Error","message":"Upload data missing on disk"}"#)
            #expect(try await fixture.tus("HEAD", id).status == 404)
        }
    }

    /// With a window, the losers are those that arrived between lookup and insert; every 201 has a row, and no 500 has
    /// one.
    @Test(arguments: [
        ("d1", ["unique_session_date_org"]), ("d2", ["unique_session_date_org"]),
        ("d3", ["uq_events_tenant_date_org"]),
    ])
    func uploadsIntoANewEventMayCollide(dialect: String, keys: [String]) async throws {
        let fixture = try await Fixture(dialect: dialect, arguments: ["--races", "0.5"])
        let responses = try await fixture.uploadAtOnce((0..<4).map { ("file \($0)", "label \($0)") })
        let stored = responses.filter { $0.status == 201 }
        #expect(stored.count + responses.filter { $0.status == 500 }.count == 4)
        #expect(stored.count < 4)
        for key in keys { #expect(responses.contains { $0.text.contains("for key '\(key)'") }) }
        #expect(try await fixture.listedTitles().count == stored.count)
    }

    /// Different bytes collide on the number, and identical bytes collide on the checksum.
    @Test(arguments: [
        ("d1", "'1-2' for key 'uq_files_session_seq'", 0...3), ("d3", "uq_assets_tenant_checksum", 1...1),
    ])
    func uploadsIntoAnExistingEventCollide(dialect: String, key: String, storedCounts: ClosedRange<Int>) async throws {
        let fixture = try await Fixture(dialect: dialect, arguments: ["--races", "0.5"])
        #expect(try await fixture.uploadAtOnce([("first", "first")]).map(\.status) == [201])
        let responses = try await fixture.uploadAtOnce(
            (0..<4).map { (dialect == "d1" ? "file \($0)" : "same", "label \($0)") }
        )
        let storedCount = responses.count { $0.status == 201 }
        #expect(storedCounts.contains(storedCount))
        #expect(responses.contains { $0.text.contains(key) })
        #expect(try await fixture.listedTitles().count == 1 + storedCount)
    }

    private static func withoutValue(_ text: String) -> String {
        text.replacing(/'[^']*' for key/, with: "VALUE for key").trimmingCharacters(in: .newlines)
    }
}

extension Fixture {
    /// Uploads files with these contents and labels into the event of ``RaceTests``, all concurrently.
    func uploadAtOnce(_ files: [(content: String, label: String)]) async throws -> [CurlResponse] {
        let files = try files.map { (path: try file(content: $0.content), label: $0.label) }
        return try await withThrowingTaskGroup(of: CurlResponse.self) { group in
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
