import Foundation
import TestSupport
import Testing

/// Keys that are not files: keys in a TPM, attested or not, and keys of an external program.
@Suite(.prompt) struct HashOnlyKeyTests {
    private static let key = "0x81000001"
    private static let untouched = ["0x81010001", "0x81010016"]

    /// The handles of the keys stored in a TPM.
    private func handles(_ tpm: SoftwareTPM) async throws -> [String] {
        try await tpm.run("tpm2_getcap", ["handles-persistent"]).output.split(separator: "\n")
            .map { $0.dropFirst(2).lowercased() }
    }

    /// A TPM whose manufacturer the server trusts, and a machine with it.
    private func trusted(withKey: Bool = false) async throws -> (tpm: SoftwareTPM, fixture: HashOnlyFixture) {
        let maker = try TPMMaker()
        let tpm = try await SoftwareTPM.start(madeBy: maker)
        if withKey { try await tpm.makeKey(at: Self.key) }
        return (tpm, try await fixture(tpm, ["--capture-tpm-ca", maker.issuer]))
    }

    private func fixture(_ tpm: SoftwareTPM, _ arguments: [String] = []) async throws -> HashOnlyFixture {
        var fixture = try await HashOnlyFixture(arguments: arguments)
        // mediactl passes this variable to the TPM tools as well.
        fixture.runner.environment["TPM2OPENSSL_TCTI"] = tpm.connection
        return fixture
    }

    // MARK: TPM

    @Test func aKeyIsCreatedInTheTPMAndAttested() async throws {
        let maker = try TPMMaker()
        let tpm = try await SoftwareTPM.start(madeBy: maker)
        let fixture = try await fixture(tpm, ["--capture-tpm-ca", maker.root, "--capture-strict"])
        // The server trusts the root, and the TPM does not store the intermediate certificate.
        let refused = try await fixture.json(["register", "--tpm"])
        #expect(refused.result.exitCode == 2 && refused.error["code"] as? String == "enrolment_impossible")
        #expect(try await handles(tpm) == Self.untouched, "no key is left in the TPM")
        let command = ["register", "--tpm", "--ek-certificate", maker.issuer]
        let planned = try await fixture.json(command + ["--dry-run"])
        #expect(planned.result.exitCode == 0 && planned.last["level"] as? String == "tpm2", "\(planned.result.errors)")
        let registered = try await fixture.json(command)
        #expect(registered.result.exitCode == 0, "\(registered.result.errors)")
        #expect(registered.last["level"] as? String == "tpm2" && registered.last["key"] as? String == "tpm")
        #expect(registered.last["upgraded"] as? Bool == false)
        #expect(try await handles(tpm) == Self.untouched + ["0x81020000"])
        // A strict server accepts nothing below tpm2.
        let sent = try await fixture.send()
        #expect(sent.result.exitCode == 0 && sent.items.first?["level"] as? String == "tpm2", "\(sent.result.errors)")
        #expect(try await fixture.run(command).exitCode == 10)
        let again = try await fixture.json(command + ["--replace"])
        #expect(again.result.exitCode == 0 && again.last["level"] as? String == "tpm2", "\(again.result.errors)")
        #expect(again.last["public_key"] as? String != registered.last["public_key"] as? String)
        // The earlier key was removed; while both existed, the new one got the next handle.
        #expect(try await handles(tpm) == Self.untouched + ["0x81020001"])
        // The temporary files of the tools were removed.
        let keys = fixture.runner.home.file("data/mediactl") + "/capture-keys"
        #expect(try FileManager.default.contentsOfDirectory(atPath: keys).isEmpty)
    }

    @Test func aTPMKeyRegisteredAsSoftwareIsUpgraded() async throws {
        let (tpm, fixture) = try await trusted(withKey: true)
        let software = try await fixture.json(["register", "--key-uri", "handle:" + Self.key, "--key-provider", "tpm2"])
        #expect(software.last["level"] as? String == "software")
        #expect(software.result.errors.contains("the key is not proven to be in a TPM"))
        #expect(try await fixture.send().items.first?["level"] as? String == "software")
        let upgraded = try await fixture.json(["register", "--tpm"])
        #expect(upgraded.result.exitCode == 0, "\(upgraded.result.errors)")
        #expect(upgraded.last["upgraded"] as? Bool == true && upgraded.last["level"] as? String == "tpm2")
        #expect(upgraded.last["device_id"] as? String == software.last["device_id"] as? String)
        #expect(try await handles(tpm) == [Self.key] + Self.untouched, "no other key is created")
        let other = try fixture.file("other.jpg", "another")
        let sent = try await fixture.json(["send", other, "--no-depth", "--media-type", "photo"])
        #expect(sent.items.first?["level"] as? String == "tpm2" && sent.items.first?["counter"] as? Int == 4)
    }

    @Test func aKeyInAFileIsNotUpgraded() async throws {
        let (tpm, fixture) = try await trusted()
        #expect(try await fixture.run(["register"]).exitCode == 0)
        let refused = try await fixture.run(["register", "--tpm"])
        #expect(refused.exitCode == 10 && refused.errors.contains("outside the TPM"), "\(refused.errors)")
        #expect(try await fixture.json(["register", "--tpm", "--replace"]).last["level"] as? String == "tpm2")
        #expect(try await handles(tpm) == Self.untouched + ["0x81020000"])
    }

    /// A key that the user created stays in the TPM, and so does one that is registered again.
    @Test func onlyUnusedKeysOfARegistrationAreRemoved() async throws {
        let (tpm, fixture) = try await trusted(withKey: true)
        let named = ["register", "--tpm", "--key-uri", "handle:" + Self.key]
        #expect(try await fixture.json(named).last["level"] as? String == "tpm2")
        #expect(try await fixture.json(["register", "--tpm", "--replace"]).last["level"] as? String == "tpm2")
        #expect(try await handles(tpm) == [Self.key] + Self.untouched + ["0x81020000"])
        // The same key is registered again: it no longer belongs to the earlier registration.
        let same = ["register", "--tpm", "--replace", "--key-uri", "handle:0x81020000"]
        #expect(try await fixture.json(same).last["level"] as? String == "tpm2")
        #expect(try await handles(tpm) == [Self.key] + Self.untouched + ["0x81020000"])
    }

    /// The tools create a key in one TPM, and the provider looks for it in a different one.
    @Test func aNewKeyThatCannotBeRegisteredIsRemoved() async throws {
        let maker = try TPMMaker()
        let (tpm, other) = (try await SoftwareTPM.start(madeBy: maker), try await SoftwareTPM.start())
        var fixture = try await fixture(other, ["--capture-tpm-ca", maker.issuer])
        fixture.runner.environment["TPM2TOOLS_TCTI"] = tpm.connection
        let refused = try await fixture.json(["register", "--tpm"])
        #expect(refused.result.exitCode == 2 && refused.error["code"] as? String == "key_unusable")
        #expect(try await handles(tpm) == Self.untouched)
        #expect(try await fixture.sandbox.captureDevices().isEmpty)
        let keys = fixture.runner.home.file("data/mediactl") + "/capture-keys"
        #expect(try FileManager.default.contentsOfDirectory(atPath: keys).isEmpty)
    }

    /// The tool that runs after the key was stored fails, as it does after an interruption.
    @Test func aStoredKeyIsRemovedWhenTheNextStepFails() async throws {
        let (tpm, fixture) = try await trusted()
        let tools = try TemporaryDirectory()
        let (evict, flush) = (tools.file("tpm2_evictcontrol"), tools.file("tpm2_flushcontext"))
        try Data(
            "#!/bin/sh\n/usr/bin/tpm2_evictcontrol \"$@\" && touch '\(tools.file("stored"))'\n".utf8
        ).write(to: URL(filePath: evict))
        try Data(
            "#!/bin/sh\n[ ! -e '\(tools.file("stored"))' ] && exec /usr/bin/tpm2_flushcontext \"$@\"\n".utf8
        ).write(to: URL(filePath: flush))
        for tool in [evict, flush] { try #require(chmod(tool, 0o700) == 0) }
        let refused = try await fixture.json(["register", "--tpm"], extra: ["PATH": tools.path + ":/usr/bin:/bin"])
        #expect(refused.result.exitCode == 2 && refused.error["code"] as? String == "tpm_unusable")
        #expect(FileManager.default.fileExists(atPath: tools.file("stored")))
        #expect(try await handles(tpm) == Self.untouched)
    }

    /// A certificate for a P-256 endorsement key; the TPM does not store the certificate.
    @Test func certificatesMayBeSpecified() async throws {
        let tpm = try await SoftwareTPM.start()
        try await tpm.makeKey(at: Self.key)
        let files = try TemporaryDirectory()
        _ = try await tpm.makeEvidence(ofKeyAt: Self.key, in: files.path)
        let fixture = try await fixture(tpm, ["--capture-tpm-ca", files.file("ca/swtpm-localca-rootca-cert.pem")])
        let bare = try await fixture.json(["register", "--tpm"])
        #expect(bare.result.exitCode == 2 && bare.error["code"] as? String == "tpm_unusable", "\(bare.result.errors)")
        let given = try await fixture.json([
            "register", "--tpm", "--key-uri", "handle:" + Self.key, "--ek-certificate", files.file("ek.der"),
            "--ek-certificate", files.file("ca/issuercert.pem"),
        ])
        #expect(given.result.exitCode == 0 && given.last["level"] as? String == "tpm2", "\(given.result.errors)")
        let wrong = try await fixture.run(["register", "--tpm", "--ek-certificate", fixture.photo])
        #expect(wrong.exitCode == 2 && wrong.errors.contains("is not a certificate"))
    }

    /// Software keys can produce all of this evidence, so a server must not assign it a higher level.
    @Test func aCertificationWithoutAttestationIsSoftware() async throws {
        let tpm = try await SoftwareTPM.start()
        try await tpm.makeKey(at: Self.key)
        let fixture = try await fixture(tpm)
        let evidence = fixture.runner.home.file("evidence")
        _ = try await tpm.makeEvidence(ofKeyAt: Self.key, in: evidence)
        for (old, new) in [
            ("key.tpm2b", "key.pub"), ("ak.tpm2b", "ak.pub"), ("certification", "certify.attest"),
            ("certification_signature", "certify.sig"), ("ek.der", "ek-0.der"),
        ] { try FileManager.default.copyItem(atPath: evidence + "/" + old, toPath: evidence + "/" + new) }
        let options = ["register", "--key-uri", "handle:" + Self.key, "--key-provider", "tpm2"]
        let planned = try await fixture.json(options + ["--tpm2-evidence", evidence, "--dry-run"])
        #expect(planned.last["level"] as? String == "software")
        let result = try await fixture.json(options + ["--tpm2-evidence", evidence])
        #expect(result.result.exitCode == 0 && result.last["level"] as? String == "software", "\(result.result.errors)")
        #expect(try await fixture.send().items.first?["level"] as? String == "software")
        // Evidence from a TPM proves nothing about a key in a file.
        for key in [["--key", fixture.photo], []] {
            let refused = try await fixture.run(["register", "--replace", "--tpm2-evidence", evidence] + key)
            #expect(refused.exitCode == 2 && refused.errors.contains("a key in a file is not in a TPM"))
        }
    }

    @Test func aMissingTPMIsReported() async throws {
        let tpm = try await SoftwareTPM.start()
        try await tpm.makeKey(at: Self.key)
        let fixture = try await fixture(tpm)
        #expect(
            try await fixture.run(["register", "--key-uri", "handle:" + Self.key, "--key-provider", "tpm2"]).exitCode
                == 0
        )
        tpm.stop()
        let register = try await fixture.json(["register", "--tpm", "--replace"])
        #expect(register.result.exitCode == 2 && register.error["code"] as? String == "tpm_unusable")
        let sent = try await fixture.send()
        let error = try #require(sent.items.first?["error"] as? [String: Any])
        #expect(error["code"] as? String == "key_unusable")
        let hint = try #require(error["hint"] as? String)
        #expect(hint.contains("in the TPM") && !hint.contains("PKCS#8"), "\(hint)")
        let tools = try await fixture.json(["register", "--tpm", "--replace"], extra: ["PATH": "/nowhere"])
        #expect(tools.error["code"] as? String == "tpm_unusable")
        #expect((tools.error["message"] as? String)?.contains("tpm2_getcap is not in PATH") == true)
    }

    // MARK: Programs

    /// A signal terminates the signing program: nothing was sent, so mediactl does not wait for it.
    @Test(arguments: [false, true])
    func ctrlCEndsTheSigningProgram(isRegistering: Bool) async throws {
        let fixture = try await HashOnlyFixture()
        let home = fixture.runner.home
        // The program signs until the file `hang` exists. The public key is in DER.
        let (script, key) = try await fixture.signer(form: "DER")
        let register = ["register", "--signer-command", script, "--public-key", key]
        if !isRegistering {
            let registered = try await fixture.json(register)
            #expect(registered.result.exitCode == 0, "\(registered.result.errors)")
        }
        _ = try fixture.file("hang", "")
        try #require(mkfifo(home.file("pid"), 0o600) == 0)
        // Opened in both directions so that neither side waits for the other.
        let pipe = try FileHandle(forUpdating: URL(filePath: home.file("pid")))
        let command = isRegistering ? register : ["send", fixture.photo, "--no-depth"]
        let child = try fixture.runner.start(["hash-only"] + command + ["--json"])
        // The program writes its ID when it hangs.
        var event = pollfd(fd: pipe.fileDescriptor, events: Int16(POLLIN), revents: 0)
        try #require(poll(&event, 1, 30_000) == 1, "\(child.result.errors)")
        let process = try #require(pid_t(String(decoding: pipe.availableData, as: UTF8.self).dropLast()))
        child.signal(SIGINT)
        let result = try await child.finish(deadline: .seconds(30))
        #expect(result.exitCode == 130, "\(result.errors)")
        #expect(kill(process, 0) == -1 && errno == ESRCH)
        let requests = try await fixture.sandbox.requests().map(\.path)
        #expect(!requests.contains { $0.hasSuffix("/hash-only") })
        #expect(requests.contains { $0.hasSuffix("/devices/register") } == !isRegistering)
    }

    @Test func aRelativeSignerCommandIsStoredAsAnAbsolutePath() async throws {
        let fixture = try await HashOnlyFixture()
        let home = fixture.runner.home.path
        let (_, key) = try await fixture.signer()
        var runner = fixture.runner
        runner.environment["PWD"] = home
        let registered = try await runner.run(
            ["hash-only", "register", "--signer-command", "./signer", "--public-key", key],
            through: ["/usr/bin/env", "-C", home]
        )
        #expect(registered.exitCode == 0, "\(registered.errors)")
        let sent = try await fixture.runner.run(
            ["hash-only", "send", fixture.photo, "--no-depth"],
            through: ["/usr/bin/env", "-C", "/"]
        )
        #expect(sent.exitCode == 0, "\(sent.errors)")
    }

    // MARK: Counters

    /// A restored data directory: the server has seen higher counters.
    @Test func aRestoredCounterIsReportedWithAHint() async throws {
        let fixture = try await HashOnlyFixture.registered()
        let data = fixture.runner.home.file("data/mediactl")
        let backup = fixture.runner.home.file("backup")
        try FileManager.default.copyItem(atPath: data, toPath: backup)
        #expect(try await fixture.send().result.exitCode == 0)
        // Only the counter is old: detected here, before anything is sent.
        let counters = try #require(
            try FileManager.default.contentsOfDirectory(atPath: data + "/capture-counters").first
        )
        try FileManager.default.removeItem(atPath: data + "/capture-counters/" + counters)
        let other = try fixture.file("other.jpg", "another")
        let command = ["send", other, "--no-depth", "--media-type", "photo"]
        let before = try await fixture.sandbox.requests().count
        let local = try await fixture.json(command)
        try expectOutdated(local)
        #expect(try await fixture.sandbox.requests().count == before)
        // Everything is old: the server reports it.
        try FileManager.default.removeItem(atPath: data)
        try FileManager.default.moveItem(atPath: backup, toPath: data)
        try expectOutdated(try await fixture.json(command))
        #expect(try await fixture.run(["register", "--replace"]).exitCode == 0)
        let retried = try await fixture.json(["retry", "--all"])
        #expect(retried.result.exitCode == 0 && retried.states == ["accepted"], "\(retried.result.output)")
    }

    private func expectOutdated(_ report: SyncFixture.Report) throws {
        let error = try #require(report.items.first?["error"] as? [String: Any])
        #expect(report.result.exitCode == 4 && error["code"] as? String == "counter_outdated", "\(error)")
        #expect((error["message"] as? String)?.contains("restored from a backup, or copied") == true)
        #expect((error["hint"] as? String)?.contains("mediactl hash-only register --replace") == true)
    }
}
