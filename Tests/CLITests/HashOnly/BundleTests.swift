import Foundation
import TestSupport
import Testing

/// Bundles of `hash-only export`, verified on another machine: by the program, and by the published script that uses
/// standard tools.
@Suite(.prompt) struct BundleTests {
    /// A directory with the bundle and the photo of an accepted capture, and a machine that has nothing else.
    private struct Evidence {
        let directory: String
        let machine: BinaryRunner

        var bundle: String { directory + "/bundle.json" }
        var photo: String { directory + "/photo.jpg" }

        func verify(_ arguments: [String]) async throws -> SyncFixture.Report {
            // No server is configured, and there are no settings, keys or data.
            try SyncFixture.report(of: try await machine.run(["hash-only", "verify"] + arguments + ["--json"]))
        }

        func script() async throws -> ChildResult {
            try await ChildProcess.run(
                "/bin/sh",
                [Repository.path("docs/guides/verify-bundle.sh"), bundle, photo],
                environment: ["PATH": "/usr/bin:/bin"]
            )
        }

        func members() throws -> [String: Any] {
            let data = try Data(contentsOf: URL(fileURLWithPath: bundle))
            return try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        }

        /// Replaces a part of the bundle's text.
        func replace(_ old: String, _ new: String) throws {
            let text = try String(contentsOfFile: bundle, encoding: .utf8)
            try #require(text.contains(old))
            try text.replacing(old, with: new).write(toFile: bundle, atomically: true, encoding: .utf8)
        }

        /// Replaces a text member.
        func set(_ name: String, _ value: String) throws {
            let old = try #require(try members()[name] as? String).replacing("\n", with: "\\n")
            try replace("\"\(name)\":\"\(old)\"", "\"\(name)\":\"\(value.replacing("\n", with: "\\n"))\"")
        }
    }

    private func evidence() async throws -> Evidence {
        let fixture = try await HashOnlyFixture.registered()
        let id = try #require(try await fixture.send().items.first?["capture_id"] as? String)
        let machine = try BinaryRunner()
        let directory = machine.home.file("evidence")
        let exported = try await fixture.json(["export", id, "--bundle", directory + "/"])
        #expect(exported.result.exitCode == 0, "\(exported.result.errors)")
        #expect(exported.last["bundle"] as? String == directory + "/bundle.json")
        #expect(try await fixture.run(["export", id, "--output", directory + "/photo.jpg"]).exitCode == 0)
        // The directory exists now, and its bundle is not replaced.
        #expect(try await fixture.run(["export", id, "--bundle", directory]).exitCode == 10)
        return Evidence(directory: directory, machine: machine)
    }

    @Test func aFileThatChangesWhileItIsReadIsNotReportedAsAMismatch() async throws {
        let evidence = try await evidence()
        try await whileGrowing(evidence.photo) {
            let named = try await evidence.verify([evidence.photo, "--bundle", evidence.bundle])
            #expect(named.result.exitCode == 13 && named.error["code"] as? String == "source_changed")
            let found = try await evidence.verify(["--bundle", evidence.directory])
            #expect(found.result.exitCode == 0 && found.items.first?["status"] as? String == "skipped")
        }
    }

    @Test func verificationNeedsNeitherStoreNorKeyNorNetwork() async throws {
        let evidence = try await evidence()
        let result = try await evidence.verify(["--bundle", evidence.directory])
        #expect(result.result.exitCode == 0, "\(result.result.errors)")
        let findings = result.items.map { "\($0["name"] ?? "") \($0["status"] ?? "")" }
        #expect(
            findings == [
                "file_hash passed", "body_hash passed", "signature passed", "counter passed", "members passed",
                "server skipped",
            ]
        )
        #expect(try FileManager.default.contentsOfDirectory(atPath: evidence.machine.home.path) == ["evidence"])

        let script = try await evidence.script()
        #expect(script.exitCode == 0, "\(script.output)\(script.errors)")
        let key = try #require(script.output.split(separator: "\n").last).split(separator: " ").last
        #expect(result.last["key_sha256"] as? String == key.map { String($0) })

        // Both the program and the script list the members that anyone could have changed.
        let unsigned = result.last["unsigned_members"] as? [String] ?? []
        let names = [
            "capture_id", "created_at", "device_id", "level", "observed", "server", "server_capture_id", "submitted_at",
        ]
        #expect(unsigned.sorted() == names)
        let line = "not covered by the signature: \(names.joined(separator: ", "))\n"
        #expect(script.output.contains(line))
        let text = try await evidence.machine.run(["hash-only", "verify", "--bundle", evidence.directory])
        #expect(text.output.hasSuffix(line), "\(text.output)")
        try evidence.replace("\"level\":", "\"note\":\"added\",\"level\":")
        let extended = try await evidence.verify(["--bundle", evidence.directory])
        #expect((extended.last["unsigned_members"] as? [String] ?? []).contains("note"))

        // Values that only the server can confirm are not copied from the file.
        try evidence.set("level", "tpm2")
        let forged = try await evidence.verify(["--bundle", evidence.directory])
        #expect(forged.result.exitCode == 0 && forged.last["level"] is NSNull, "\(forged.last)")
        #expect(forged.last["server_capture_id"] is NSNull)

        // The file alone, and with a photo in another directory.
        let bare = try await evidence.verify(["--bundle", evidence.bundle])
        #expect(bare.result.exitCode == 0 && bare.items.first?["status"] as? String == "skipped")
        let moved = evidence.machine.home.file("moved.jpg")
        try FileManager.default.moveItem(atPath: evidence.photo, toPath: moved)
        let named = try await evidence.verify([moved, "--bundle", evidence.directory])
        #expect(named.result.exitCode == 0 && named.items.first?["status"] as? String == "passed")
        let none = try await evidence.verify(["--bundle", evidence.directory])
        #expect(none.result.exitCode == 0 && none.items.first?["status"] as? String == "skipped")
    }

    // Contract M9: for the reference server, video members are not signed.
    @Test func videoMembersOfTheReferenceProfileAreNotSigned() async throws {
        let keys = try TemporaryDirectory()
        let made = try await ChildProcess.run(
            "/bin/sh",
            [
                "-c",
                "umask 077; cd \"$0\" && openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out key.pem && "
                    + "openssl pkey -in key.pem -pubout -out public.pem", keys.path,
            ],
            environment: ["PATH": "/usr/bin:/bin"]
        )
        try #require(made.exitCode == 0, "\(made.errors)")
        let device = UUID().uuidString.lowercased()
        var fixture = try await HashOnlyFixture(arguments: [
            "--capture-profile", "reference", "--capture-device", "\(device):secure_enclave:\(keys.file("public.pem"))",
        ])
        fixture.runner.environment["MEDIACTL_CAPTURE_PROFILE"] = "reference"
        let registered = try await fixture.run(["register", "--device-id", device, "--key", keys.file("key.pem")])
        try #require(registered.exitCode == 0, "\(registered.errors)")
        let sent = try await fixture.json([
            "send", "--digest", "sha256:" + String(repeating: "cd", count: 32), "--media-type", "video", "--no-depth",
            "--hash-chain", String(repeating: "ab", count: 32) + ":2", "--frame-count", "2", "--duration-ms", "80",
        ])
        let id = try #require(sent.items.first?["capture_id"] as? String, "\(sent.result.errors)")
        let directory = keys.file("evidence")
        #expect(try await fixture.run(["export", id, "--bundle", directory + "/"]).exitCode == 0)
        let evidence = Evidence(directory: directory, machine: try BinaryRunner())
        func unsigned() async throws -> Set<String> {
            let report = try await evidence.verify(["--bundle", evidence.bundle])
            #expect(report.result.exitCode == 0, "\(report.result.output)")
            return Set(report.last["unsigned_members"] as? [String] ?? [])
        }
        #expect(try await unsigned().isSuperset(of: ["hash_chain", "frame_count", "duration_ms"]))
        // The claim is true: a different frame count has the same signature.
        let body = try #require((try evidence.members()["body"] as? String).flatMap { Data(base64Encoded: $0) })
        let forged = String(decoding: body, as: UTF8.self).replacing("\"frame_count\":2", with: "\"frame_count\":9")
        try evidence.set("body", Data(forged.utf8).base64EncodedString())
        #expect(try await unsigned().contains("frame_count"))
    }

    /// A change that a forger could make, and a check that detects it.
    enum Forgery: String, CaseIterable {
        case photo = "file_hash"
        case mediaHash = "body_hash"
        case body = "body_hash in the body"
        case signature = "members"
        case signedBytes = "members of the signed bytes"
        case key = "signature"
        case relyingParty = "signature of the relying party"
        case counter = "counter"
    }

    @Test(arguments: Forgery.allCases)
    func forgeriesAreFound(forgery: Forgery) async throws {
        let evidence = try await evidence()
        let members = try evidence.members()
        func bytes(_ name: String) throws -> Data {
            try #require((members[name] as? String).flatMap { Data(base64Encoded: $0) })
        }
        switch forgery {
        case .photo:
            let photo = try Data(contentsOf: URL(fileURLWithPath: evidence.photo)) + [0]
            try photo.write(to: URL(fileURLWithPath: evidence.photo))
        case .mediaHash: try evidence.set("media_hash", String(repeating: "ab", count: 32))
        case .body:
            let body = String(decoding: try bytes("body"), as: UTF8.self)
            let hash = try #require(members["media_hash"] as? String)
            let forged = body.replacing(hash, with: String(repeating: "ab", count: 32))
            try evidence.set("body", Data(forged.utf8).base64EncodedString())
        case .signature:
            var signature = try bytes("signature")
            signature[signature.count - 1] ^= 1
            try evidence.set("signature", signature.base64EncodedString())
        case .signedBytes:
            let signed = String(decoding: try bytes("signed_bytes"), as: UTF8.self)
            try evidence.set("signed_bytes", Data((signed + " ").utf8).base64EncodedString())
        case .key:
            let made = try await ChildProcess.run(
                "/bin/sh",
                ["-c", "openssl ecparam -name prime256v1 -genkey -noout | openssl pkey -pubout"],
                environment: ["PATH": "/usr/bin:/bin"]
            )
            try evidence.set("public_key", made.output)
        case .relyingParty: try evidence.set("rp_id", "elsewhere")
        case .counter: try evidence.replace("\"counter\":2", "\"counter\":3")
        }
        let result = try await evidence.verify(["--bundle", evidence.directory])
        #expect(result.result.exitCode == 8, "\(result.result.output)")
        let failed = result.items.filter { $0["status"] as? String == "failed" }.compactMap { $0["name"] as? String }
        #expect(failed.contains(String(forgery.rawValue.prefix { $0 != " " })))
        #expect(try await evidence.script().exitCode == 1, "the standard tools detect it as well")
    }

    /// The server may have the first submission or the second one.
    @Test func theFirstSubmissionIsExportedWhileItsOutcomeIsUnknown() async throws {
        let fixture = try await HashOnlyFixture.registered(faults: ["capture:status=502,times=2"])
        let id = try #require(try await fixture.send().items.first?["capture_id"] as? String)
        func export(_ name: String, _ options: [String]) async throws -> (result: ChildResult, body: String?) {
            let path = fixture.runner.home.file(name)
            let result = try await fixture.run(["export", id, "--bundle", path] + options)
            guard let data = FileManager.default.contents(atPath: path) else { return (result, nil) }
            let members = try JSONSerialization.jsonObject(with: data) as? [String: Any]
            return (result, members?["body"] as? String)
        }
        let sent = try await export("sent.json", [])
        #expect(sent.result.exitCode == 0 && !sent.result.errors.contains("--first"), "\(sent.result.errors)")
        #expect(try await export("none.json", ["--first"]).result.exitCode == 2)
        #expect(try await fixture.run(["register", "--replace"]).exitCode == 0)
        #expect(try await fixture.run(["retry", id, "--resend"]).exitCode == 6)
        #expect(try await fixture.json(["show", id]).items.first?["earlier_submissions"] as? Int == 1)
        let last = try await export("last.json", [])
        #expect(last.result.errors.contains("to export it, add --first"), "\(last.result.errors)")
        let first = try await export("first.json", ["--first"])
        #expect(first.body == sent.body && first.body != nil && last.body != sent.body)
        let verified = try await fixture.run(["verify", "--bundle", fixture.runner.home.file("first.json")])
        #expect(verified.exitCode == 0, "\(verified)")
    }

    @Test(arguments: ["", "{}", "[1]", #"{"schema":"mediactl.hash-only-bundle/1"}"#])
    func otherFilesAreNotBundles(text: String) async throws {
        let machine = try BinaryRunner()
        let path = machine.home.file("x.json")
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        let result = try await machine.run(["hash-only", "verify", "--bundle", path])
        #expect(result.exitCode == 2 && result.errors.contains("is not a bundle"), "\(result.errors)")
        #expect(try await machine.run(["hash-only", "verify", "--bundle", path + "2"]).exitCode == 2)
    }
}
