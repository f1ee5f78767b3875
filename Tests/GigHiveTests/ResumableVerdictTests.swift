import MediaStore
import MediaTransport
import Testing

@testable import GigHive

/// The meaning of the responses of gighive contract 4.3.
@Suite struct ResumableVerdictTests {
    private func verdict(_ status: Int, _ body: String) -> FinalizeVerdict {
        .of(UploadResponse.parse(status: status, body: Array(body.utf8)), head: HTTPResponseHead(status: status))
    }

    private func name(_ verdict: FinalizeVerdict) -> String {
        switch verdict {
        case .stored: "stored"
        case .duplicate: "duplicate"
        case .tooEarly: "too early"
        case .unknownUpload: "unknown upload"
        case .usedUp: "used up"
        case .refused(_, let mayRepeat): mayRepeat ? "refused for now" : "refused"
        case .unsupportedMedia: "unsupported media"
        case .broken: "broken"
        case .collided: "collided"
        case .pending: "pending"
        case .dead: "dead"
        case .deleted: "deleted"
        case .lost: "lost"
        }
    }

    @Test(
        arguments: [
            (
                "Upload data exists on disk but post-finish hook output has not been written yet (upload_id=ab). "
                    + "The server may still be processing.", "too early"
            ),
            ("Upload not found or not finished yet", "too early"),
            ("Upload not found: no data or hook record for upload_id=ab", "unknown upload"),
            ("Upload not found: upload_id=ab", "unknown upload"), ("Upload failed: upload_id=ab", "dead"),
            ("Upload data missing on disk", "used up"),
            ("Failed to move file (rename)", "used up"),
            ("Uploaded file is empty", "refused"),
            ("SQLSTATE[23000]: 1062 Duplicate entry 'x' for key 'uq_assets_tenant_checksum'", "collided"),
            ("SQLSTATE[22001]: Data too long for column", "broken"),
        ]
    )
    func a500IsClassifiedByItsMessage(_ message: String, _ expected: String) {
        #expect(name(verdict(500, #"{"error":"Server Error","message":"\#(message)"}"#)) == expected)
    }

    @Test(
        arguments: [
            (200, #"{"id":8}"#, "stored"), (201, #"{"id":8}"#, "stored"), (201, "{}", "broken"), (400, "{}", "refused"),
            (201, #"{"status":"pending","upload_id":"ab"}"#, "pending"),
            (201, #"{"id":8,"asset_id":8,"file_name":"","size_bytes":0,"checksum_sha256":""}"#, "deleted"),
            (400, #"{"error":"Bad Request","message":"Unsupported media type"}"#, "unsupported media"),
            (400, "<title>Unsupported media type</title>", "refused"), (401, "<html>", "refused"),
            (408, "", "lost"), (409, "{}", "duplicate"),
            (413, "<html>", "refused"), (423, "", "lost"), (425, "", "lost"), (429, "", "lost"), (499, "", "lost"),
            (500, "<html>", "broken"), (501, "", "refused"), (502, "<html>", "lost"),
            (503, "<html>", "refused for now"),
            (504, "<html>", "lost"), (302, "", "broken"), (308, "<html>", "broken"),
        ]
    )
    func otherStatusesAreClassifiedByTheirCode(_ status: Int, _ body: String, _ expected: String) {
        #expect(name(verdict(status, body)) == expected)
    }

    @Test(
        arguments: [
            ("Label is required", "label" as String?), ("Invalid event_date format; expected YYYY-MM-DD", "event_date"),
            ("Missing or invalid token-mode fields (label, tos_accepted)", "label"), ("Empty upload", nil),
            ("Missing or invalid upload_id", nil),
        ]
    )
    func a400ReportsTheFieldToCorrect(_ message: String, _ field: String?) {
        guard case .refused(let error, false) = verdict(400, #"{"error":"Bad Request","message":"\#(message)"}"#) else {
            Issue.record("no refusal")
            return
        }
        #expect(error.code == .badRequest)
        #expect(error.field == field)
    }

    @Test(arguments: [(400, "invalid token"), (404, "invalid or expired")])
    func aRejectedLinkIsReported(_ status: Int, _ words: String) {
        guard case .refused(let error, false) = verdict(status, #"{"error":"\#(words)"}"#) else {
            Issue.record("no refusal")
            return
        }
        #expect(error.code == .invalidEventLink)
    }
}
