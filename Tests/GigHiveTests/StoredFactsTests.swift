import Foundation
import MediaStore
import TestSupport
import Testing

@testable import GigHive

/// The details that the server stored, according to its response (gighive contract 2.2, trap T27).
@Suite struct StoredFactsTests {
    private func stored(_ body: String) -> StoredFacts? {
        UploadResponse.parse(status: 201, body: Array(body.utf8)).stored
    }

    /// The example of contract 2.2.
    @Test func theNewestServersReportEventAndPosition() throws {
        let facts = try #require(
            stored(
                #"{"id":8,"asset_id":8,"event_id":6,"event_item_id":9,"position":1,"file_name":"x.mp4","#
                    + #""file_type":"video","mime_type":"video/mp4","size_bytes":26182,"event_date":"2026-03-01","#
                    + #""org_name":"TusBand","event_type":"band","label":"tus one","participants":"","keywords":"k","#
                    + #""duration_seconds":2}"#
            )
        )
        #expect(facts.eventID == 6 && facts.position == 1)
        #expect(facts.eventDate == "2026-03-01" && facts.orgName == "TusBand" && facts.eventType == "band")
        #expect(facts.label == "tus one" && facts.mimeType == "video/mp4" && facts.durationSeconds == 2)
        #expect(facts.participants == nil && facts.keywords == "k")
    }

    @Test func olderServersReportSessionAndSequence() {
        let facts = stored(#"{"id":2,"session_id":3,"seq":7,"duration_seconds":null,"event_date":"2026-03-01"}"#)
        #expect(facts?.eventID == 3 && facts?.position == 7)
        #expect(facts?.durationSeconds == nil)
    }

    @Test(arguments: [#"{"id":2,"delete_token":"x"}"#, #"{"error":"Bad Request"}"#, "<html>"])
    func otherResponsesHaveNoFacts(_ body: String) {
        #expect(stored(body) == nil)
    }

    @Test func textThatNoColumnAcceptsIsDropped() {
        let long = String(repeating: "x", count: 5_000)
        let facts = stored(#"{"id":2,"event_date":"2026-03-01","label":"\#(long)","org_name":"Tus"}"#)
        #expect(facts?.label == nil && facts?.orgName == "Tus")
    }

    // MARK: Against the sandbox

    @Test func entriesAndFactsKeepTheServersText() async throws {
        let bench = try await SandboxProcess.start().bench()
        let path = try bench.temporary.write("clip.mp4", "abc".utf8)
        let details = try UploadDetails.validated(
            eventDate: "2026-03-01",
            orgName: "A   B",
            label: "one",
            participants: "Ann"
        )
        let prepared = try bench.uploader.prepare(Array(path.utf8), details: details)
        let result = await bench.uploader.upload(prepared)
        #expect(result.state == .done)
        #expect(result.stored?.orgName == "A B")
        #expect(result.stored?.participants == "Ann")
        #expect(result.stored?.position == 1)
        let entry = try #require(try bench.store.tokens(host: nil).first)
        #expect(entry.orgName == "A B" && entry.label == "one" && entry.eventDate == "2026-03-01")
        let stored = try #require(try bench.store.storedFiles(of: entry).first)
        #expect(stored.facts == result.stored && stored.fileID == entry.fileID)
        #expect(stored.checksumSHA256 == entry.checksumSHA256)
    }

    /// The sandbox's d3 links existing bytes to a second event, according to the contract (section 3).
    @Test func everyEventOfALinkedFileIsKept() async throws {
        let bench = try await SandboxProcess.start().bench()
        _ = try await bench.upload()
        _ = try await bench.upload(date: "2026-03-02")
        let entry = try #require(try bench.store.tokens(host: nil).first)
        let files = try bench.store.storedFiles(of: entry)
        #expect(files.map(\.facts.eventDate) == ["2026-03-01", "2026-03-02"])
        #expect(Set(files.map(\.fileID)).count == 1)
        #expect(Set(files.compactMap(\.facts.eventID)).count == 2)
    }

    // MARK: Limits of the database (trap T26)

    @Test(arguments: [("location", 255, true), ("location", 256, false), ("name", 255, true), ("name", 256, false)])
    func longTextIsRefusedBeforeAnythingIsSent(_ field: String, _ count: Int, _ isValid: Bool) {
        let text = String(repeating: "é", count: count)
        let make = { () throws(GigHiveError) in
            try UploadDetails.validated(
                eventDate: "2026-03-01",
                orgName: "Band",
                label: "one",
                participants: field == "name" ? "Ann, \(text) ,Bob" : nil,
                location: field == "location" ? text : nil
            )
        }
        if isValid {
            #expect(throws: Never.self) { try make() }
        } else {
            let error = #expect(throws: GigHiveError.self) { try make() }
            #expect(error?.code == .invalidDetail && error?.limit == 255)
            #expect(error?.field == (field == "name" ? "participants" : "location"))
        }
    }

    @Test func manyShortNamesAreAccepted() throws {
        let names = (0..<100).map { "musician \($0)" }.joined(separator: ",")
        let details = try UploadDetails.validated(
            eventDate: "2026-03-01",
            orgName: "Band",
            label: "one",
            participants: names
        )
        #expect(details.participants == names)
    }

    @Test func plannedTransportsFollowSizeAndSetting() async throws {
        let bench = try await SandboxProcess.start().bench()
        let path = try bench.temporary.write("clip.mp4", "abc".utf8)
        let details = try UploadDetails.validated(eventDate: "2026-03-01", orgName: "Band", label: "one")
        let planned = { (upload: PreparedUpload, transport: UploadOptions.TransportChoice) in
            let options = UploadOptions(transport: transport)
            return Uploader(client: bench.client, store: bench.store, directory: bench.directory, options: options)
                .plannedTransport(of: upload)
        }
        let small = try bench.uploader.prepare(Array(path.utf8), details: details)
        try #require(truncate(path, off_t(64 << 20)) == 0)
        let large = try bench.uploader.prepare(Array(path.utf8), details: details)
        #expect(planned(small, .auto) == .multipartForSize)
        #expect(planned(large, .auto) == .tusForSize)
        #expect(planned(small, .tus) == .tusAsSet)
        #expect(planned(large, .multipart) == .multipartAsSet)
    }
}

extension TokenStore {
    fileprivate func storedFiles(of entry: TokenEntry) throws -> [StoredFile] {
        try storedFiles(host: entry.host, fileID: entry.fileID, checksumSHA256: entry.checksumSHA256)
    }
}
