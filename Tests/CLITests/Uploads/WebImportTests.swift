import Foundation
import MediaStore
import TestSupport
import Testing

@testable import MediaCLI

/// `uploads import` of the tokens that the server's upload page stores in a browser (gighive contract, trap T28).
@Suite struct WebImportTests {
    private static let foreign = String(repeating: "e", count: 64)

    /// A server with two uploads in different events, and their tokens as stored by the page; another machine
    /// imports them.
    private func fixture() async throws -> (fixture: BatchFixture, other: BinaryRunner, tokens: [String: String]) {
        let fixture = try await BatchFixture()
        for (name, date) in [("a.mp4", "2026-03-01"), ("b.mp4", "2026-03-02")] {
            let file = try fixture.file(name)
            let result = try await fixture.upload([file, "--event-date", date, "--org-name", "Tus", "--label", name])
            #expect(result.exitCode == 0)
        }
        let list = try await fixture.runner.run(["uploads", "list", "--show-token", "--json"])
        var tokens: [String: String] = [:]
        for item in try list.records() {
            tokens["\(try #require(item["file_id"] as? Int))"] = item["delete_token"] as? String
        }
        var other = try BinaryRunner()
        other.environment["MEDIACTL_PASSWORD"] = "uploader"
        return (fixture, other, tokens)
    }

    private func json(_ object: [String: String]) throws -> String {
        String(decoding: try JSONEncoder().encode(object), as: UTF8.self)
    }

    @Test(arguments: [true, false]) func tokensOfThePageDeleteFromThisMachine(_ isNamed: Bool) async throws {
        let (fixture, other, tokens) = try await fixture()
        let file = try fixture.text("web.json", try json(tokens))
        let result = try await other.run(
            ["uploads", "import", file, "--json"] + (isNamed ? ["--web"] : []) + fixture.login
        )
        #expect(result.exitCode == 0, "\(result.errors)")
        try JSONSchemaTests.expectExactShape(try #require(result.lines.last), schema: "uploads-import")
        #expect(result.lines.last?.contains(#""added":2"#) == true)
        for token in tokens.values { #expect(!(result.output + result.errors).contains(token)) }
        let items = try await other.run(["uploads", "list", "--json"]).records()
        let first = try #require(items.first { $0["file_id"] as? Int == 1 })
        #expect(first["event_date"] as? String == "2026-03-01" && first["org_name"] as? String == "Tus")
        #expect(first["label"] as? String == "a.mp4" && first["size_bytes"] as? Int == 2_000)
        #expect((first["checksum_sha256"] as? String)?.count == 64 && first["mime_type"] as? String == "video/mp4")
        let deletion = try await other.run(["uploads", "delete", "1", "2", "--yes"] + fixture.login)
        #expect(deletion.exitCode == 0)
        #expect(try fixture.sandbox.storedFiles().isEmpty)
    }

    @Test func aDumpOfTheWholeLocalStorageIsRead() async throws {
        let (fixture, other, tokens) = try await fixture()
        let dump = try json(["theme": "dark", WebTokens.storageKey: try json(tokens)])
        let result = try await other.run(["uploads", "import", "-"] + fixture.login, input: dump)
        #expect(result.exitCode == 0 && result.output == "imported 2 delete tokens\n")
    }

    @Test func filesThatTheServerLacksAreReportedAndNotImported() async throws {
        let (fixture, other, tokens) = try await fixture()
        let file = try fixture.text("web.json", try json(tokens.merging(["77": Self.foreign]) { $1 }))
        let result = try await other.run(["uploads", "import", "--web", file] + fixture.login)
        #expect(result.exitCode == 3)
        #expect(result.output == "imported 2 delete tokens, 1 not on the server\n")
        #expect(result.errors.contains("77 is not on"))
        #expect(!(try await other.run(["uploads", "list"]).output.contains("77 ")))
        let none = try await other.run(
            ["uploads", "import", "--web", try fixture.text("none.json", try json(["77": Self.foreign]))]
                + fixture.login
        )
        #expect(none.exitCode == 5)
    }

    /// Tokens are sent to the specified server, so the server is never guessed.
    @Test func aServerMustBeSpecified() async throws {
        let (fixture, other, tokens) = try await fixture()
        let file = try fixture.text("web.json", try json(tokens))
        let before = try await fixture.sandbox.requests().count
        var environment = other
        environment.environment["MEDIACTL_SERVER"] = fixture.sandbox.baseURL
        let result = try await environment.run(["uploads", "import", file])
        #expect(result.exitCode == 2 && result.errors.contains("do not include the server"))
        #expect(try await fixture.sandbox.requests().count == before)
    }

    @Test func aDryRunStoresNothing() async throws {
        let (fixture, other, tokens) = try await fixture()
        let file = try fixture.text("web.json", try json(tokens))
        let result = try await other.run(["uploads", "import", "--web", file, "--dry-run"] + fixture.login)
        #expect(result.exitCode == 0 && result.output == "2 delete tokens would be imported\n")
        #expect(try await other.run(["uploads", "list", "-q"]).output.isEmpty)
    }

    @Test(arguments: ["[]", "{}", #"{"x":"y"}"#, #"{"1":2}"#, "no JSON"])
    func anyOtherFormatIsNotAPage(_ text: String) async throws {
        #expect(WebTokens(Array(text.utf8)) == nil)
        let runner = try BinaryRunner()
        let result = try await runner.run(["uploads", "import", "--web", "-", "--server", "http://h"], input: text)
        #expect(result.exitCode == 2 && result.errors.contains("does not contain tokens from an upload page"))
    }

    @Test func anExportNeedsNoLogin() async throws {
        let runner = try BinaryRunner()
        let line = String(decoding: TokenExport.line(JSONSchemaTests.entry), as: UTF8.self)
        let secret = try runner.home.write("password", "x".utf8)
        let result = try await runner.run(["uploads", "import", "-", "--password-file", secret], input: line)
        #expect(result.exitCode == 2 && result.errors.contains("importing an export does not use a login"))
        #expect(try await runner.run(["uploads", "import", "-"], input: line).exitCode == 0)
    }

    /// Only options on the command line are refused.
    @Test func anExportUsesNoConnection() async throws {
        let runner = try BinaryRunner()
        let line = String(decoding: TokenExport.line(JSONSchemaTests.entry), as: UTF8.self)
        let options = ["--server", "http://h", "--user", "x", "--retries", "1"]
        let refused = try await runner.run(["uploads", "import", "-"] + options, input: line)
        #expect(refused.exitCode == 2, "\(refused)")
        #expect(refused.errors.contains("hint: omit --retries, --server, --user\n"), "\(refused)")
        let environment = ["MEDIACTL_SERVER": "http://h", "MEDIACTL_USER": "x"]
        let result = try await runner.run(["uploads", "import", "-"], input: line, extra: environment)
        #expect(result.output == "imported 1 delete token\n", "\(result)")
    }

    @Test func idsAreReadInOrder() throws {
        let web = try #require(WebTokens(Array(#"{"10":"b","9":"a"}"#.utf8)))
        #expect(web.tokens.map(\.fileID) == [9, 10])
    }
}
