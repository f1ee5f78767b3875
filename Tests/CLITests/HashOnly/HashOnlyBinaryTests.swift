import Foundation
import TestSupport
import Testing

/// `hash-only` of the built program, against the sandbox.
@Suite(.prompt) struct HashOnlyBinaryTests {
    // MARK: A complete capture

    @Test func captureIsSubmittedVerifiedAndExported() async throws {
        let fixture = try await HashOnlyFixture()
        let registration = try await fixture.json(["register"])
        #expect(registration.result.exitCode == 0, "\(registration.result.errors)")
        #expect(registration.last["level"] as? String == "software" && registration.last["key"] as? String == "new")
        #expect(!registration.result.errors.contains("verified"))

        let sent = try await fixture.send()
        #expect(sent.result.exitCode == 0, "\(sent.result.errors)")
        let item = try #require(sent.items.first)
        let id = try #require(item["capture_id"] as? String)
        #expect(item["state"] as? String == "accepted" && item["level"] as? String == "software")
        #expect(item["counter"] as? Int == 2 && item["known"] as? Bool == false)
        // The depth map of these tests is too small for a real scene.
        let notices = item["notices"] as? [[String: Any]] ?? []
        #expect(notices.contains { $0["code"] as? String == "scene_not_real" }, "\(notices)")
        let body = try #require(try await fixture.bodies().first)
        #expect(item["payload_bytes"] as? Int == body.count)

        let again = try await fixture.send()
        #expect(again.result.exitCode == 0 && again.items.first?["known"] as? Bool == true)
        #expect(try await fixture.bodies().count == 1)

        let list = try await fixture.json(["list"])
        #expect(list.items.map { $0["capture_id"] as? String } == [id])
        #expect(try await fixture.json(["list", "--open"]).items.isEmpty)
        let shown = try await fixture.json(["show", String(id.prefix(8)), "--show-body"])
        #expect(shown.items.first?["signed"] as? Bool == true)
        // The numbers match the ones that were sent.
        let members = try #require(try JSONSerialization.jsonObject(with: body) as? [String: Any])
        #expect((shown.items.first?["body"] as? NSDictionary)?.isEqual(to: members) == true)
        let analyses = try [shown.items.first?["analysis"], members["depth_analysis"]].map {
            try JSONSerialization.data(withJSONObject: try #require($0), options: .sortedKeys)
        }
        #expect(analyses[0] == analyses[1], "\(shown.items)")

        let verified = try await fixture.json(["verify", fixture.photo])
        #expect(verified.result.exitCode == 0, "\(verified.result.output)")
        #expect(verified.count("passed") == 6 && verified.last["server_capture_id"] is String)
        let offline = try await fixture.json(
            ["verify", fixture.photo, "--offline"],
            extra: ["MEDIACTL_CAPTURE_URL": ""]
        )
        #expect(offline.result.exitCode == 0 && offline.count("passed") == 5 && offline.count("skipped") == 1)
        #expect(try await fixture.run(["verify", fixture.depth, "--offline"]).exitCode == 5)

        let copy = fixture.runner.home.file("copy.jpg")
        let map = fixture.runner.home.file("copy.f32")
        let export = try await fixture.json(["export", id, "--output", copy, "--depth-to", map])
        #expect(export.result.exitCode == 0, "\(export.result.errors)")
        #expect(
            try Data(contentsOf: URL(fileURLWithPath: copy)) == Data(contentsOf: URL(fileURLWithPath: fixture.photo))
        )
        #expect(
            try Data(contentsOf: URL(fileURLWithPath: map)) == Data(contentsOf: URL(fileURLWithPath: fixture.depth))
        )
        #expect(try await fixture.run(["export", id, "--output", copy]).exitCode == 10)
        let incomplete = try await fixture.run(["export", id, "--depth-to", map])
        #expect(incomplete.exitCode == 2 && incomplete.errors.contains("--depth-to requires --output"))
    }

    // Others receive the bundle, so a program other than this one verifies it.
    @Test func bundleIsVerifiedByOpenSSL() async throws {
        let fixture = try await HashOnlyFixture.registered()
        let id = try #require(try await fixture.send().items.first?["capture_id"] as? String)
        let path = fixture.runner.home.file("bundle.json")
        #expect(try await fixture.run(["export", id, "--bundle", path]).exitCode == 0)
        let data = try Data(contentsOf: URL(fileURLWithPath: path))
        let bundle = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        let schema = try JSONSchema(contentsOf: Repository.path("docs/schemas/hash-only-bundle-1.json"))
        try schema.validate(bundle)
        func bytes(_ name: String) throws -> Data {
            try #require((bundle[name] as? String).flatMap { Data(base64Encoded: $0) }, "\(name)")
        }
        #expect(try bytes("body") == (try await fixture.bodies().first))

        let home = fixture.runner.home
        try (bundle["public_key"] as? String)?.write(toFile: home.file("key.pem"), atomically: true, encoding: .utf8)
        try bytes("signature").write(to: URL(fileURLWithPath: home.file("signature.der")))
        try bytes("signed_bytes").write(to: URL(fileURLWithPath: home.file("signed.json")))
        try bytes("authenticator_data").write(to: URL(fileURLWithPath: home.file("head")))
        let check = """
            cd '\(home.path)' && { cat head; openssl dgst -sha256 -binary signed.json; } > message.bin \
            && openssl dgst -sha256 -verify key.pem -signature signature.der message.bin
            """
        let result = try await ChildProcess.run("/bin/sh", ["-c", check], environment: ["PATH": "/usr/bin:/bin"])
        #expect(result.exitCode == 0 && result.output == "Verified OK\n", "\(result.errors)")
    }

    // MARK: Dry run

    @Test func dryRunPrintsTheExactBody() async throws {
        let fixture = try await HashOnlyFixture()
        let options = [
            "--location", "52.5163,13.3777", "--captured-at", "2026-05-01T18:30:00Z", "--device-model", "Leica Q2",
        ]
        let dry = try await fixture.run(["send", fixture.photo] + fixture.depthOptions + options + ["--dry-run"])
        #expect(dry.exitCode == 0, "\(dry.errors)")
        #expect(!FileManager.default.fileExists(atPath: fixture.runner.home.file("data")))
        #expect(dry.errors.contains("disclosed data:") && dry.errors.contains("captured_at 2026-05-01T18:30:00Z"))
        #expect(dry.errors.contains("Berlin") && !dry.errors.contains("52.51"))
        #expect(!dry.errors.contains("--captured-at sets it"))
        #expect(try await fixture.sandbox.requests().isEmpty)

        _ = try await fixture.run(["register"])
        let sent = try await fixture.json(["send", fixture.photo] + fixture.depthOptions + options)
        #expect(sent.result.exitCode == 0, "\(sent.result.errors)")
        let bytes = try #require(try await fixture.bodies().first)
        let body = String(decoding: bytes, as: UTF8.self)
        #expect(Self.withoutAssertion(body + "\n") == Self.withoutAssertion(dry.output))
        #expect(body.utf8.count + 1 == dry.output.utf8.count)
    }

    private static func withoutAssertion(_ body: String) -> String {
        body.replacing(/"assertion":"[A-Za-z0-9+\/=]*"/, with: "")
    }

    /// Trap 15. The settings and the option accept the same names.
    @Test(arguments: ["day-only", "day_only"]) func dryRunShowsThatCoordinatesBecomePublic(_ day: String) async throws {
        let fixture = try await HashOnlyFixture()
        let levels = ["--location-level", "precise", "--timestamp-level", day]
        let place = ["--location", "52.5163,13.3777"]
        let dry = try await fixture.run(["send", fixture.photo, "--no-depth", "--dry-run"] + place + levels)
        #expect(dry.exitCode == 0, "\(dry.errors)")
        #expect(dry.errors.contains("52.5163,13.3777, which the server publishes with 4 decimals"))
        #expect(dry.errors.contains("only the day is disclosed"))
    }

    @Test func dryRunHasTheBodyAsAnObject() async throws {
        let fixture = try await HashOnlyFixture()
        let dry = try await fixture.send("--dry-run", "--location-level", "none")
        let item = try #require(dry.items.first)
        #expect(dry.result.exitCode == 0 && item["state"] as? String == "planned")
        #expect(dry.result.errors.contains("the time of submission is used; --captured-at sets it"))
        let body = try #require(item["body"] as? [String: Any])
        #expect(body["capture_mode"] as? String == "hash_only")
        #expect(body["media_hash"] as? String == item["media_hash"] as? String)
        #expect((body["metadata_flags"] as? [String: Any])?["location_level"] as? String == "none")
        #expect(item["payload_bytes"] as? Int ?? 0 < 10_240 && item["analysis_ms"] is Int)
    }

    // Trap 25.
    @Test func textOutputOmitsHashesAndPlaces() async throws {
        let fixture = try await HashOnlyFixture.registered()
        let result = try await fixture.run(
            ["send", fixture.photo, "--no-depth", "--location", "52.5163,13.3777", "--location-level", "precise"]
        )
        #expect(result.exitCode == 0, "\(result.errors)")
        let sent = try #require(try await fixture.bodies().first)
        let body = try #require(try JSONSerialization.jsonObject(with: sent) as? [String: Any])
        let assertion = try #require(body["assertion"] as? String)
        let hash = try #require(body["media_hash"] as? String)
        for text in [result.output, result.errors] {
            #expect(!text.contains(assertion) && !text.contains(hash) && !text.contains("52.5"))
        }
        #expect(result.output.hasPrefix("accepted ") && result.output.contains("software key"))
    }

    // MARK: Privacy

    @Test(arguments: ["", "{", #"{"privacyModeEnabled":"yes"}"#])
    func unreadableSettingsSendNothing(text: String) async throws {
        let fixture = try await HashOnlyFixture.registered()
        try fixture.privacy(text)
        let result = try await fixture.send()
        #expect(result.result.exitCode == 2 && result.error["code"] as? String == "settings_unusable")
        #expect(try await fixture.bodies().isEmpty)
        #expect(try await fixture.run(["settings", "set", "privacy-mode", "off"]).exitCode == 2)
    }

    @Test func settingsDecideWhatIsDisclosed() async throws {
        let fixture = try await HashOnlyFixture()
        #expect(try await fixture.json(["settings"]).last["location"] as? String == "coarse")
        let dry = try await fixture.json(["settings", "set", "location", "none", "--dry-run"])
        #expect(dry.last["location"] as? String == "none" && dry.last["changed"] as? Bool == false)
        for (key, value) in [
            ("location", "none"), ("timestamp", "day-only"), ("device", "none"), ("privacy-mode", "on"),
        ] {
            #expect(try await fixture.run(["settings", "set", key, value]).exitCode == 0)
        }
        let kept = try await fixture.json(["settings", "show"]).last
        #expect(kept["timestamp"] as? String == "day_only" && kept["privacy_mode"] as? Bool == true)
        #expect(try await fixture.run(["settings", "set", "location", "far"]).exitCode == 2)
        let body = try #require(
            try await fixture.send("--dry-run", "--captured-at", "2026-05-01T18:30:00Z", "--device-model", "X")
                .items.first?["body"] as? [String: Any]
        )
        #expect(body["captured_at"] as? String == "2026-05-01T00:00:00Z")
        #expect(body["metadata"] as? [String: String] == ["timestamp": "2026-05-01"])
    }

    @Test func mediaIsSentOnlyWhenRequestedAndAllowed() async throws {
        let fixture = try await HashOnlyFixture.registered()
        try fixture.privacy(
            #"{"privacyModeEnabled":true,"locationLevel":"none","timestampLevel":"none","deviceInfoLevel":"none"}"#
        )
        let refused = try await fixture.send("--send-media")
        #expect(refused.result.exitCode == 2 && refused.error["code"] as? String == "privacy_mode_on")
        #expect(try await fixture.bodies(at: "/api/v1/captures").isEmpty)
        _ = try await fixture.run(["settings", "set", "privacy-mode", "off"])
        let sent = try await fixture.send("--send-media", "--device-model", "Leica Q2", "--device-level", "model-only")
        #expect(sent.result.exitCode == 0, "\(sent.result.errors)")
        #expect(sent.result.errors.contains("itself is uploaded to"))
        #expect(sent.items.first?["mode"] as? String == "full")
        let id = try #require(sent.items.first?["capture_id"] as? String)
        let bundle = fixture.runner.home.file("evidence")
        let exported = try await fixture.run(["export", id, "--bundle", bundle + "/"])
        #expect(exported.exitCode == 2 && !FileManager.default.fileExists(atPath: bundle), "\(exported)")
        #expect(exported.errors.contains("capture \(id.prefix(8)) is an upload of the media itself"), "\(exported)")
    }

    @Test func anUploadOfMediaIsRepeatedOnlyByAnotherOne() async throws {
        let fixture = try await HashOnlyFixture.registered(faults: ["capture-full:status=503,times=1"])
        let command = "mediactl hash-only send \(fixture.photo) --depth FILE --send-media"
        let failed = try await fixture.run(["send", fixture.photo] + fixture.depthOptions + ["--send-media"])
        #expect(failed.exitCode == 7 && failed.output.contains("send again with: \(command)\n"), "\(failed.output)")
        #expect(failed.errors.contains("retry later with \(command)") && !failed.errors.contains("hash-only retry"))
        let all = try await fixture.run(["retry", "--all"])
        #expect(all.exitCode == 0 && all.errors.contains("to send it again: \(command)\n"), "\(all.errors)")
        // If another server is configured, the command specifies the one that the capture is for.
        let configured = ["MEDIACTL_CAPTURE_URL": "http://127.0.0.1:1", "MEDIACTL_CAPTURE_PROFILE": "reference"]
        let elsewhere = try await fixture.run(["retry", "--all"], extra: configured)
        let toOwn = "mediactl --server \(fixture.sandbox.baseURL) hash-only send --capture-profile mediactl-1 "
        #expect(elsewhere.errors.contains("to send it again: \(toOwn)\(fixture.photo) --depth FILE"), "\(elsewhere)")
        let id = try #require(try await fixture.json(["list"]).items.first?["capture_id"] as? String)
        for option in [[], ["--as-hash-only"]] {
            let one = try await fixture.run(["retry", id] + option)
            #expect(one.exitCode == 2 && one.errors.contains("it is an upload of the media itself\n"), "\(one.errors)")
            #expect(one.errors.contains("to send it again: \(command)\n"), "\(one.errors)")
        }
        #expect(try await fixture.send("--send-media").result.exitCode == 0)
        let rest = try await fixture.run(["retry", "--all"])
        #expect(rest.exitCode == 0 && rest.errors.hasSuffix("note: no unfinished captures\n"), "\(rest.errors)")
        #expect(!rest.errors.contains("skipped"))
    }

    @Test func coarseCoordinatesAreRefusedWhereTheyHaveNoEffect() async throws {
        let fixture = try await HashOnlyFixture.registered()
        for option in [[], ["--dry-run"]] {
            let result = try await fixture.run(
                ["send", fixture.photo] + fixture.depthOptions + ["--coarse-coordinates"] + option
            )
            #expect(result.exitCode == 2 && result.errors.contains("profile reference"), "\(result)")
        }
        #expect(try await fixture.bodies().isEmpty)
    }

    @Test func mediaOfAnAcceptedHashIsRefusedWithTheReason() async throws {
        let fixture = try await HashOnlyFixture.registered()
        let id = try #require(try await fixture.send().items.first?["capture_id"] as? String)
        let result = try await fixture.run(["send", fixture.photo] + fixture.depthOptions + ["--send-media"])
        #expect(result.exitCode == 10 && !result.errors.contains("another device"), "\(result.errors)")
        #expect(result.errors.contains("already has this media: only its hash, as capture \(id.prefix(8))\n"))
    }

    // MARK: Results

    @Test func nothingIsSentByAMachineThatIsNotRegistered() async throws {
        let fixture = try await HashOnlyFixture()
        let result = try await fixture.send()
        #expect(result.result.exitCode == 4 && result.states == ["failed"])
        #expect((result.items.first?["error"] as? [String: Any])?["code"] as? String == "not_registered")
        #expect(try await fixture.sandbox.requests().isEmpty)
    }

    @Test func nothingIsSentUnencrypted() async throws {
        let fixture = try await HashOnlyFixture.registered()
        let elsewhere = ["MEDIACTL_CAPTURE_URL": "http://captures.invalid"]
        for command in [["register"], ["send", fixture.photo, "--no-depth"]] {
            let result = try await fixture.run(command, extra: elsewhere)
            #expect(result.exitCode == 2 && result.errors.contains("unencrypted"), "\(result.errors)")
        }
        #expect(
            try await fixture.run(["send", fixture.photo, "--no-depth", "--dry-run"], extra: elsewhere).exitCode == 0
        )
    }

    @Test func unsentCapturesAreSentLater() async throws {
        let fixture = try await HashOnlyFixture.registered(faults: ["capture:status=503"])
        let failed = try await fixture.send()
        #expect(failed.result.exitCode == 7 && failed.states == ["queued"], "\(failed.result.output)")
        #expect(try await fixture.json(["list", "--open"]).items.count == 1)
        try await fixture.sandbox.clearFaults()
        let elsewhere = try await fixture.json(["retry", "--all", "--server", "https://elsewhere.example"])
        #expect(elsewhere.count("items") == 0)
        let planned = try await fixture.json(["retry", "--all", "-n"])
        #expect(planned.result.exitCode == 0 && planned.states == ["planned"], "\(planned.result.output)")
        let retried = try await fixture.json(["resume", "--all"])
        #expect(retried.result.exitCode == 0 && retried.states == ["accepted"], "\(retried.result.output)")
        #expect(try await fixture.json(["retry", "--all"]).count("items") == 0)
    }

    @Test func aCaptureThatAnotherOneReplacedIsReportedAsThatOne() async throws {
        let fixture = try await HashOnlyFixture.registered()
        let keys = fixture.runner.home.file("data/mediactl/capture-keys")
        try FileManager.default.moveItem(atPath: keys, toPath: keys + "-away")
        let unsigned = try #require(try await fixture.send().items.first?["capture_id"] as? String)
        try FileManager.default.moveItem(atPath: keys + "-away", toPath: keys)
        let shown = try await fixture.run(["show", unsigned])
        #expect(shown.output.contains(" B, not signed\n"), "\(shown.output)")
        let sent = try await fixture.send("--device-model", "Leica Q2")
        let accepted = try #require(sent.items.first?["capture_id"] as? String)
        #expect(sent.states == ["accepted"] && accepted != unsigned)

        #expect(try await fixture.json(["retry", "--all"]).count("items") == 0)
        let retried = try await fixture.json(["retry", unsigned])
        #expect(retried.result.exitCode == 0 && retried.items.first?["capture_id"] as? String == accepted)
        #expect(retried.result.errors.contains("disclosed then: device model"), "\(retried.result.errors)")
        let file = fixture.runner.home.file("bundle.json")
        let exported = try await fixture.run(["export", unsigned, "--bundle", file])
        #expect(exported.exitCode == 10, "\(exported.errors)")
        #expect(exported.errors.contains("hash-only export \(accepted.prefix(8)) --bundle"), "\(exported.errors)")
        #expect(!FileManager.default.fileExists(atPath: file))
    }

    /// The reported capture is not the older one, although that one is first in the list.
    @Test func retryReportsTheCaptureThatTheServerHas() async throws {
        let fixture = try await HashOnlyFixture.registered(faults: ["capture:status=503,times=1"])
        #expect(try await fixture.send().states == ["queued"])
        try await fixture.sandbox.addFaults("capture:drop-response,times=1", "capture-read:status=503")
        let lost = try await fixture.send("--device-model", "Leica Q2")
        let sent = try #require(lost.items.first?["capture_id"] as? String)
        #expect(lost.states == ["unknown_outcome"], "\(lost.result.output)")
        try await fixture.sandbox.clearFaults()
        let retried = try await fixture.json(["retry", "--all"])
        #expect(retried.result.exitCode == 0 && retried.states == ["accepted", "accepted"], "\(retried.result.output)")
        #expect(retried.items.compactMap { $0["capture_id"] as? String } == [sent, sent])
    }

    /// Only a capture that the server may have is public.
    @Test func noticesAboutPublicationRequireASubmission() async throws {
        let fixture = try await HashOnlyFixture.registered(faults: ["capture:status=503"])
        let place = ["--location", "52.5163,13.3777", "--location-level", "precise"]
        func codes(_ report: SyncFixture.Report) -> [String] {
            (report.items.first?["notices"] as? [[String: Any]] ?? []).compactMap { $0["code"] as? String }
        }
        let failed = try await fixture.json(["send", fixture.photo] + fixture.depthOptions + place)
        #expect(failed.states == ["queued"])
        #expect(!codes(failed).contains { $0.hasSuffix("_public") } && codes(failed).contains("scene_not_real"))
        #expect(!failed.result.errors.contains("is public"), "\(failed.result.errors)")
        try await fixture.sandbox.clearFaults()
        let sent = try await fixture.json(["send", fixture.photo] + fixture.depthOptions + place)
        #expect(sent.states == ["accepted"])
        #expect(codes(sent).contains("captured_at_is_public") && codes(sent).contains("coordinates_are_public"))
    }

    /// A time cannot be corrected once it is on the server.
    @Test func anUnknownTimeIsReportedBeforeSending() async throws {
        let fixture = try await HashOnlyFixture.registered(faults: ["capture:stall,after=body"])
        let child = try fixture.runner.start(["hash-only", "send", fixture.photo, "--no-depth"])
        try await child.wait(for: "the capture time is unknown")
        let result = try await abandoned(child, fixture)
        #expect(result.errors.split(separator: "the capture time is unknown").count == 2, "\(result.errors)")
    }

    @Test func theServerThatHasTheCaptureIsQueried() async throws {
        let fixture = try await HashOnlyFixture.registered()
        #expect(try await fixture.send().result.exitCode == 0)
        // No server listens there, and the profile would be a different one.
        let elsewhere = ["MEDIACTL_CAPTURE_URL": "http://127.0.0.1:1"]
        let verified = try await fixture.json(
            ["verify", fixture.photo, "--capture-profile", "reference"],
            extra: elsewhere
        )
        #expect(verified.result.exitCode == 0 && verified.count("passed") == 6, "\(verified.result.output)")
        // An explicit --server is a filter.
        let own = try await fixture.json(["verify", fixture.photo, "--server", fixture.sandbox.baseURL])
        #expect(own.result.exitCode == 0 && own.count("passed") == 6, "\(own.result.output)")
        let other = try await fixture.json(["verify", fixture.photo, "--server", "http://127.0.0.1:1"])
        #expect(other.result.exitCode == 5 && other.items.isEmpty, "\(other.result.output)")
        #expect((other.error["message"] as? String)?.contains(fixture.sandbox.baseURL) == true, "\(other.error)")
    }

    @Test func exportsAreCompleteOrNotStarted() async throws {
        let fixture = try await HashOnlyFixture.registered()
        let id = try #require(try await fixture.send().items.first?["capture_id"] as? String)
        let (media, bundle) = (fixture.runner.home.file("again.jpg"), try fixture.file("bundle.json", "mine"))
        let refused = try await fixture.json(["export", id, "--output", media, "--bundle", bundle])
        #expect(refused.result.exitCode == 10 && refused.error["code"] as? String == "target_exists")
        #expect(!FileManager.default.fileExists(atPath: media))
        #expect(try String(contentsOfFile: bundle, encoding: .utf8) == "mine")
    }

    @Test func severalFilesHaveSeparateResults() async throws {
        let fixture = try await HashOnlyFixture.registered()
        let other = try fixture.file("other.jpg", "\u{ff}another")
        let missing = fixture.runner.home.file("missing.jpg")
        let report = try await fixture.json(
            ["send", fixture.photo, missing, other, "--no-depth", "--media-type", "photo"]
        )
        #expect(report.result.exitCode == 3 && report.states == ["accepted", "accepted", "failed"])
        #expect(report.count("accepted") == 2 && report.count("failed") == 1)
        #expect(report.result.errors.contains("cannot read \"\(missing)\": no such file"))
    }

    @Test func mistypedCommandsAreNotFiles() async throws {
        let fixture = try await HashOnlyFixture.registered()
        let result = try await fixture.run(["lst"])
        #expect(result.exitCode == 2 && result.errors.contains("did you mean: mediactl hash-only list"))
        #expect(try await !fixture.run(["lst.jpg"]).errors.contains("did you mean"))
    }

    @Test func interruptedRequestsAreAwaited() async throws {
        let fixture = try await HashOnlyFixture.registered(faults: ["capture:stall,after=body"])
        let child = try fixture.runner.start(
            ["hash-only", "send", fixture.photo, "--no-depth", "--json", "--answer-timeout", "30"]
        )
        let result = try await abandoned(child, fixture)
        #expect(result.exitCode == 130)
        #expect(try await fixture.json(["list", "--open"]).items.count == 1)
    }

    /// Interrupts a command while the server processes its capture, and again while it waits for the response.
    private func abandoned(_ child: ChildProcess, _ fixture: HashOnlyFixture) async throws -> ChildResult {
        try await fixture.sandbox.waitForRequests { $0.contains { $0.path.hasSuffix("/hash-only") } }
        child.signal(SIGINT)
        try await child.wait(for: "waiting for the server's response")
        try await child.repeatSignal(SIGINT)
        return try await child.finish(deadline: .seconds(20))
    }

    // MARK: Registration

    @Test func referenceServersAreSentNoFalseClaims() async throws {
        let fixture = try await HashOnlyFixture(arguments: ["--capture-profile", "reference"])
        let refused = try await fixture.json(["register", "--capture-profile", "reference"])
        #expect(refused.result.exitCode == 2 && refused.error["code"] as? String == "enrolment_impossible")
        #expect(try await fixture.sandbox.requests().isEmpty)
        let bare = try await fixture.json(["send", fixture.photo, "--capture-profile", "reference", "--dry-run"])
        #expect(bare.result.exitCode == 0, "a dry run does not require a choice about depth")
        let notices = bare.items.first?["notices"] as? [[String: Any]] ?? []
        #expect(notices.contains { $0["code"] as? String == "recorded_as_suspicious" })
        let sent = try await fixture.json(["send", fixture.photo, "--capture-profile", "reference"])
        #expect(sent.result.exitCode == 2 && sent.error["code"] as? String == "depth_required")
    }

    @Test func registrationHasADryRun() async throws {
        let fixture = try await HashOnlyFixture()
        let dry = try await fixture.json(["register", "--dry-run", "--model", "Studio"])
        #expect(dry.result.exitCode == 0 && dry.last["device_id"] is NSNull && dry.last["model"] as? String == "Studio")
        #expect(try await fixture.sandbox.requests().isEmpty)
        #expect(!FileManager.default.fileExists(atPath: fixture.runner.home.file("data")))
        let registered = try await fixture.run(["register"])
        #expect(registered.exitCode == 0)
        #expect(registered.errors.contains("mediactl hash-only FILE --depth FILE --dry-run"), "\(registered.errors)")
        #expect(try await fixture.run(["register"]).exitCode == 10)
        #expect(try await fixture.run(["register", "--dry-run"]).exitCode == 10)
        #expect(try await fixture.run(["register", "--replace"]).exitCode == 0)
    }

    @Test func signingProgramsSign() async throws {
        let fixture = try await HashOnlyFixture()
        let (script, key) = try await fixture.signer()
        let result = try await fixture.json(["register", "--signer-command", script, "--public-key", key])
        #expect(result.result.exitCode == 0, "\(result.result.errors)")
        #expect(result.last["key"] as? String == "command" && result.last["level"] as? String == "software")
        #expect(try await fixture.send().result.exitCode == 0)
    }
}
