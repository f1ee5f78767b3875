import Foundation
import Testing

@testable import CaptureSubmission
@testable import GigHive
@testable import MediaCLI
@testable import MediaTransport
@testable import Outcomes
@testable import PhotoSync
@testable import Tapes
@testable import Tus

/// The table of outcomes: every code has a row, and a status has the same outcome in every system.
@Suite struct OutcomeTableTests {
    // MARK: Rows

    @Test func everyCodeIsListedOnce() throws {
        let rows = OutcomeTable.codes.map(\.rawValue)
        #expect(Set(rows).count == rows.count)
        #expect(try Set(Self.meanings().keys) == Set(rows))
        for row in OutcomeTable.codes {
            #expect(ExitCode(rawValue: row.exitCode) != nil, "\(row.rawValue)")
            for line in [row.message, row.hint].compactMap({ $0 }) {
                #expect(!line.isEmpty && !line.hasSuffix(".") && !line.contains("\n"), "\(line)")
            }
        }
    }

    /// The meaning of each declared code: the comment of its member, without the full stop.
    private static func meanings() throws -> [String: String] {
        let directory = JSONSchemaTests.root.appending(path: "Sources/Outcomes").path
        let declared = try FileManager.default.contentsOfDirectory(atPath: directory).flatMap { name in
            try String(contentsOfFile: directory + "/" + name, encoding: .utf8)
                .matches(of: /((?: +\/\/\/ .*\n)*) *public static let \w+ = OutcomeCode\(\s*"(\w+)"/)
                .map { match in
                    let lines = match.1.split(separator: "\n").map { $0.drop { $0 == " " || $0 == "/" } }
                    return (String(match.2), String(lines.joined(separator: " ").dropLast()))
                }
        }
        return Dictionary(uniqueKeysWithValues: declared)
    }

    // CHANGELOG.md lists them.
    @Test func codesOf010StayReadable() {
        #expect(
            OutcomeTable.aliases == [
                "outcome_unknown": "unknown_outcome", "too_many_requests": "rate_limited",
                "body_too_large": "payload_too_large", "invalid_api_key": "unauthorized",
                "hash_mismatch": "checksum_mismatch",
            ]
        )
        for (old, new) in OutcomeTable.aliases {
            #expect(OutcomeTable.row(old)?.rawValue == new && !OutcomeTable.codes.contains { $0.rawValue == old })
        }
        #expect(OutcomeTable.row("of_a_newer_version") == nil)
    }

    /// `MEDIACTL_RECORD=1` rewrites the tables of `docs/exit-codes.md`.
    @Test func theDocumentHasTheTable() throws {
        let path = JSONSchemaTests.documents + "/exit-codes.md"
        var text = try String(contentsOfFile: path, encoding: .utf8)
        let meanings = try Self.meanings()
        let rows = try OutcomeTable.codes.map { row in
            let meaning = try #require(meanings[row.rawValue])
            let exitCode = row.rawValue == "interrupted" ? "129, 130, 131, 140, 142, 143 or 152" : "\(row.exitCode)"
            return "| `\(row.rawValue)` | \(exitCode) | \(row.isRetryable ? "yes" : "") | \(meaning) |"
        }
        let table = (["| error | exit code | retryable | meaning |", "| --- | --- | --- | --- |"] + rows)
            .joined(separator: "\n")
        let aliases = OutcomeTable.aliases.sorted { $0.key < $1.key }.map { "| `\($0.key)` | `\($0.value)` |" }
        let old = (["| 0.1.0 | now |", "| --- | --- |"] + aliases).joined(separator: "\n")
        if ProcessInfo.processInfo.environment["MEDIACTL_RECORD"] == "1" {
            for (table, first) in [(table, "| error | exit code |"), (old, "| 0.1.0 | now |")] {
                guard let start = text.range(of: first)?.lowerBound else { continue }
                let end = text.range(of: "\n\n", range: start..<text.endIndex)?.lowerBound ?? text.endIndex
                text.replaceSubrange(start..<end, with: table)
            }
            try text.write(toFile: path, atomically: true, encoding: .utf8)
        }
        #expect(text.contains("\n" + table + "\n\n"))
        #expect(text.contains("\n" + old + "\n\n"))
    }

    // MARK: Statuses

    /// Design section 5, and RFC 9110 section 15 for the meaning of each status.
    private static let statuses: [(status: Int, code: String, exitCode: Int32)] = [
        (302, "redirected", 1), (400, "bad_request", 2), (401, "unauthorized", 4), (403, "forbidden", 4),
        (404, "not_found", 5), (405, "unexpected_answer", 7), (408, "request_timeout", 6), (409, "conflict", 10),
        (413, "payload_too_large", 2), (415, "unsupported_media", 2), (422, "bad_request", 2), (423, "locked", 10),
        (429, "rate_limited", 6), (500, "server_error", 7), (502, "server_error", 7), (503, "server_error", 7),
        (504, "server_error", 7),
    ]

    @Test(arguments: statuses.map(\.status)) func unmarkedBodiesHaveTheSameOutcomeInEverySystem(status: Int) throws {
        let row = try #require(Self.statuses.first { $0.status == status })
        for body in ["", "<html><title>Proxy</title></html>", "{}"] {
            let type = body.hasPrefix("{") ? "application/json" : "text/html"
            let head = HTTPResponseHead(status: status, headers: [HTTPHeader("Content-Type", type)])
            let response = HTTPResponse(head: head, body: Array(body.utf8), metrics: TransferMetrics())
            let ends: [(Outcomes.OutcomeTable.Server, UserFacingError)] = [
                (
                    .gigHive,
                    ErrorCatalog.userFacingError(
                        of: GigHiveError.ofResponse(head, message: nil, isJSON: type == "application/json")
                    )
                ),
                (.photoSync, ErrorCatalog.userFacingError(of: ServerRefusal(response).error())),
                (
                    .captures,
                    ErrorCatalog.userFacingError(of: CaptureRefusal(head, body: response.body).error(of: .reading))
                ),
            ]
            for (server, userFacingError) in ends {
                // A 503 of GigHive means a service that is not running; the exit code is the same.
                let code = server == .gigHive && status == 503 ? "server_unavailable" : row.code
                #expect(userFacingError.code == code, "\(server)")
                #expect(userFacingError.exitCode.rawValue == row.exitCode, "\(server)")
                #expect(userFacingError.httpStatus == status, "\(server)")
            }
            // An album is never the requested resource, so its error has one code, and the exit code of the status.
            let album = ImmichRefusal(response).error(needing: .addOnly)
            let tape = ErrorCatalog.userFacingError(of: TapesError(.libraryUnusable, underlying: album))
            #expect(tape.code == "library_unusable" && tape.exitCode.rawValue == row.exitCode)
        }
    }

    // Some statuses have a special meaning in tus; the others have the common outcome.
    @Test(arguments: statuses.map(\.status).filter { ![404, 405, 409, 503].contains($0) })
    func statusesOfTusHaveTheCommonOutcome(status: Int) throws {
        let row = try #require(Self.statuses.first { $0.status == status })
        let response = HTTPResponse(
            head: HTTPResponseHead(status: status, headers: []),
            body: [],
            metrics: TransferMetrics()
        )
        let userFacingError = ErrorCatalog.userFacingError(
            of: GigHiveError.tus(TusError(response: response, to: .patch))
        )
        #expect(userFacingError.code == row.code && userFacingError.exitCode.rawValue == row.exitCode)
    }

    // MARK: Refinements

    /// A response whose meaning in a contract differs from that of its status.
    struct Marked: Sendable, CustomTestStringConvertible {
        var server: OutcomeTable.Server
        var call: OutcomeTable.Call
        var status: Int
        var mark: String?
        var code: String
        var isRetryable: Bool

        init(
            _ server: OutcomeTable.Server,
            _ status: Int,
            _ mark: String?,
            _ code: String,
            _ isRetryable: Bool = false,
            to call: OutcomeTable.Call = .other
        ) {
            (self.server, self.call, self.status, self.mark) = (server, call, status, mark)
            (self.code, self.isRetryable) = (code, isRetryable)
        }

        var testDescription: String { "\(server) \(status) \(mark ?? "-")" }
    }

    /// From the contracts, one per row.
    private static let marked: [Marked] = [
        Marked(.gigHive, 500, "no data or hook record for x", "upload_expired", true, to: .finalize),
        Marked(.gigHive, 500, "Upload failed with code 1", "payload_too_large"),
        Marked(.gigHive, 500, "Upload failed with code 2", "payload_too_large"),
        Marked(
            .gigHive,
            500,
            "SQLSTATE[23000]: Integrity constraint violation: 1062 Duplicate entry 'x' for key 'y'",
            "server_race",
            true
        ),
        Marked(.gigHive, 503, nil, "server_unavailable", true),
        Marked(.gigHive, 400, "invalid token", "invalid_event_link", to: .guest),
        Marked(.gigHive, 400, "missing token", "invalid_event_link", to: .finalize),
        Marked(.gigHive, 404, "invalid or expired", "invalid_event_link", to: .guest),
        Marked(.tus, 404, nil, "upload_expired", true), Marked(.tus, 410, nil, "upload_expired", true),
        Marked(.tus, 503, nil, "server_unavailable", true),
        Marked(.tus, 405, nil, "tus_unavailable"), Marked(.tus, 412, nil, "tus_unavailable"),
        Marked(.tus, 501, nil, "tus_unavailable"), Marked(.tus, 409, nil, "unexpected_answer", true),
        Marked(.tus, 460, nil, "unexpected_answer", true),
        Marked(
            .photoSync,
            400,
            "Request must be multipart/form-data.",
            "body_too_slow",
            true,
            to: .photo(namesDevice: false)
        ),
        Marked(.photoSync, 400, "Invalid device", "invalid_device"),
        Marked(.photoSync, 400, "file extension not allowed", "unknown_extension"),
        Marked(.photoSync, 400, "file size exceeds maximum allowed", "file_too_large"),
        Marked(.photoSync, 400, "file size must be positive", "empty_file"),
        Marked(.photoSync, 400, "No file provided or file is empty.", "empty_file"),
        Marked(.photoSync, 401, "Invalid credentials", "not_logged_in", to: .login),
        Marked(.photoSync, 503, "Setup required", "setup_required"),
        Marked(.photoSync, 500, "Failed to save API key", "key_not_rotated"),
        Marked(.photoSync, 500, "Failed to save photo record.", "invalid_device", to: .photo(namesDevice: true)),
        Marked(.photoSync, 500, "Database error", "server_error", true),
        Marked(.photoSync, 500, "Database error.", "server_error", true),
        Marked(.photoSync, 500, "Internal server error.", "server_error", true),
        Marked(.photoSync, 500, nil, "server_error"), Marked(.photoSync, 507, nil, "server_error"),
        Marked(.captures, 401, "TIMESTAMP_EXPIRED", "clock_wrong"),
        Marked(.captures, 401, "TIMESTAMP_INVALID", "clock_wrong"),
        Marked(.captures, 401, "ATTESTATION_FAILED", "assertion_refused"),
        Marked(.captures, 401, "SIGNATURE_INVALID", "request_signature_refused"),
        Marked(.captures, 401, "REPLAY_DETECTED", "counter_outdated"),
        Marked(.captures, 401, "DEVICE_AUTH_REQUIRED", "unauthorized"),
        Marked(.captures, 403, "DEVICE_UNVERIFIED", "device_unverified"),
        Marked(.captures, 403, "FORBIDDEN", "forbidden"),
        Marked(.captures, 404, "DEVICE_NOT_FOUND", "device_unknown"),
        Marked(.captures, 404, "CAPTURE_NOT_FOUND", "capture_not_found"),
        Marked(.captures, 404, "HASH_NOT_FOUND", "capture_not_found"),
        Marked(.captures, 409, "DEVICE_ALREADY_REGISTERED", "already_registered"),
        Marked(.captures, 409, "DUPLICATE_CAPTURE", "duplicate"),
        Marked(.captures, 429, "TOO_MANY_REQUESTS", "rate_limited", true),
        Marked(.captures, 429, "RATE_LIMITED", "rate_limited", true),
        Marked(.captures, 413, "PAYLOAD_TOO_LARGE", "payload_too_large"),
        Marked(.captures, 400, "INVALID_ATTESTATION_FORMAT", "enrolment_impossible", to: .registration(isWhole: true)),
        Marked(.captures, 403, "UNTRUSTED_ATTESTATION", "enrolment_impossible", to: .registration(isWhole: true)),
        Marked(.captures, 400, "CHALLENGE_EXPIRED", "bad_request", true, to: .registration(isWhole: true)),
        Marked(.captures, 400, "VALIDATION_ERROR", "enrolment_impossible", to: .registration(isWhole: true)),
        Marked(.captures, 400, "VALIDATION_ERROR", "bad_request", to: .submission(isWhole: true)),
        Marked(.captures, 422, nil, "enrolment_impossible", to: .registration(isWhole: true)),
        Marked(.captures, 409, nil, "already_registered", to: .registration(isWhole: true)),
        Marked(.captures, 409, nil, "duplicate", to: .submission(isWhole: true)),
        Marked(.captures, 408, nil, "unknown_outcome", to: .submission(isWhole: true)),
        Marked(.captures, 429, nil, "unknown_outcome", to: .submission(isWhole: true)),
        Marked(.captures, 500, nil, "unknown_outcome", to: .submission(isWhole: true)),
        Marked(.captures, 504, nil, "unknown_outcome", to: .registration(isWhole: true)),
        Marked(.captures, 501, nil, "server_error", true),
        Marked(.immich, 400, "Album not found", "album_not_found"),
        Marked(.immich, 400, "Not found or no album.read access", "album_not_found"),
        Marked(.immich, 400, "Quota has been exceeded!", "quota_exceeded"),
    ]

    @Test(arguments: marked) func aMarkRefinesTheStatus(row: Marked) {
        let outcome = OutcomeTable.outcome(of: row.status, from: row.server, to: row.call, mark: row.mark)
        #expect(outcome.code.rawValue == row.code && outcome.isRetryable == row.isRetryable)
    }

    @Test func everyRefinementHasATest() {
        let used = Self.marked.compactMap { row in
            OutcomeTable.refinements.firstIndex { $0.applies(to: row.status, row.server, row.call, row.mark) }
        }
        #expect(Set(used) == Set(OutcomeTable.refinements.indices))
        #expect(OutcomeTable.refinements.allSatisfy { !$0.section.isEmpty })
    }

    // A request that cannot have been processed is not an unknown outcome; 503 means that nothing was done.
    @Test func onlyACompleteRequestLeavesTheOutcomeUnknown() {
        for (status, isWhole, code) in [(500, false, "server_error"), (503, true, "server_error")] {
            let outcome = OutcomeTable.outcome(of: status, from: .captures, to: .submission(isWhole: isWhole))
            #expect(outcome.code.rawValue == code && outcome.isRetryable)
        }
    }
}
