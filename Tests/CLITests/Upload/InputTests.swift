import Foundation
import TestSupport
import Testing

@testable import MediaCLI

/// Sources of the files to upload: directories, lists, manifests, shards.
@Suite struct InputTests {
    let fixture: BatchFixture

    init() async throws { fixture = try await BatchFixture() }

    @Test func directoriesAreWalkedByPatternAndSkipNonMedia() async throws {
        for name in ["in/a.mp4", "in/sub/b.mov", "in/sub/c.mp4", "in/old/d.mp4"] {
            try fixture.file(name)
        }
        _ = try fixture.text("in/notes.txt", "x")
        let result = try await fixture.upload([
            fixture.runner.home.file("in"), "-r", "--include", "*.mp4", "--exclude", "old", "--dry-run", "--json",
        ])
        let paths = try result.records().compactMap { $0["path"] as? String }
        #expect(paths.map { $0.replacing(fixture.runner.home.path, with: "") } == ["/in/a.mp4", "/in/sub/c.mp4"])
        let all = try await fixture.upload([fixture.runner.home.file("in"), "-r", "--dry-run"])
        #expect(all.lines.count { $0.contains("would be uploaded") } == 4 && all.exitCode == 0)
        #expect(all.errors.contains("skipped 1 file in "))
        #expect(all.errors.contains("/in\": not audio or video; to include: --any-extension"))
    }

    @Test func listsAreSeparatedByLinesOrNULs() async throws {
        let a = try fixture.file("a.mp4")
        let b = try fixture.file("b\n.mp4")
        let lines = try fixture.text("lines", "\(a)\r\n\n")
        let result = try await fixture.upload(
            ["--files-from", lines, "--files-from0", "-", "--dry-run", "--json"],
            input: "\(b)\0"
        )
        #expect(result.exitCode == 0)
        #expect(try result.records().map { $0["path"] as? String } == [a, b])
    }

    @Test(arguments: ["--files-from", "--files-from0", "--manifest", "--retry-failed"])
    func aMissingListIsReportedWithTheReason(flag: String) async throws {
        let result = try await fixture.upload([flag, "no-such-list"])
        #expect(result.exitCode == 2)
        #expect(result.errors.contains("error: \(flag): cannot read \"no-such-list\": no such file\n"))
        #expect(result.errors.contains("hint: check the spelling of the path"))
    }

    @Test func manifestSetsTheDetailsOfEachFile() async throws {
        let a = try fixture.file("a.mp4")
        let b = try fixture.file("b.mp4")
        let manifest = try fixture.text("m.csv", "path,label,org_name,event_date\n\(a),One,Tus,2026-03-01\n\(b),,,\n")
        let result = try await fixture.upload(["--manifest", manifest, "--org-name", "Flag", "--json"])
        #expect(result.exitCode == 0)
        let items = try result.records()
            .sorted { "\($0["path"] ?? "")" < "\($1["path"] ?? "")" }
        #expect(items.map { $0["label"] as? String } == ["One", "b"])
        #expect(items.map { $0["org_name"] as? String } == ["Tus", "Flag"])
        #expect(items.first?["event_date"] as? String == "2026-03-01")
    }

    @Test func everyErrorOfAManifestIsReportedAndNothingIsSent() async throws {
        let a = try fixture.file("a.mp4")
        let manifest = try fixture.text(
            "m.csv",
            "path,label,event_date\n\(a),fine,2026-03-01\n/no/such.mp4,x,\n\(a),y,2026-02-30\n"
        )
        let result = try await fixture.upload(["--manifest", manifest])
        #expect(result.exitCode == 2 && result.output.isEmpty)
        #expect(result.errors.contains("m.csv\" has 2 errors; nothing was sent\n  line 3: cannot read"))
        #expect(result.errors.contains("\n  line 4: cannot use \"2026-02-30\" as event date"))
        #expect(try await fixture.sandbox.posts() == 0)

        let json = try await fixture.upload(["--manifest", manifest, "--json"])
        try JSONSchemaTests.expectExactShape(try #require(json.lines.last), schema: "upload")
        #expect(json.output.contains(#""code":"invalid_manifest""#) && json.output.contains("line 4: "))

        let broken = try fixture.text(
            "b.csv",
            "path,event_date,label\n\(a),2026-02-30,x\n,,\n/no/such.mp4,,\n\(a),,y\"z\n"
        )
        let all = try await fixture.upload(["--manifest", broken])
        #expect(
            all.exitCode == 2 && all.errors.contains("b.csv\" has 4 errors; nothing was sent\n  line 2: cannot use")
        )
        #expect(all.errors.contains("\n  line 3: path: the path is missing\n  line 4: cannot read \"/no/such.mp4\""))
        #expect(all.errors.contains("\n  line 5: a quote in"))

        let columns = try fixture.text("c.csv", "path,lable\n\(a),x\n")
        let misspelled = try await fixture.upload(["--manifest", columns])
        #expect(misspelled.exitCode == 2 && misspelled.errors.contains("lable"))
    }

    @Test func shardsAreDisjointAndCompleteInEveryNotation() async throws {
        for number in 0..<12 {
            try fixture.file("in/\(number).mp4")
        }
        var seen: [String] = []
        for index in 0..<3 {
            let variants: [([String], [String: String])] = [
                (["--shard", "\(index)/3"], [:]), (["--shard", "auto/3"], ["JOB_COMPLETION_INDEX": "\(index)"]),
                (
                    ["--shard", "auto"],
                    [
                        "SLURM_ARRAY_TASK_ID": "\(index + 1)", "SLURM_ARRAY_TASK_MIN": "1",
                        "SLURM_ARRAY_TASK_COUNT": "3",
                        "SLURM_ARRAY_TASK_MAX": "3", "SLURM_ARRAY_TASK_STEP": "1",
                    ]
                ),
            ]
            var parts: [[String]] = []
            for (arguments, extra) in variants {
                let result = try await fixture.upload(
                    [fixture.runner.home.file("in"), "-r", "--dry-run", "--json"] + arguments,
                    extra: extra
                )
                #expect(result.exitCode == 0)
                parts.append(try result.records().compactMap { $0["path"] as? String })
                try JSONSchemaTests.expectExactShape(try #require(result.lines.first), schema: "upload")
            }
            #expect(parts[0] == parts[1] && parts[1] == parts[2])
            seen += parts[0]
        }
        #expect(seen.count == 12 && Set(seen).count == 12)
    }

    @Test func variablesOfASchedulerAreUsedOnlyOnRequest() async throws {
        let a = try fixture.file("a.mp4")
        let ignored = try await fixture.upload([a, "--dry-run"], extra: ["JOB_COMPLETION_INDEX": "5"])
        #expect(ignored.lines.first?.contains("would be uploaded") == true && !ignored.errors.contains("shard"))
        let given = try await fixture.upload(
            [a, "--dry-run", "--shard", "auto/1"],
            extra: ["JOB_COMPLETION_INDEX": "0"]
        )
        #expect(given.errors.contains("shard 0/1, from JOB_COMPLETION_INDEX: 1 of 1 file"))
        let nobody = try await fixture.upload([a, "--shard", "auto/2"])
        #expect(nobody.exitCode == 2 && nobody.errors.contains("no scheduler variable found"))
    }

    @Test func aFileNameThatIsNotAValidLabelIsConverted() async throws {
        let file = try fixture.file("in/two\nlines.mp4")
        let directory = fixture.runner.home.file("in")
        try makeLink(directory + "/lost.mp4", to: "nowhere")
        let named = try await fixture.upload([file, "--json"])
        let item = try #require(try named.records().first)
        #expect(named.exitCode == 0 && item["label"] as? String == "two lines" && item["path"] as? String == file)
        let templated = try await fixture.upload([file, "--label", "{stem}!", "--dry-run", "--json"])
        #expect(try templated.records().first?["label"] as? String == "two lines!")
        let typed = try await fixture.upload([file, "--label", "a\nb", "--dry-run"])
        #expect(typed.exitCode == 2 && typed.errors.contains("must not contain control characters"))

        let lost = try await fixture.upload([directory, "--recursive", "--dry-run"])
        #expect(lost.errors.contains("lost.mp4\": no such file or directory"))
        #expect(lost.exitCode == 3 && !lost.errors.contains("permissions"))
    }

    /// Whether the other directory is specified as well.
    @Test(arguments: [true, false]) func aLinkedDirectoryIsReportedUnlessItIsRead(_ isRead: Bool) async throws {
        try fixture.file("in/a.mp4")
        try fixture.file("other/b.mp4")
        let (directory, other) = (fixture.runner.home.file("in"), fixture.runner.home.file("other"))
        try makeLink(directory + "/link", to: other)
        let inputs = [directory] + (isRead ? [other] : [])
        let result = try await fixture.upload(inputs + ["--recursive", "--dry-run", "--json"])
        #expect(try result.records().count == inputs.count)
        #expect(result.errors.contains("in/link\": a link to a directory") != isRead, "\(result.errors)")
    }

    @Test func labelsAreBuiltFromTemplates() async throws {
        let a = try fixture.file("Gig/a.mp4")
        let b = try fixture.file("Gig/b.mp4")
        let result = try await fixture.upload([
            a, b, "--label", "{parent} {n:3} {stem} {date}", "--event-date", "2026-03-01", "--dry-run", "--json",
        ])
        #expect(
            try result.records().map { $0["label"] as? String }
                == ["Gig 001 a 2026-03-01", "Gig 002 b 2026-03-01"]
        )
        let wrong = try await fixture.upload([a, "--label", "{nonsense}"])
        #expect(wrong.exitCode == 2 && wrong.errors.contains("--label: \"{nonsense}\""))
    }

    // mvhd of the fixture: 2026-03-01T12:00:00Z is 3 855 211 200 s after 1904 (ISO/IEC 14496-12 section 8.2.2).
    @Test func theDateIsReadFromTheRecordingIfPresent() async throws {
        let plain = try fixture.file("plain.mp4")
        let dated = fixture.runner.home.file("dated.mp4")
        let seconds: UInt32 = 3_855_211_200
        var movie: [UInt8] = [0, 0, 0, 0x18] + Array("ftypisom".utf8) + [0, 0, 2, 0] + Array("isomiso2".utf8)
        let header: [UInt8] = [0, 0, 0, 0x6c] + Array("mvhd".utf8) + [0, 0, 0, 0]
        let times = [seconds, seconds, 1000, 1000].flatMap { number in
            stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> UInt32($0)) }
        }
        let body = header + times + [UInt8](repeating: 0, count: 0x6c - header.count - times.count)
        movie += [0, 0, 0, UInt8(body.count + 8)] + Array("moov".utf8) + body
        try Data(movie).write(to: URL(fileURLWithPath: dated))
        let result = try await fixture.upload([
            dated, plain, "--date-from-media", "--event-date", "2020-02-02", "--dry-run", "--json",
        ])
        #expect(try result.records().map { $0["event_date"] as? String } == ["2026-03-01", "2020-02-02"])
    }

    @Test func nothingToUploadIsASuccess() async throws {
        let list = try fixture.text("list", "")
        let result = try await fixture.upload(["--files-from", list])
        #expect(result.exitCode == 0 && result.output.isEmpty)
        #expect(result.errors == "mediactl: note: nothing to upload\n")
    }
}
