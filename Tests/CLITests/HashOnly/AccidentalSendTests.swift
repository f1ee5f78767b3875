import Foundation
import TestSupport
import Testing

/// Nothing is sent by accident: neither by a mistyped command nor without a choice about depth.
@Suite(.prompt) struct AccidentalSendTests {
    let fixture: HashOnlyFixture

    init() async throws { fixture = try await HashOnlyFixture.registered() }

    /// Words that users mistyped for commands.
    @Test(arguments: [["check"], ["send-all"], ["list2"], ["lst"], ["--json", "check"]])
    func aWordIsParsedAsACommand(words: [String]) async throws {
        var runner = fixture.runner
        // Files with these names change nothing.
        let directory = runner.home.file("here")
        try makeDirectory(directory)
        for word in words { try Data([0xFF, 0xD8, 0xFF]).write(to: URL(fileURLWithPath: directory + "/" + word)) }
        runner.environment["PWD"] = directory
        let result = try await runner.run(
            ["hash-only"] + words + [fixture.photo, "--no-depth"],
            through: ["/usr/bin/env", "-C", directory]
        )
        #expect(
            result.exitCode == 2 && (result.output + result.errors).contains("nothing was sent"),
            "\(result.errors)"
        )
        #expect(result.errors.contains("unknown command") || result.output.contains("unknown command"))
        #expect(try await fixture.bodies().isEmpty)

        guard words == ["check"] else { return }
        let named = try await runner.run(
            ["hash-only", "./check", "--no-depth"],
            through: ["/usr/bin/env", "-C", directory]
        )
        #expect(named.exitCode == 0, "\(named.errors)")
        #expect(try await fixture.bodies().count == 1)
    }

    @Test(arguments: ["missing.jpg", "", "pipe.jpg"])
    func everyArgumentIsCheckedAsAFileBeforeAnythingIsSent(name: String) async throws {
        let path = fixture.runner.home.file(name)
        if name == "pipe.jpg" { try #require(mkfifo(path, 0o600) == 0) }
        let result = try await fixture.run([fixture.photo, path, "--no-depth"])
        #expect(result.exitCode != 0 && result.errors.contains("nothing was sent"), "\(result.errors)")
        #expect(try await fixture.bodies().isEmpty)
        #expect(try await fixture.json(["list"]).items.isEmpty)
    }

    @Test func aPhotoWithoutAChoiceIsNotSent() async throws {
        let other = try fixture.file("other.jpg", "\u{ff}another")
        for command in [
            [fixture.photo], ["send", fixture.photo], ["send", fixture.photo, other, "--media-type", "photo"],
        ] {
            let result = try await fixture.json(command)
            #expect(result.result.exitCode == 2 && result.error["code"] as? String == "depth_required")
        }
        let digest = "sha256:" + String(repeating: "ab", count: 32)
        #expect(try await fixture.run(["send", "--digest", digest, "--media-type", "photo"]).exitCode == 2)
        #expect(try await fixture.bodies().isEmpty)
        #expect(try await fixture.json(["list"]).items.isEmpty)

        let dry = try await fixture.run([fixture.photo, "--dry-run"])
        #expect(dry.exitCode == 0 && dry.errors.contains("--no-depth"), "\(dry.errors)")
    }

    // Nothing is sent before the prompt is confirmed, and the default is no.
    @Test(arguments: [("yes\n", 0, 1), ("no\n", 2, 0), ("\n", 2, 0)] as [(String, Int32, Int)])
    func aTerminalPromptsAboutDepth(response: String, exitCode: Int32, submissions: Int) async throws {
        let child = try fixture.runner.start(["hash-only", fixture.photo], streams: .terminal(columns: 200))
        try await child.wait(for: "Submit 1 capture without a depth map? [y/N] ")
        #expect(try await fixture.bodies().isEmpty)
        child.write(response)
        let result = try await child.finish()
        #expect(result.exitCode == exitCode, "\(result.output)")
        #expect(try await fixture.bodies().count == submissions)
    }

    @Test func aVideoNeedsNoChoice() async throws {
        let chain = String(repeating: "ab", count: 32) + ":2"
        let result = try await fixture.run([
            "send", "--digest", "sha256:" + String(repeating: "cd", count: 32), "--hash-chain", chain, "--frame-count",
            "2",
            "--duration-ms", "80",
        ])
        #expect(result.exitCode == 0, "\(result.errors)")
        #expect(result.errors.contains("--keyframe-depth FILE for a video, or --no-depth"), "\(result.errors)")
        #expect(try await fixture.bodies().count == 1)
    }

    @Test func optionsThatWereNotSentAreReported() async throws {
        #expect(try await fixture.send("--captured-at", "2026-05-01T18:30:00Z").result.exitCode == 0)
        let same = try await fixture.send("--captured-at", "2026-05-01T18:30:00Z")
        #expect((same.items.first?["notices"] as? [Any])?.isEmpty == true)

        let dry = try await fixture.run(["send", fixture.photo, "--no-depth", "--dry-run"])
        #expect(dry.exitCode == 0 && dry.errors.contains("would not be submitted: the same media"), "\(dry.errors)")
        #expect(!dry.errors.contains("would be submitted"))
        let media = try await fixture.run(["send", fixture.photo, "--send-media"] + fixture.depthOptions)
        #expect(media.exitCode == 10 && !media.errors.contains("is uploaded to"), "\(media.errors)")

        let other = try await fixture.run(["send", fixture.photo, "--no-depth", "--device-model", "Leica Q2"])
        #expect(other.exitCode == 0 && other.output.contains("already on the server"))
        #expect(other.errors.contains("not sent in this run: device model\n"), "\(other.errors)")
        #expect(other.errors.contains("disclosed then: depth, time\n"), "\(other.errors)")
        let json = try await fixture.json(["send", fixture.photo, "--no-depth", "--device-model", "Leica Q2"])
        let notices = try #require(json.items.first?["notices"] as? [[String: Any]])
        #expect(notices.compactMap { $0["code"] as? String } == ["options_not_sent", "disclosed_earlier"])
        #expect(try await fixture.bodies().count == 1)
    }
}
