import Foundation
import TestSupport
import Testing

/// The interaction of uploads and tapes.
@Suite struct TapeUploadTests {
    let uploads: BatchFixture
    let fixture: TapeFixture

    init() async throws {
        uploads = try await BatchFixture()
        var fixture = try TapeFixture()
        fixture.runner.environment.merge(
            ["MEDIACTL_SERVER": uploads.sandbox.baseURL, "MEDIACTL_USER": "uploader", "MEDIACTL_PASSWORD": "uploader"]
        ) { $1 }
        self.fixture = fixture
    }

    private func upload(_ arguments: String..., extra: [String: String] = [:]) async throws -> ChildResult {
        try await fixture.runner.run(["upload"] + arguments, extra: extra)
    }

    // Clips are added in the order of the files, regardless of the order of uploads, and only once, however often the
    // command is run.
    @Test func uploadsFillATape() async throws {
        let paths = try ["a.mp4", "b.mp4", "c.mp4"].map { try fixture.original($0) }
        let first = try await upload(paths[0], paths[2], "--tape", "Tour")
        #expect(first.exitCode == 0 && first.errors.contains("created the tape \"Tour\""), "\(first.errors)")
        #expect(try await fixture.names("Tour") == ["a.mp4", "c.mp4"])
        #expect(try fixture.links("Tapes – Tour").count == 2)
        let second = try await upload(paths[0], paths[1], "--tape", "Tour", "--json")
        #expect(second.exitCode == 0 && !second.errors.contains("created the tape"))
        #expect(try SyncFixture.report(of: second).states == ["done", "duplicate"])
        #expect(try await fixture.names("Tour") == ["a.mp4", "c.mp4", "b.mp4"])
    }

    /// Each upload waits for its response until all of them have looked for the tape.
    @Test func parallelUploadsCreateOneTape() async throws {
        try await uploads.sandbox.addFaults("upload:delay-response=3,times=3")
        let paths = try ["a.mp4", "b.mp4", "c.mp4"].map { try fixture.original($0) }
        let children = try paths.map { try fixture.runner.start(["upload", $0, "--tape", "Tour", "-q"]) }
        try await uploads.sandbox.waitForRequests { $0.count { $0.method == "POST" } >= 3 }
        for child in children {
            let result = try await child.finish()
            #expect(result.exitCode == 0, "\(result.errors)")
        }
        #expect(try await fixture.json("list").items.count == 1)
        #expect(Set(try await fixture.names("Tour")) == ["a.mp4", "b.mp4", "c.mp4"])
    }

    // R9: a failure of the tape or album never makes the upload fail.
    @Test func failedTapesNeverFailAnUpload() async throws {
        let sound = try fixture.runner.home.write("s.mp3", "ID3\u{3}sound".utf8)
        let refused = try await upload(sound, "--tape", "T")
        #expect(refused.exitCode == 0 && refused.errors.contains("warning: not in the tape \"T\""), "\(refused.errors)")
        #expect(try await fixture.json("list").items.isEmpty)

        try Data().write(to: URL(fileURLWithPath: fixture.pictures + "/Tapes"))
        let noAlbum = try await upload(try fixture.original("a.mp4"), "--tape", "T")
        #expect(noAlbum.exitCode == 0 && noAlbum.errors.contains("1 clip saved; its album was not updated"))
        #expect(try await fixture.names("T") == ["a.mp4"])

        let text = "no database, but long enough to look like one"
        try fixture.runner.home.write("data/mediactl/library.sqlite", text.utf8)
        let noStore = try await upload(try fixture.original("b.mp4"), "--tape", "T")
        #expect(noStore.exitCode == 0 && noStore.errors.contains("warning: files are not added to a tape"))
        #expect(noStore.output.contains("uploaded"))
    }

    @Test func titlesOfSeveralTapesAreRefusedBeforeAnythingIsSent() async throws {
        _ = try await fixture.run("create", "T")
        _ = try await fixture.run("create", "T")
        let result = try await upload(try fixture.original("a.mp4"), "--tape", "T")
        #expect(result.exitCode == 2 && result.output.isEmpty)
        #expect(try await uploads.sandbox.posts() == 0)
    }

    @Test func dryRunsCreateNoTape() async throws {
        let result = try await upload(try fixture.original("a.mp4"), "--tape", "T", "--dry-run")
        #expect(result.exitCode == 0 && result.errors.contains("would be created"))
        #expect(try await fixture.json("list").items.isEmpty)
    }

    @Test func standardInputIsNotAClip() async throws {
        let result = try await fixture.runner.run(
            ["upload", "-", "--stdin-name", "live.mp4", "--tape", "T"],
            input: "\0\0\0\u{18}ftypisom\0\0\u{2}\0isomiso2 live"
        )
        #expect(result.exitCode == 0 && result.errors.contains("standard input is not a file"), "\(result.errors)")
        #expect(try await fixture.json("list").items.isEmpty)
    }

    // The files just uploaded, from the output of the upload, from its report, and from the journal.
    @Test func uploadedFilesAreAddedToTapes() async throws {
        _ = try await fixture.run("create", "T")
        let paths = try ["a.mp4", "b.mp4"].map { try fixture.original($0) }
        let report = fixture.runner.home.file("report.json")
        let sent = try await upload(
            paths[0],
            paths[1],
            fixture.runner.home.file("gone.mp4"),
            "--json",
            "--report",
            report
        )
        #expect(sent.exitCode == 3)
        let piped = try await fixture.runner.run(
            ["tapes", "add", "T", "--from-upload", "-", "--json"],
            input: sent.output
        )
        #expect(try SyncFixture.report(of: piped).count("added") == 2)
        #expect(try await fixture.json("add", "T", "--from-upload", report).count("added") == 2)
        let last = try await fixture.json("add", "T", "--uploaded-last")
        #expect(paths.contains(last.items.first?["path"] as? String ?? ""))
        #expect(try await fixture.json("add", "T", "--uploaded", "1").count("added") == 1)
        let unknown = try await fixture.json("add", "T", "--uploaded", "4711")
        #expect(unknown.error["code"] as? String == "unknown_upload" && unknown.result.exitCode == 5)
        let other = try await fixture.json("add", "T", "--from-upload", paths[0])
        #expect(other.result.exitCode == 2 && (other.error["message"] as? String)?.contains("--from-upload") == true)
        #expect(try await fixture.names("T").count == 6)
    }

    @Test func aNumberOfSeveralServersRequiresTheUploadID() async throws {
        let other = try await BatchFixture()
        var ids: [String] = []
        for (name, server) in [("a.mp4", uploads.sandbox.baseURL), ("b.mp4", other.sandbox.baseURL)] {
            let sent = try await upload(try fixture.original(name), "--json", extra: ["MEDIACTL_SERVER": server])
            ids.append(try #require(try SyncFixture.report(of: sent).items.first?["upload_id"] as? String))
        }
        _ = try await fixture.run("create", "T")
        let refused = try await fixture.json("add", "T", "--uploaded", "1")
        #expect(refused.error["code"] as? String == "usage" && refused.result.exitCode == 2)
        let message = refused.error["message"] as? String ?? ""
        #expect(message.hasPrefix("several servers have a file 1: "), "\(message)")
        #expect(ids.allSatisfy { message.contains($0) }, "\(message)")
        #expect(try await fixture.json("add", "T", "--uploaded", ids[0]).count("added") == 1)
        #expect(try await fixture.names("T") == ["a.mp4"])
    }

    // R14: the checksum of the upload finds a file that was missing when it was added.
    @Test(arguments: [["--uploaded", "1"], ["--uploaded-last"], ["--from-upload", "-"], ["--from-upload", "r.json"]])
    func missingUploadedFilesAreFoundLater(_ source: [String]) async throws {
        let path = try fixture.original("a.mp4")
        let report = fixture.runner.home.file("r.json")
        let sent = try await upload(path, "--json", "--report", report)
        let archive = fixture.runner.home.file("archive")
        try FileManager.default.createDirectory(atPath: archive, withIntermediateDirectories: false)
        try FileManager.default.moveItem(atPath: path, toPath: archive + "/b.mp4")
        _ = try await fixture.run("create", "T")
        let words = source.map { $0 == "r.json" ? report : $0 }
        let added = try await fixture.runner.run(["tapes", "add", "T", "--allow-missing"] + words, input: sent.output)
        #expect(added.exitCode == 0 && !added.errors.contains("was changed"), "\(added)")
        let found = try await fixture.run("relink", "T", "--in", archive)
        #expect(found.exitCode == 0, "\(found)")
        #expect(try await fixture.names("T") == ["b.mp4"])
    }

    // In the directory of the upload, its journal shows a relative path.
    @Test func missingFilesAreAddedInAnyDirectory() async throws {
        let path = try fixture.original("a.mp4")
        func run(_ arguments: String..., in directory: String) async throws -> ChildResult {
            try await fixture.runner.run(arguments, through: ["env", "-C", directory])
        }
        let home = fixture.runner.home.path
        try #require(try await run("upload", "a.mp4", in: home).exitCode == 0)
        try FileManager.default.removeItem(atPath: path)
        _ = try await fixture.run("create", "T")
        for directory in [home, "/"] {
            let added = try await run("tapes", "add", "T", "--uploaded-last", "--allow-missing", in: directory)
            #expect(added.exitCode == 0, "\(added)")
        }
        #expect(Set(try await fixture.clips("T").compactMap { $0["path"] as? String }) == [path])
    }

    @Test func filesThatChangedSinceTheirUploadAreReported() async throws {
        let path = try fixture.original("a.mp4")
        let sent = try await upload(path, "--json")
        _ = try await fixture.run("create", "T")
        let same = try await fixture.run("add", "T", "--uploaded-last")
        #expect(same.exitCode == 0 && !same.errors.contains("was changed"), "\(same)")
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try file.seekToEnd()
        try file.write(contentsOf: Data("more".utf8))
        try file.close()
        for source in [["--uploaded-last"], ["--from-upload", "-"]] {
            let added = try await fixture.runner.run(["tapes", "add", "T"] + source, input: sent.output)
            #expect(added.exitCode == 0 && added.errors.contains("a.mp4\" was changed since its upload"), "\(added)")
        }
    }
}
