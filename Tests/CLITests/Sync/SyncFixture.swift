import Foundation
import TestSupport
import Testing

/// The built program, a sandbox with PhotoSync, and some photos.
struct SyncFixture: Sendable {
    /// The output of a run with `--json`. The first five records and the last one have been compared with their
    /// schemas.
    struct Report {
        var result: ChildResult
        var records: [[String: Any]]

        var items: [[String: Any]] { records.filter { $0["type"] as? String == "item" } }
        /// The last record.
        var last: [String: Any] { records.last ?? [:] }
        var error: [String: Any] { last["error"] as? [String: Any] ?? [:] }

        /// A number in the last record.
        func count(_ name: String) -> Int? { last[name] as? Int }

        /// The states of the items, sorted.
        var states: [String] { items.compactMap { $0["state"] as? String }.sorted() }
    }

    let sandbox: SandboxProcess
    var runner: BinaryRunner

    init(faults: [String] = [], arguments: [String] = []) async throws {
        sandbox = try await SandboxProcess.start(faults: faults, arguments: arguments)
        runner = try BinaryRunner()
        runner.environment.merge(["MEDIACTL_SERVER": sandbox.baseURL, "MEDIACTL_RETRIES": "0"]) { $1 }
    }

    /// An environment with a login as alice.
    static func loggedIn(faults: [String] = [], arguments: [String] = []) async throws -> SyncFixture {
        let fixture = try await SyncFixture(faults: faults, arguments: arguments)
        let result = try await fixture.runner.run(
            ["login", "--api-key-stdin", "--device-name", "Studio", "-q"],
            input: SandboxProcess.aliceKey + "\n"
        )
        try #require(result.exitCode == 0, "\(result.errors)")
        return fixture
    }

    /// Runs a command to completion.
    func run(_ arguments: String..., extra: [String: String] = [:]) async throws -> ChildResult {
        try await runner.run(arguments, extra: extra)
    }

    /// Runs a command with `--json`; the first five lines and the last one must have their documented shape, and the
    /// last must be the final record.
    func json(_ arguments: String..., extra: [String: String] = [:]) async throws -> Report {
        try Self.report(of: try await runner.run(arguments + ["--json"], extra: extra))
    }

    static func report(of result: ChildResult) throws -> Report {
        var records: [[String: Any]] = []
        for line in result.lines {
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
            let record = try #require(object as? [String: Any])
            let name = (record["schema"] as? String)?.dropFirst("mediactl.".count).dropLast(2)
            if records.count < 5 || line == result.lines.last {
                try JSONSchemaTests.expectExactShape(
                    line,
                    schema: String(try #require(name)),
                    opaque: ["body", "privacy", "analysis"]
                )
            }
            records.append(record)
        }
        let ends = records.filter { ["summary", "error"].contains($0["type"] as? String) }
        #expect(ends.count == 1 && ["summary", "error"].contains(records.last?["type"] as? String))
        #expect(records.last?["exit_code"] as? Int == result.exitCode.map(Int.init))
        return Report(result: result, records: records)
    }

    // MARK: Files

    /// An environment with a login as alice, and a directory with photos.
    static func withPhotos(_ names: String...) async throws -> (fixture: SyncFixture, directory: String) {
        let fixture = try await loggedIn()
        return (fixture, try fixture.photos(named: names))
    }

    func photos(_ names: String...) throws -> String { try photos(named: names) }

    /// A directory with photos with different contents.
    private func photos(named names: [String]) throws -> String {
        let directory = runner.home.file("Pictures")
        try makeDirectory(directory)
        for name in names {
            try Data("a photo called \(name)".utf8).write(to: URL(fileURLWithPath: directory + "/" + name))
        }
        return directory
    }

    /// A file that only its owner can read.
    func secret(_ text: String) throws -> String {
        let path = try runner.home.write("secret-\(text.count)", (text + "\n").utf8)
        try #require(chmod(path, 0o600) == 0)
        return path
    }

    /// The number of such requests that the server received.
    func requests(_ method: String, _ path: String) async throws -> Int {
        try await sandbox.requests().count { $0.method == method && $0.path.hasPrefix(path) }
    }
}
