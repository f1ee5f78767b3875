import Foundation
import TestSupport
import Testing

@testable import MediaStore

/// `uploads responses` and `uploads adopt`.
@Suite struct KeptResponseTests {
    private static let token = String(repeating: "0123456789abcdef", count: 4)
    private static let server = ["--server", "https://media.example"]

    private let fixture: FaultFixture

    init() throws {
        var fixture = try FaultFixture("https://unused.example")
        fixture.runner.environment["MEDIACTL_SERVER"] = nil
        self.fixture = fixture
    }

    /// Leaves a response as an interrupted run does.
    private func leave(_ text: String, in fixture: FaultFixture, status: Int = 201) throws {
        let file = try RescueLog(in: try DataDirectory.open(fixture.dataDirectory)).reserve(for: "u-gone")
        try file.begin(status: status)
        try Array(text.utf8).withUnsafeBytes { try file.append($0) }
    }

    private func items(_ fixture: FaultFixture, _ line: [String]) async throws -> [[String: Any]] {
        let result = try await fixture.runner.run(["uploads"] + line + ["--json"])
        #expect(result.exitCode == 0, "\(result)")
        try result.expectShapes("uploads-responses")
        return try result.records()
    }

    private func kept(_ fixture: FaultFixture) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: fixture.dataDirectory).filter { $0.hasPrefix("rescue-") }
    }

    @Test(arguments: ["responses", "replies"]) func responsesAreListedAndDiscarded(_ name: String) async throws {
        #expect(try await items(fixture, [name]).isEmpty)
        try leave(#"{"id":18,"delete_token":"\#(Self.token)"}"#, in: fixture, status: 500)
        let item = try #require(try await items(fixture, [name]).first)
        let id = try #require(item["response_id"] as? String)
        #expect(item["http_status"] as? Int == 500 && item["has_token"] as? Bool == true)
        #expect(item["file_id"] as? Int == 18 && item["host"] is NSNull && item["result"] as? String == "kept")
        let table = try await fixture.runner.run(["uploads", name])
        #expect(table.output.contains(id) && table.output.contains("found"))
        #expect(!(table.output + table.errors).contains(Self.token))

        let refusal = try await fixture.runner.run(["uploads", name, "--discard", id])
        #expect(refusal.exitCode == 2 && refusal.errors.contains("--yes"))
        #expect(try kept(fixture).count == 1)
        let unknown = try await fixture.runner.run(["uploads", name, "--discard", "r-00000000", "--yes"])
        #expect(unknown.exitCode == 5 && unknown.errors.contains("no kept response"))
        let planned = try await items(fixture, [name, "--discard", id, "-n"])
        #expect(try planned.first?["result"] as? String == "planned" && kept(fixture).count == 1)
        let discarded = try await items(fixture, [name, "--discard", String(id.prefix(5)), "-y"])
        #expect(discarded.first?["result"] as? String == "discarded")
        #expect(try kept(fixture).isEmpty)
        #expect(try await fixture.runner.run(["uploads", name, "--yes"]).exitCode == 2)
    }

    /// A check only reads kept responses, even those that the next command stores.
    @Test func aCheckCountsKeptResponses() async throws {
        let check = { (count: Int) in
            let result = try await fixture.runner.run(["store", "check", "--json"])
            try result.expectShapes("store-check")
            #expect(try result.records("summary").first?["responses"] as? Int == count, "\(result)")
            let text = try await fixture.runner.run(["store", "check"])
            let words = count == 0 ? "none" : "\(count) kept, see mediactl uploads responses"
            #expect(text.output.contains(words), "\(text)")
        }
        try await check(0)
        try leave(#"{"id":18,"delete_token":"\#(Self.token)"}"#, in: fixture)
        try leave(#"{"id":19,"delete_token":"\#(Self.token)"}"#, in: fixture)
        let names = try kept(fixture)
        let content = try names.map { try Data(contentsOf: URL(filePath: fixture.dataDirectory + "/" + $0)) }
        try await check(2)
        #expect(try kept(fixture) == names)
        #expect(try names.map { try Data(contentsOf: URL(filePath: fixture.dataDirectory + "/" + $0)) } == content)
        #expect(try await items(fixture, ["responses"]).count == 2)
        // The response of a running upload is not stored yet.
        let record = try RescueLog(in: try DataDirectory.open(fixture.dataDirectory)).reserve(for: "u-running")
        try record.begin(status: 201)
        try Array("{}".utf8).withUnsafeBytes { try record.append($0) }
        try await check(2)
        record.release()
    }

    @Test func aTokenIsAdoptedByID() async throws {
        try leave(#"{"id":18,"delete_token":"\#(Self.token)"}"#, in: fixture)
        let id = try #require(try await items(fixture, ["responses"]).first?["response_id"] as? String)
        let nowhere = try await fixture.runner.run(["uploads", "adopt", id])
        #expect(nowhere.exitCode == 2 && nowhere.errors.contains("the server of the file is unknown"))
        let other = try await fixture.runner.run(["uploads", "adopt", id, "--file-id", "19"] + Self.server)
        #expect(other.exitCode == 2 && other.errors.contains("is for the file 18"))
        let plan = try await fixture.runner.run(["uploads", "adopt", id, "--dry-run"] + Self.server)
        #expect(plan.exitCode == 0 && plan.output.hasPrefix("would store the delete token of 18 on media.example\n"))
        #expect(try fixture.tokens().isEmpty)
        let result = try await fixture.runner.run(["uploads", "adopt", id, "--json"] + Self.server)
        #expect(result.exitCode == 0, "\(result)")
        try result.expectShapes("uploads-adopt")
        #expect(!(result.output + result.errors).contains(Self.token))
        #expect(try fixture.tokens().map(\.token.secret) == [Self.token])
        #expect(try fixture.tokens().map(\.baseURL) == ["https://media.example"])
        #expect(try kept(fixture).isEmpty)
        let gone = try await fixture.runner.run(["uploads", "adopt", id] + Self.server)
        #expect(gone.exitCode == 5)
    }

    /// A printed command works when pasted: it repeats the options of the command that prints it.
    @Test func theHintsRepeatTheOptions() async throws {
        try leave(#"{"delete_token":"\#(Self.token)"}"#, in: fixture)
        let id = try #require(try await items(fixture, ["responses"]).first?["response_id"] as? String)
        let place = ["--data-dir", fixture.dataDirectory]
        let noFileID = try await fixture.runner.run(["uploads", "adopt", id, "--dry-run"] + Self.server + place)
        let start = "hint: mediactl --data-dir \(fixture.dataDirectory) "
        #expect(
            noFileID.errors.hasSuffix(
                "\(start)--server https://media.example uploads adopt \(id) --dry-run --file-id ID\n"
            ),
            "\(noFileID.errors)"
        )
        let noServer = try await fixture.runner.run(["uploads", "adopt", id, "--file-id", "18"] + place)
        #expect(
            noServer.errors.hasSuffix("\(start)uploads adopt \(id) --file-id 18 --server https://HOST\n"),
            "\(noServer.errors)"
        )
    }

    @Test(arguments: [true, false]) func aTokenIsAdoptedFromAFile(_ isInDataDirectory: Bool) async throws {
        try leave("<id>18</id><delete_token>\(Self.token)</delete_token>", in: fixture)
        var path = fixture.dataDirectory + "/" + (try #require(try kept(fixture).first))
        if !isInDataDirectory {
            try FileManager.default.copyItem(atPath: path, toPath: fixture.runner.home.file("copy"))
            path = fixture.runner.home.file("copy")
        }
        let result = try await fixture.runner.run(["uploads", "adopt", path] + Self.server)
        #expect(result.exitCode == 0, "\(result)")
        #expect(try fixture.tokens().map(\.fileID) == [18])
        #expect(FileManager.default.fileExists(atPath: path) != isInDataDirectory)
    }

    @Test func aTokenTypedByHandIsStoredOnce() async throws {
        let line = ["uploads", "adopt", "--token-stdin", "--file-id"]
        let result = try await fixture.runner.run(line + ["18"] + Self.server, input: Self.token + "\n")
        #expect(result.exitCode == 0, "\(result)")
        #expect(result.output.hasPrefix("stored the delete token of 18 on media.example\n"))
        #expect(!(result.output + result.errors).contains(Self.token))
        #expect(try fixture.tokens().map(\.token.secret) == [Self.token])
        let again = try await fixture.runner.run(line + ["18"] + Self.server, input: Self.token)
        #expect(again.exitCode == 0)
        let other = try await fixture.runner.run(line + ["19"] + Self.server, input: Self.token)
        #expect(other.exitCode == 10 && other.errors.contains("another file on the same host has this delete token"))
        #expect(try fixture.tokens().map(\.fileID) == [18])
        let elsewhere = try await fixture.runner.run(line + ["19", "--server", "https://b.example"], input: Self.token)
        #expect(elsewhere.exitCode == 0)
    }

    @Test(arguments: ["", "abc", "two words", String(repeating: "g", count: 64)])
    func anInvalidTokenIsRefused(_ text: String) async throws {
        let result = try await fixture.runner.run(
            ["uploads", "adopt", "--token-stdin", "--file-id", "18"] + Self.server,
            input: text
        )
        #expect(result.exitCode == 2 && result.errors.contains("not a delete token"))
        #expect(text.isEmpty || !result.errors.contains(text))
        #expect(try fixture.tokens().isEmpty)
    }

    @Test func aResponseWithoutATokenNeedsATypedOne() async throws {
        try leave(#"{"id":18,"removal_key":"\#(String(repeating: "f", count: 64))"}"#, in: fixture)
        let id = try #require(try await items(fixture, ["responses"]).first?["response_id"] as? String)
        let refusal = try await fixture.runner.run(["uploads", "adopt", id] + Self.server)
        #expect(refusal.exitCode == 11 && refusal.errors.contains("--token-stdin --file-id"))
        let result = try await fixture.runner.run(
            ["uploads", "adopt", id, "--token-stdin"] + Self.server,
            input: Self.token
        )
        #expect(result.exitCode == 0, "\(result)")
        #expect(try fixture.tokens().map(\.token.secret) == [Self.token])
        #expect(try kept(fixture).isEmpty)
    }

    @Test func aTokenCannotBeTypedWithoutATerminal() async throws {
        let result = try await fixture.runner.run(["uploads", "adopt", "--file-id", "18"] + Self.server)
        #expect(result.exitCode == 2 && result.errors.contains("--token-stdin"))
    }
}
