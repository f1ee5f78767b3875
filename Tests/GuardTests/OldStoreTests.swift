import Foundation
import TestSupport
import Testing

/// Files written by 0.1.0 are read, and a token from them deletes its file.
@Suite struct OldStoreTests {
    /// A server that deletes one file with its token; it rejects other tokens, and responds to other requests with 404.
    private static func deletingServer(id: Int, token: String) throws -> RecordingServer {
        try RecordingServer { request, _ in
            guard request.line.hasPrefix("POST ") else {
                return .init(status: 404, body: #"{"error":"Not Found","message":"File not found"}"#)
            }
            guard String(decoding: request.body, as: UTF8.self).contains("\"\(token)\"") else {
                let rejection = #"{"success":false,"error":"Forbidden","message":"Invalid delete token"}"#
                return .init(status: 403, body: rejection)
            }
            let results = #"{"deleted":[{"asset_id":\#(id)}],"errors":[]}"#
            return .init(body: #"{"success":true,"deleted_count":1,"error_count":0,"results":\#(results)}"#)
        }
    }

    /// A server that must not be contacted; connections are closed.
    private static func silentServer() throws -> ScriptedServer { try ScriptedServer { _, _ in } }

    @Test func tokensAreListedAndTheRescueFileIsAdopted() async throws {
        let server = try Self.silentServer()
        let runner = try Guarded.machine(port: server.port)
        let result = try await runner.run(["uploads", "list", "--json"])
        #expect(result.exitCode == 0, "\(result.errors)")
        // File 8 is not in any table of the fixture; it is only in the rescue file.
        #expect(Set(try result.records().compactMap { $0["file_id"] as? Int }) == [1, 2, 3, 7, 8])
        let shown = try await runner.run(["uploads", "show", "8", "--show-token", "--json"])
        #expect(shown.output.contains("53414e44424f5821310dcdee481b8110fc1df882e8377a174be70e90c6c547e7"))
        let data = try FileManager.default.contentsOfDirectory(atPath: runner.home.file("data/mediactl"))
        #expect(!data.contains { $0.hasPrefix("rescue-") })
        #expect(server.connectionCount == 0)
    }

    @Test func aSupersededTokenIsKeptTogetherWithTheNewOne() async throws {
        let server = try Self.silentServer()
        let runner = try Guarded.machine(port: server.port)
        let result = try await runner.run(["uploads", "show", "1", "--show-token", "--json"])
        let tokens = Set(try result.records().compactMap { $0["delete_token"] as? String })
        #expect(tokens.contains(String(repeating: "5", count: 64)))
        #expect(tokens.contains("53414e44424f5821b3ba0ae05ac8013f360a1d6250741be797bdf966bfb11039"))
    }

    @Test func aStoredTokenDeletes() async throws {
        let token = "53414e44424f5821cf46834790595ac189f67b7a9dee6d026abf02d686e432bd"
        let server = try Self.deletingServer(id: 2, token: token)
        let runner = try Guarded.machine(port: server.port)
        let result = try await runner.run(["uploads", "delete", "2", "--yes", "--json"])
        #expect(result.exitCode == 0, "\(result)")
        #expect(try result.records().first?["state"] as? String == "deleted")
        #expect(server.requests.count { $0.line.hasPrefix("POST ") } == 1)
        let rest = try await runner.run(["uploads", "list", "--json"]).records().compactMap { $0["file_id"] as? Int }
        #expect(!rest.contains(2) && rest.contains(3))
    }

    @Test func statesOfTheJournalAreRecognized() async throws {
        let server = try Self.silentServer()
        let runner = try Guarded.machine(port: server.port)
        let result = try await runner.run(["uploads", "status", "--dry-run", "--json"])
        let states = Dictionary(
            uniqueKeysWithValues: try result.records().compactMap { record -> (String, String)? in
                guard let id = record["upload_id"] as? String, let state = record["state"] as? String else {
                    return nil
                }
                return (id, state)
            }
        )
        #expect(states["u-aaaaaaaaaaaaaaaa"] == "planned" && states["u-bbbbbbbbbbbbbbbb"] == "finalized")
        #expect(states["u-gbgihodhe4rmgt3x"] == "sending" && states["u-7jevabbjkxw65rm4"] == "sent")
        #expect(states["u-2rxtm6dsiufcfqde"] == "unknown_outcome")
        let cut = try result.records().first { $0["upload_id"] as? String == "u-4zfvpsva2g42flpw" }
        #expect(cut?["resumable"] as? Bool == true && cut?["sent_bytes"] as? Int == 131_072)
        #expect(server.connectionCount == 0)
    }

    @Test func anExportIsImportedOnce() async throws {
        let server = try Self.silentServer()
        let runner = try Guarded.machine(port: server.port, withStores: false)
        let export = try Guarded.place("export.jsonl", in: runner, port: server.port)
        let imported = try await runner.run(["uploads", "import", export, "--json"])
        #expect(imported.exitCode == 0, "\(imported)")
        let listed = try await runner.run(["uploads", "list", "--json"]).records().compactMap { $0["file_id"] as? Int }
        #expect(Set(listed) == [1, 2, 3])
        // Importing tokens into a store that already contains them adds nothing.
        let full = try Guarded.machine(port: server.port)
        let again = try await full.run([
            "uploads", "import", try Guarded.place("export.jsonl", in: full, port: server.port),
        ])
        #expect(again.exitCode == 0 && again.output.contains("imported 0 "), "\(again)")
    }

    @Test func aReportIsRetried() async throws {
        let server = try Self.silentServer()
        let runner = try Guarded.machine(port: server.port)
        try makeDirectory(runner.home.file("media"))
        try Data("refused".utf8).write(to: URL(filePath: runner.home.file("media/refused.mp4")))
        let report = try Guarded.place("report.json", in: runner, port: server.port)
        let result = try await runner.run(["upload", "--retry-failed", report, "--dry-run", "--json"])
        #expect(result.exitCode == 0, "\(result)")
        let items = try result.records()
        #expect(items.count == 1 && (items.first?["path"] as? String)?.hasSuffix("media/refused.mp4") == true)
    }

    @Test(arguments: ["manifest.csv", "manifest.jsonl"]) func aManifestIsRead(name: String) async throws {
        let server = try Self.silentServer()
        let runner = try Guarded.machine(port: server.port, withStores: false)
        for file in ["one.mp4", "two.mp4"] { try Data("x".utf8).write(to: URL(filePath: runner.home.file(file))) }
        let manifest = try Guarded.place(name, in: runner, port: server.port)
        let result = try await runner.run(
            ["upload", "--manifest", manifest, "--dry-run", "--json"],
            through: ["env", "-C", runner.home.path]
        )
        #expect(result.exitCode == 0, "\(result)")
        #expect(try result.records().count == 2)
    }

    @Test func theVaultOpens() async throws {
        let server = try Self.silentServer()
        let runner = try Guarded.machine(port: server.port)
        let listed = try await runner.run(["hash-only", "list", "--json"]).records()
        let states = listed.map { "\($0["capture_id"] ?? "") \($0["state"] ?? "")" }
        #expect(
            Set(states) == [
                "63089e9a-05df-4147-ac47-da5bff77b925 accepted", "556ad30f-f106-4bd6-8b40-1e4534baca63 queued",
            ]
        )
        let target = runner.home.file("out.jpg")
        let result = try await runner.run(["hash-only", "export", "63089e9a", "--output", target])
        #expect(result.exitCode == 0, "\(result)")
        #expect(FileManager.default.contents(atPath: target) == Data([0xFF, 0xD8, 0xFF, 0xE0]) + Data("square".utf8))
        let bundle = runner.home.file("bundle.json")
        #expect(try await runner.run(["hash-only", "export", "63089e9a", "--bundle", bundle]).exitCode == 0)
        let settings = try await runner.run(["hash-only", "settings", "show", "--json"])
        let levels = try #require(try settings.records("summary").first)
        #expect(settings.exitCode == 0 && levels["privacy_mode"] as? Bool == false)
        let kept = ["location", "timestamp", "device"].map { levels[$0] as? String }
        #expect(kept == ["coarse", "day_only", "model_only"])
    }

    @Test func photosAndTapesAreListed() async throws {
        let server = try Self.silentServer()
        let runner = try Guarded.machine(port: server.port)
        let photos = try await runner.run(["sync", "list", "--json"])
        #expect(photos.exitCode == 0, "\(photos)")
        #expect(try photos.records().count == 3)
        let tapes = try await runner.run(["tapes", "list", "--json"])
        #expect(Set(try tapes.records().compactMap { $0["title"] as? String }) == ["Summer", "Winter"])
        let summer = try await runner.run(["tapes", "show", "Summer", "--json"])
        #expect(summer.exitCode == 0 && summer.output.contains("360b32c9"), "\(summer)")
        #expect(server.connectionCount == 0)
    }

    @Test func theKeyOfTheLoginIsUsed() async throws {
        let server = try RecordingServer(.init(status: 503, body: ""))
        let runner = try Guarded.machine(port: server.port)
        _ = try await runner.run(["sync", "status"])
        #expect(server.requests.contains { $0.head.contains("a11ce" + String(repeating: "0", count: 59)) })
    }

    @Test func settingsAreRead() async throws {
        let server = try Self.silentServer()
        var runner = try Guarded.machine(port: server.port, withStores: false)
        runner.environment = runner.environment.filter { !$0.key.hasPrefix("MEDIACTL_") }
        let file = try Guarded.place("config.yaml", in: runner, port: server.port)
        let result = try await runner.run(["config", "show", "--config", file, "--json"])
        #expect(result.exitCode == 0, "\(result)")
        let settings = try result.records().reduce(into: [String: String]()) { all, record in
            if let name = record["name"] as? String, record["source"] as? String == file {
                all[name] = record["value"] as? String ?? ""
            }
        }
        #expect(settings["stall_timeout"] == "90s" && settings["jobs"] == "2" && settings["transport"] == "tus")
        #expect(settings["albums.library"] == "immich" && settings["chunk_size"] == "1048576")
        let stage = try await runner.run(["config", "show", "--config", file, "--profile", "stage", "--json"])
        #expect(stage.exitCode == 0 && stage.output.contains("https://stage.example.org:8443"), "\(stage)")
    }
}
