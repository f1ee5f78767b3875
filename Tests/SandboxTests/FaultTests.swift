import Foundation
import TestSupport
import Testing

/// Every fault has its documented effect, and the server's state afterwards is the documented one.
@Suite(.prompt) struct FaultTests {
    /// The result in curl, and whether the upload is on the server afterwards.
    struct Case: Sendable, CustomTestStringConvertible {
        var fault: String
        /// curl's exit codes, see curl(1): 18 partial file, 28 timeout, 52 empty reply, 55 send, 56 receive.
        var exitCodes: Set<Int32> = [0]
        var status: Int
        var isStored: Bool
        var testDescription: String { fault }
    }

    static let cases = [
        Case(fault: "upload:reset", exitCodes: [55, 56], status: 0, isStored: false),
        Case(fault: "upload:reset,after=65536", exitCodes: [55, 56], status: 0, isStored: false),
        Case(fault: "upload:reset,after=body", exitCodes: [56], status: 0, isStored: false),
        Case(fault: "upload:reset,after=response-headers", exitCodes: [56], status: 201, isStored: true),
        Case(fault: "upload:stall", exitCodes: [28], status: 0, isStored: false),
        Case(fault: "upload:stall,after=100000", exitCodes: [28], status: 0, isStored: false),
        Case(fault: "upload:stall,after=body", exitCodes: [28], status: 0, isStored: false),
        Case(fault: "upload:stall,after=response-headers", exitCodes: [28], status: 201, isStored: true),
        Case(fault: "upload:stall,after=1000,for=0.01", status: 201, isStored: true),
        Case(fault: "upload:slow=100000", exitCodes: [28], status: 0, isStored: false),
        Case(fault: "upload:status=503", status: 503, isStored: false),
        Case(fault: "upload:status=502", status: 502, isStored: false),
        Case(fault: "upload:status=409", status: 409, isStored: false),
        Case(fault: "upload:early-status=413", status: 413, isStored: false),
        Case(fault: "upload:early-status=417", status: 417, isStored: false),
        Case(fault: "upload:drop-response", exitCodes: [52], status: 0, isStored: true),
        Case(fault: "upload:delay-response=0.01", status: 201, isStored: true),
        Case(fault: "upload:delay-response=60", exitCodes: [28], status: 0, isStored: true),
        Case(fault: "upload:truncate=100", exitCodes: [18, 56], status: 201, isStored: true),
        Case(fault: "upload:wrong-length", exitCodes: [18], status: 201, isStored: true),
        Case(fault: "upload:500-after-store", status: 500, isStored: true),
        Case(fault: "upload:1062", status: 500, isStored: true),
    ]

    @Test(arguments: cases)
    func appliesTheFaultWithTheDocumentedState(_ testCase: Case) async throws {
        let fixture = try await Fixture(faults: [testCase.fault])
        let path = try fixture.file(size: 400_000)
        let response = try await fixture.upload(
            path,
            options: testCase.exitCodes == [28] ? ["--max-time", "2"] : []
        )
        #expect(testCase.exitCodes.contains(response.exitCode), "curl exit code \(response.exitCode)")
        #expect(response.status == testCase.status)
        #expect(try fixture.storedFiles().count == (testCase.isStored ? 1 : 0))
        try await fixture.sandbox.clearFaults()
        #expect(try await fixture.upload(path).status == (testCase.isStored ? 409 : 201))
    }

    @Test func aDelayedResponseIsSentWhenTheFaultsAreCleared() async throws {
        let fixture = try await Fixture(faults: ["upload:delay-response=600"])
        let path = try fixture.file(content: "held")
        async let response = fixture.upload(path)
        try await fixture.sandbox.waitForRequests { $0.contains { $0.bodyBytesRead > 0 } }
        try await fixture.sandbox.clearFaults()
        #expect(try await response.status == 201)
    }

    @Test func aResetFollowsTheSpecifiedByte() async throws {
        let fixture = try await Fixture(faults: ["upload:reset,after=65536"])
        _ = try await fixture.upload(try fixture.file(size: 2_000_000))
        #expect(try await fixture.sandbox.requests().map(\.bodyBytesRead) == [65536])
        #expect(try await fixture.sandbox.requests().map(\.status) == [nil])
    }

    @Test func nothingRemainsOfAnInterruptedUpload() async throws {
        let fixture = try await Fixture(faults: ["upload:reset,after=body"])
        _ = try await fixture.upload(try fixture.file(size: 200_000))
        // Stopping waits for requests in progress; only a start would clean up after them.
        try await fixture.sandbox.stop()
        #expect(try fixture.incomingFiles().isEmpty)
    }

    @Test func anEarlyResponseReadsNoBody() async throws {
        let fixture = try await Fixture(faults: ["upload:early-status=413"])
        let response = try await fixture.upload(
            try fixture.file(size: 2_000_000),
            options: ["-H", "Expect: 100-continue"]
        )
        #expect(response.uploadedBytes == 0)
        #expect(try await fixture.sandbox.requests().map(\.bodyBytesRead) == [0])
    }

    @Test func aTruncatedResponseEndsAtTheSpecifiedByte() async throws {
        let fixture = try await Fixture(faults: ["upload:truncate=100"])
        #expect(try await fixture.upload(try fixture.file(content: "x")).body.count == 100)
    }

    @Test func statusesHaveRetryAfterAndTheRightKindOfBody() async throws {
        let fixture = try await Fixture(faults: ["upload:status=429,retry-after=2"])
        let response = try await fixture.upload(try fixture.file(content: "x"))
        #expect(response.status == 429)
        #expect(response.headers["retry-after"] == "2")
        #expect(response.headers["content-type"]?.hasPrefix("text/html") == true)
    }

    @Test func timesLimitsTheNumberOfFaults() async throws {
        let fixture = try await Fixture(faults: ["upload:status=503,times=2"])
        let path = try fixture.file(content: "x")
        for expected in [503, 503, 201, 409] { #expect(try await fixture.upload(path).status == expected) }
    }

    @Test func fieldsOfASuccessAreChanged() async throws {
        let fixture = try await Fixture()
        func upload(_ fault: String) async throws -> CurlResponse {
            try await fixture.sandbox.clearFaults()
            try await fixture.sandbox.addFaults(fault)
            let response = try await fixture.upload(try fixture.file(content: fault))
            #expect(response.status == 201)
            return response
        }
        #expect(try await upload("upload:no-token").string("delete_token") == nil)
        #expect(try await upload("upload:odd-token").string("delete_token") == "not-a-token")
        #expect(try await upload("upload:corrupt").string("checksum_sha256") == String(repeating: "0", count: 64))
        #expect(try await upload("upload:no-checksum").string("checksum_sha256") == nil)
        let wrong = try await upload("upload:wrong-types")
        #expect(try wrong.string("id") == "many")
        #expect(try wrong.string("delete_token")?.count == 64)
        let spaced = try await upload("upload:whitespace=1000000")
        #expect(spaced.body.prefix(1_000_000).allSatisfy { $0 == UInt8(ascii: " ") })
        #expect(try spaced.string("delete_token")?.count == 64)
        let page = try await upload("upload:html")
        #expect(page.headers["content-type"] == "text/html; charset=utf-8")
        #expect(page.text.contains("&quot;delete_token&quot;:&quot;"))
    }

    @Test func otherRoutesHaveFaultsAsWell() async throws {
        let fixture = try await Fixture()
        let upload = try await fixture.upload(try fixture.file(content: "x"))
        let fileName = try #require(try upload.string("file_name"))
        let token = try #require(try upload.string("delete_token"))
        try await fixture.sandbox.addFaults(
            "asset:status=404",
            "listing:status=500",
            "media:status=503",
            "health:status=500",
            "delete:drop-response"
        )
        #expect(try await fixture.get("/api/uploads/1", user: "uploader").status == 404)
        #expect(try await fixture.get("/db/database.php?format=json").status == 500)
        #expect(try await fixture.get("/video/\(fileName)").status == 503)
        #expect(try await fixture.get("/db/health.php").status == 500)
        #expect(try await fixture.delete(#"{"asset_id":1,"delete_token":"\#(token)"}"#).exitCode == 52)
        #expect(try fixture.storedFiles().isEmpty)
    }

    @Test func aDownloadCanBeTruncated() async throws {
        let fixture = try await Fixture()
        let upload = try await fixture.upload(try fixture.file(size: 1_000_000))
        let url = "/video/" + (try #require(try upload.string("file_name")))
        try await fixture.sandbox.addFaults("media:truncate=300000,times=1", "media:wrong-length,times=2")
        let cut = try await fixture.get(url)
        #expect(cut.exitCode == 18)
        #expect(cut.body.count == 300_000)
        let short = try await fixture.get(url)
        #expect(short.exitCode == 18)
        #expect(short.body.count == 1_000_000)
        #expect(short.headers["content-length"] == "1000100")
    }

    @Test func anInvalidFaultIsRefused() async throws {
        let fixture = try await Fixture()
        await #expect(throws: SandboxProcess.Failure.self) { try await fixture.sandbox.addFaults("upload:explode") }
    }
}
