import Foundation
import TestSupport
import Testing

/// Faults during a resumable upload.
@Suite(.prompt) struct TusFaultTests {
    @Test(arguments: [
        ("tus-create:status=503", "POST"), ("tus-head:status=503", "HEAD"), ("tus-patch:status=503", "PATCH"),
        ("tus-delete:status=503", "DELETE"), ("tus-options:status=503", "OPTIONS"),
    ])
    func everyCallHasARoute(fault: String, method: String) async throws {
        let (fixture, id) = try await Fixture().withUpload(length: 5)
        try await fixture.sandbox.addFaults(fault)
        for other in ["OPTIONS", "HEAD", "PATCH", "POST", "DELETE"] {
            let path = ["POST", "OPTIONS"].contains(other) ? "" : id
            let headers = ["Upload-Length: 5", "Upload-Offset: 0", Fixture.chunkType]
            let response = try await fixture.tus(other, path, headers: other == "HEAD" ? [] : headers)
            #expect((response.status == 503) == (other == method), "\(other) \(response.status)")
        }
    }

    @Test(arguments: [
        (404, "ERR_UPLOAD_NOT_FOUND: upload not found\n"), (409, "ERR_MISMATCHED_OFFSET: mismatched offset\n"),
        (410, "ERR_UPLOAD_EXPIRED: upload has expired\n"), (423, "ERR_UPLOAD_LOCKED: file currently locked\n"),
        (460, "ERR_CHECKSUM_MISMATCH: checksum mismatch\n"),
        (500, "ERR_READ_TIMEOUT: timeout while reading request body\n"),
    ])
    func statusesHaveTheTextsOfTusd(status: Int, text: String) async throws {
        let fixture = try await Fixture(faults: ["tus-patch:status=\(status),retry-after=7"])
        let id = try await fixture.createUpload(length: 5)
        let response = try await fixture.patch(id, at: 0, "01234")
        #expect(response.status == status)
        #expect(response.text == text)
        #expect(response.headers["retry-after"] == "7")
        #expect(try await fixture.offset(of: id) == 0)
    }

    struct Case: Sendable, CustomTestStringConvertible {
        var fault: String
        var exitCodes: Set<Int32> = [0]
        var status: Int
        var isWritten: Bool
        var testDescription: String { fault }
    }

    static let cases = [
        Case(fault: "tus-patch:reset", exitCodes: [55, 56], status: 0, isWritten: false),
        Case(fault: "tus-patch:reset,after=100000", exitCodes: [55, 56], status: 0, isWritten: false),
        Case(fault: "tus-patch:reset,after=body", exitCodes: [56], status: 0, isWritten: false),
        // A 204 ends with its headers: curl may be finished before the reset arrives.
        Case(fault: "tus-patch:reset,after=response-headers", exitCodes: [0, 56], status: 204, isWritten: true),
        Case(fault: "tus-patch:drop-response", exitCodes: [52], status: 0, isWritten: true),
        Case(fault: "tus-patch:stall,after=1000,for=0.01", status: 204, isWritten: true),
        Case(fault: "tus-patch:delay-response=0.01", status: 204, isWritten: true),
        Case(fault: "tus-patch:early-status=408", status: 408, isWritten: false),
        Case(fault: "tus-patch:status-after=504", status: 504, isWritten: true),
        Case(fault: "tus-patch:html", status: 200, isWritten: true),
        Case(fault: "tus-patch:limit=499999", status: 413, isWritten: false),
        Case(fault: "tus-patch:limit=500000", status: 204, isWritten: true),
    ]

    @Test(arguments: cases)
    func appliesToAPatch(_ testCase: Case) async throws {
        let (fixture, id) = try await Fixture().withUpload(length: 500_000)
        try await fixture.sandbox.addFaults(testCase.fault)
        let content = String(repeating: "x", count: 500_000)
        let response = try await fixture.patch(id, at: 0, content)
        #expect(testCase.exitCodes.contains(response.exitCode), "curl exit code \(response.exitCode)")
        #expect(response.status == testCase.status)
        try await fixture.sandbox.clearFaults()
        #expect(try await fixture.offset(of: id) == (testCase.isWritten ? 500_000 : 0))
    }

    @Test func aLimitAppliesToBodiesOfUnknownLength() async throws {
        let fixture = try await Fixture(faults: ["tus-patch:limit=1000", "upload:limit=1000"])
        let id = try await fixture.createUpload(length: 2000)
        let chunked = ["Transfer-Encoding: chunked"]
        let content = String(repeating: "x", count: 2000)
        let response = try await fixture.patch(id, at: 0, content, headers: chunked)
        #expect(response.status == 413)
        #expect(response.text.contains("<title>413 Request Entity Too Large</title>"))
        #expect(try await fixture.patch(id, at: 0, String(content.prefix(1000)), headers: chunked).status == 204)
        #expect(try await fixture.upload(try fixture.file(size: 2000)).status == 413)
    }

    @Test func finalizeHasFaults() async throws {
        let fixture = try await Fixture(faults: ["finalize:drop-response,times=1"])
        let lost = try await fixture.completeUpload("lost response")
        #expect(try await fixture.finalize(lost).exitCode == 52)
        let repetition = try await fixture.finalize(lost)
        #expect(repetition.status == 201)
        #expect(try repetition.string("delete_token") == nil)
        try await fixture.sandbox.addFaults("finalize:no-token,times=1", "finalize:corrupt,times=1")
        let altered = try await fixture.finalize(try await fixture.completeUpload("no token"))
        #expect(try altered.string("delete_token") == nil)
        #expect(try altered.string("checksum_sha256") == String(repeating: "0", count: 64))
        try await fixture.sandbox.addFaults("finalize:status-after=504,times=1")
        let late = try await fixture.completeUpload("late")
        #expect(try await fixture.finalize(late).status == 504)
        #expect(try await fixture.finalize(late).status == 201)
    }

    @Test(arguments: [("forget", 404, 404), ("expire", 410, 410)])
    func anUploadIsLost(fault: String, first: Int, later: Int) async throws {
        let (fixture, id) = try await Fixture().withUpload(length: 10)
        _ = try await fixture.patch(id, at: 0, "01234")
        try await fixture.sandbox.addFaults("tus-patch:\(fault),times=1")
        #expect(try await fixture.patch(id, at: 5, "56789").status == first)
        #expect(try await fixture.tus("HEAD", id).status == later)
        #expect(try fixture.gatheringFiles().isEmpty)
    }

    @Test func aLostUploadCannotBeFinalized() async throws {
        let fixture = try await Fixture(faults: ["finalize:forget"])
        let id = try await fixture.completeUpload("bytes")
        let response = try await fixture.finalize(id)
        #expect(response.status == 500)
        #expect(try response.string("message") == "Upload not found: no data or hook record for upload_id=\(id)")
    }

    @Test func everyAppliesToEachNthRequestOfItsRoute() async throws {
        let fixture = try await Fixture(
            faults: ["tus-options:status=503,every=3,skip=1", "tus-options:status=502,every=5,times=1"]
        )
        var statuses: [Int] = []
        for _ in 0..<11 { statuses.append(try await fixture.tus("OPTIONS").status) }
        #expect(statuses == [200, 200, 200, 503, 502, 200, 503, 200, 200, 503, 200])
    }
}
