import Foundation
import TestSupport
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

    /// The meaning of each declared code: the comment of its member, without the final period.
    private static func meanings() throws -> [String: String] {
        let directory = Repository.path("Sources/Outcomes")
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
        let path = Repository.path("docs/exit-codes.md")
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

    /// RFC 9110 section 15, RFC 4918 section 11.3 (423) and RFC 6585 section 4 (429) define the statuses.
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
            let ends: [(String, UserFacingError)] = [
                (
                    "GigHive",
                    ErrorCatalog.userFacingError(
                        of: GigHiveError.ofResponse(head, message: nil, isJSON: type == "application/json")
                    )
                ),
                ("PhotoSync", ErrorCatalog.userFacingError(of: ServerRefusal(response).error())),
                (
                    "captures",
                    ErrorCatalog.userFacingError(of: CaptureRefusal(head, body: response.body).error(of: .other))
                ),
            ]
            for (server, userFacingError) in ends {
                // A 503 from GigHive means that a service is not running; the exit code is the same.
                let code = server == "GigHive" && status == 503 ? "server_unavailable" : row.code
                #expect(userFacingError.code == code, "\(server)")
                #expect(userFacingError.exitCode.rawValue == row.exitCode, "\(server)")
                #expect(userFacingError.httpStatus == status, "\(server)")
            }
            // An album is never the requested resource, so its error has one code, and the exit code of the status.
            let album = ImmichRefusal(response).error
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

    /// From the contracts: one file per type of server, with one line per response whose meaning differs from that of
    /// its status. The columns are the status, the request, the code, whether it is retryable, and the server's code or
    /// message.
    @Test(arguments: OutcomeTable.servers.map(\.kind)) func aMarkRefinesTheStatus(kind: String) throws {
        let server = try #require(OutcomeTable.servers.first { $0.kind == kind })
        var used: Set<Int> = []
        for line in try Repository.text("fixtures/refinements/\(kind).tsv").split(separator: "\n") {
            let columns = line.split(separator: "\t").map(String.init)
            let (status, call) = (try #require(Int(columns[0])), try #require(Self.calls[columns[1]]))
            let mark = columns.count > 4 ? columns[4] : nil
            let outcome = OutcomeTable.outcome(of: status, from: server, to: call, mark: mark)
            #expect(outcome.code.rawValue == columns[2] && outcome.isRetryable == (columns[3] == "yes"), "\(line)")
            if let row = server.refinements.firstIndex(where: { $0.applies(to: status, call, mark) }) {
                used.insert(row)
            }
        }
        #expect(used == Set(server.refinements.indices), "every refinement has a line")
        #expect(server.refinements.allSatisfy { !$0.section.isEmpty })
    }

    private static let calls: [String: OutcomeTable.Call] = [
        "other": .other, "finalize": .finalize, "guest": .guest, "photo": .photo(namesDevice: false),
        "photo with device": .photo(namesDevice: true), "login": .login, "registration": .registration(isWhole: true),
        "submission": .submission(isWhole: true),
    ]

    // A request that cannot have been processed is not an unknown outcome; 503 means that nothing was done.
    @Test func onlyACompleteRequestLeavesTheOutcomeUnknown() {
        for (status, isWhole, code) in [(500, false, "server_error"), (503, true, "server_error")] {
            let outcome = OutcomeTable.outcome(of: status, from: .captures, to: .submission(isWhole: isWhole))
            #expect(outcome.code.rawValue == code && outcome.isRetryable)
        }
    }
}
