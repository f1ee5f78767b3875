import Foundation
import TestSupport
import Testing

/// Every schema in `docs/schemas` is used by some run.
@Suite struct SchemaProductionTests {
    @Test func everySchemaIsProducedByARun() async throws {
        var produced: Set<String> = []
        for entry in try await TranscriptTests.sessions.value[.pipe] ?? [] {
            produced.formUnion(try Self.validate(entry.raw))
        }
        produced.formUnion(try Self.validate(try await BinaryRunner().run(["nonsense", "--json"]).output))
        produced.formUnion(try Self.validate(try await loginStatus()))
        produced.formUnion(try await report())
        produced.formUnion(try await bundle())
        produced.formUnion(try await store())
        let files = try FileManager.default.contentsOfDirectory(atPath: Repository.path("docs/schemas"))
        #expect(produced == Set(files.map { $0.replacing("-1.json", with: "") }))
    }

    /// The names of the schemas of all records in a text, each of which must be valid.
    private static func validate(_ text: String) throws -> Set<String> {
        var names: Set<String> = []
        for line in text.split(separator: "\n") where line.hasPrefix(#"{"schema":"#) {
            let record = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            let name = String(try #require(record["schema"] as? String).dropFirst("mediactl.".count).dropLast(2))
            let schema = try JSONSchemaTests.schema(name)
            do {
                try schema.validate(record)
                try schema.validate(record, isClosed: false)
            } catch {
                Issue.record("\(error): \(line)")
            }
            names.insert(name)
        }
        return names
    }

    /// A login of an upload server and one of a photo server.
    private func loginStatus() async throws -> String {
        let sandbox = try await SandboxProcess.start(dialect: "d4", arguments: ["--auth", "bearer"])
        let runner = try BinaryRunner()
        let login = ["login", "--server", sandbox.baseURL, "--json"]
        let user = ["--user", "contributor@example.org", "--password-stdin"]
        let upload = try await runner.run(login + user, input: "contributor")
        let photo = try await runner.run(login + ["--api-key-stdin"], input: SandboxProcess.aliceKey)
        let status = try await runner.run(["login", "status", "--json"])
        let logout = try await runner.run(["logout", "--all", "--json"])
        #expect([upload, photo, status, logout].map(\.exitCode) == [0, 0, 0, 0])
        return upload.output + photo.output + status.output + logout.output
    }

    private func report() async throws -> Set<String> {
        let fixture = try await BatchFixture()
        let report = fixture.runner.home.file("report.json")
        #expect(try await fixture.upload([try fixture.file("a.mp4"), "--report", report]).exitCode == 0)
        return try validateFile(report, as: "upload-report")
    }

    private func bundle() async throws -> Set<String> {
        let fixture = try await HashOnlyFixture.registered()
        let id = try #require(try await fixture.send().items.first?["capture_id"] as? String)
        let path = fixture.runner.home.file("bundle.json")
        #expect(try await fixture.run(["export", id, "--bundle", path]).exitCode == 0)
        return try validateFile(path, as: "hash-only-bundle")
    }

    private func store() async throws -> Set<String> {
        let fixture = try await BatchFixture()
        #expect(try await fixture.upload([try fixture.file("a.mp4")]).exitCode == 0)
        let runner = fixture.runner
        let file = runner.home.file("tokens.sqlite.copy")
        var names: Set<String> = []
        for command in [["check"], ["backup", file], ["repair"], ["restore", file]] {
            let result = try await runner.run(["store"] + command + ["--json"])
            #expect(result.exitCode == 0, "\(result)")
            names.formUnion(try Self.validate(result.output))
        }
        return names
    }

    private func validateFile(_ path: String, as name: String) throws -> Set<String> {
        let value = try JSONSerialization.jsonObject(with: Data(contentsOf: URL(filePath: path)))
        try JSONSchemaTests.schema(name).validate(value)
        try JSONSchemaTests.schema(name).validate(value, isClosed: false)
        return [name]
    }
}
