import Foundation
import TestSupport
import Testing

/// Texts that the database rejects or changes, by release (gighive contract T7, T26, T27).
@Suite(.prompt) struct LongTextTests {
    private static let long = String(repeating: "x", count: 256)
    static let event = ["event_date=2026-05-05", "org_name=LongRec"]

    /// How many files are stored, and how many rows of an event show them, if the text is rejected.
    @Test(arguments: [
        ("d1-long-location", "location", 0, 0), ("d2-long-location", "location", 0, 0),
        ("d3-long-location", "location", 0, 0), ("d1-long-label", "label", 1, 0), ("d2-long-label", "label", 1, 0),
        ("d3-long-participants", "participants", 1, 1),
    ])
    func aLongTextIsRejectedAsInTheRecording(name: String, field: String, files: Int, rows: Int) async throws {
        let recording = try GigHiveTranscript(name)
        let fixture = try await Fixture(dialect: String(name.prefix(2)))
        let fields = Self.event + (field == "label" ? [] : ["label=one"]) + ["\(field)=\(Self.long)"]
        let response = try await fixture.upload(try fixture.file(content: name), fields: fields)
        #expect(response.status == recording.status)
        #expect(response.text == recording.text.trimmingCharacters(in: .whitespacesAndNewlines))
        #expect(try fixture.storedFiles().count == files)
        #expect(try await fixture.listedTitles().count == rows)
    }

    @Test(arguments: ["d1", "d2"])
    func participantsAreNotStoredBeforeD3(dialect: String) async throws {
        let fixture = try await Fixture(dialect: dialect)
        let fields = Self.event + ["participants=\(Self.long)"]
        #expect(try await fixture.upload(try fixture.file(content: "x"), fields: fields).status == 201)
    }

    /// The location of an existing event is not written.
    @Test func aLongLocationIsIgnoredForAnExistingEvent() async throws {
        let fixture = try await Fixture()
        #expect(try await fixture.upload(try fixture.file(content: "1"), fields: Self.event).status == 201)
        let fields = Self.event + ["location=\(Self.long)"]
        #expect(try await fixture.upload(try fixture.file(content: "2"), fields: fields).status == 201)
    }

    /// The organization in the response matches the recording; the listing contains the stored form.
    @Test(arguments: [
        ("d1", "A   B  rec", "la   bel rec"), ("d2", "a b rec", "la bel rec"), ("d3", "A B rec", "la   bel rec"),
    ])
    func theServerNormalizesText(dialect: String, listedOrganization: String, listedLabel: String) async throws {
        let recording = try GigHiveTranscript("\(dialect)-normalization")
        let recorded = try #require(
            try JSONSerialization.jsonObject(with: Data(recording.text.utf8)) as? [String: Any]
        )
        let fixture = try await Fixture(dialect: dialect)
        let fields = [
            "event_date=2026-05-05", "org_name=A   B  rec", "label=la   bel rec", "participants=P   Q,  R",
            "keywords=k   l", "location=L   M",
        ]
        let response = try await fixture.upload(try fixture.file(content: "x"), fields: fields)
        for key in ["org_name", "label", "participants", "keywords", "event_date"] {
            #expect(try response.string(key) == recorded[key] as? String)
        }
        #expect(try await fixture.listedOrganizations() == [listedOrganization])
        #expect(try await fixture.listedTitles() == [listedLabel])
    }

    /// Recorded: "Case", "CASE" and "Cäse" are one event on every release.
    @Test(arguments: ["d1", "d2", "d3"])
    func anEventIsFoundRegardlessOfCaseAndAccents(dialect: String) async throws {
        let fixture = try await Fixture(dialect: dialect)
        for (number, name) in ["Case", "CASE", "Cäse"].enumerated() {
            let fields = ["event_date=2026-05-05", "org_name=\(name)"]
            let response = try await fixture.upload(try fixture.file(content: name), fields: fields)
            #expect(try response.int(dialect == "d3" ? "event_id" : "session_id") == 1)
            #expect(try response.int(dialect == "d3" ? "position" : "seq") == number + 1)
            #expect(try response.string("org_name") == name)
        }
        #expect(Set(try await fixture.listedOrganizations()) == [dialect == "d2" ? "case" : "Case"])
    }

    /// PHP's limits on files and forms.
    @Test(arguments: [("d3-file-limit", "upload:file-limit=1000"), ("d3-post-limit", "upload:post-limit=1000")])
    func phpLimitsRespondLikeTheRecording(name: String, fault: String) async throws {
        let recording = try GigHiveTranscript(name)
        let fixture = try await Fixture(faults: [fault])
        let response = try await fixture.upload(try fixture.file(size: 2000))
        #expect(response.status == recording.status)
        #expect(try JSONShape(response.text) == JSONShape(recording.text))
        #expect(try response.object() as NSDictionary == recording.object())
        #expect(try fixture.storedFiles().isEmpty)
        #expect(try await fixture.upload(try fixture.file(size: 100)).status == 201)
    }

    @Test func stoppedPHPResponds503AndTusContinues() async throws {
        let fixture = try await Fixture(faults: ["php:status=503"])
        let upload = try await fixture.upload(try fixture.file(content: "x"))
        try expect(upload, like: "d3-php-stopped")
        try expect(try await fixture.get("/db/database.php?format=json"), like: "d3-php-stopped-listing")
        let id = try await fixture.completeUpload("by tus")
        #expect(try await fixture.finalize(id).status == 503)
        try await fixture.sandbox.clearFaults()
        #expect(try await fixture.finalize(id).status == 201)
    }

    @Test func aStoppedTusServerResponds503AndPHPContinues() async throws {
        let fixture = try await Fixture(faults: ["tus:status=503"])
        let create = try await fixture.tus("POST", headers: ["Upload-Length: 5"])
        try expect(create, like: "d3-tus-stopped")
        #expect(try await fixture.tus("OPTIONS").status == 503)
        #expect(try await fixture.upload(try fixture.file(content: "x")).status == 201)
    }

    private func expect(_ response: CurlResponse, like name: String) throws {
        let recording = try GigHiveTranscript(name)
        #expect(response.status == recording.status)
        #expect(response.headers["content-type"] == recording.headers["content-type"])
        #expect(TranscriptTests.title(response.text) == TranscriptTests.title(recording.text))
    }
}
