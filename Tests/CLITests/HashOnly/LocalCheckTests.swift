import Foundation
import MediaStore
import TestSupport
import Testing

/// The output of `hash-only verify` when the server or another source cannot be used.
@Suite(.prompt) struct LocalCheckTests {
    let fixture: HashOnlyFixture

    private static let names = ["file_hash", "body_hash", "signature", "counter", "vault", "server"]

    init() async throws {
        fixture = try await HashOnlyFixture.registered()
        let sent = try await fixture.send()
        try #require(sent.result.exitCode == 0)
    }

    /// Changes a stored record, as an attacker with this account could.
    private func tamper(_ fixture: HashOnlyFixture, _ body: (inout CaptureRecord) -> Void) throws {
        let library = try LibraryStore(in: DataDirectory.open(fixture.runner.home.file("data/mediactl")))
        var record = try #require(try library.captures().first)
        body(&record)
        try library.keep(record)
    }

    private func statuses(_ report: SyncFixture.Report) -> [String] {
        report.items.compactMap { $0["status"] as? String }
    }

    @Test func withoutTheServerTheLocalChecksAreReported() async throws {
        _ = try await fixture.sandbox.stop()
        let text = try await fixture.run(["verify", fixture.photo])
        #expect(text.exitCode == 6, "\(text.errors)")
        #expect(
            text.output == """
                ok    file hash
                ok    body hash
                ok    signature
                ok    counter
                ok    vault
                skip  server     not checked: server unreachable

                """
        )
        #expect(!text.errors.contains("matches capture"))
        let json = try await fixture.json(["verify", fixture.photo])
        #expect(json.items.compactMap { $0["name"] as? String } == Self.names)
        #expect(json.count("passed") == 5 && json.count("skipped") == 1 && json.count("exit_code") == 6)
    }

    @Test func networkErrorsDoNotHideTampering() async throws {
        try tamper(fixture) { $0.counter = 7 }
        _ = try await fixture.sandbox.stop()
        let result = try await fixture.json(["verify", fixture.photo])
        #expect(result.result.exitCode == 8, "\(result.result.errors)")
        #expect(statuses(result) == ["passed", "passed", "passed", "failed", "passed", "skipped"])
    }

    @Test func a401DoesNotHideTampering() async throws {
        try tamper(fixture) { record in
            record.body = record.body.map {
                Array(String(decoding: $0, as: UTF8.self).replacing("photo", with: "video").utf8)
            }
        }
        try await fixture.sandbox.addFaults("capture-read:status=401")
        let result = try await fixture.json(["verify", fixture.photo])
        #expect(result.result.exitCode == 8, "\(result.result.errors)")
        #expect(statuses(result).last == "skipped" && statuses(result)[1] == "failed")
        let detail = try #require(result.items.last?["detail"] as? String)
        #expect(detail == "server returned 401")
    }

    @Test func a401IsReportedWithItsCode() async throws {
        try await fixture.sandbox.addFaults("capture-read:status=401")
        let result = try await fixture.json(["verify", fixture.photo])
        #expect(result.result.exitCode == 4, "\(result.result.errors)")
        #expect(statuses(result) == ["passed", "passed", "passed", "passed", "passed", "skipped"])
    }

    @Test func aMissingKeyOfTheVaultIsNotTampering() async throws {
        try FileManager.default.removeItem(atPath: fixture.runner.home.file("data/mediactl/captures/vault.key"))
        let result = try await fixture.json(["verify", fixture.photo, "--offline"])
        #expect(result.result.exitCode == 12, "\(result.result.errors)")
        #expect(statuses(result) == ["passed", "passed", "passed", "passed", "skipped", "skipped"])
    }

    /// A missing or damaged copy is not a mismatch of the file, which the other checks have verified.
    @Test(arguments: [(true, Int32(12)), (false, 8)])
    func aLostCopyIsNotAMismatch(_ isMissing: Bool, _ exitCode: Int32) async throws {
        let id = try #require(try await fixture.json(["list"]).items.first?["capture_id"] as? String)
        let copy = fixture.runner.home.file("data/mediactl/captures/\(id)/media")
        #expect(try await fixture.run(["show", id]).output.contains("in the vault, encrypted"))
        if isMissing {
            try FileManager.default.removeItem(atPath: copy)
        } else {
            try Data(repeating: 7, count: 100).write(to: URL(filePath: copy))
        }
        let result = try await fixture.json(["verify", fixture.photo])
        #expect(statuses(result) == ["passed", "passed", "passed", "passed", "failed", "passed"])
        #expect(result.result.exitCode == exitCode)
        let reason = isMissing ? "the vault does not have the copy" : "the copy in the vault is damaged"
        #expect(result.result.errors.contains(reason), "\(result.result.errors)")
        #expect(!result.result.errors.contains("does not match"), "\(result.result.errors)")
        #expect(result.result.errors.contains("the record itself is intact"), "\(result.result.errors)")
        let shown = try await fixture.run(["show", id])
        #expect(shown.output.contains("missing from the vault") == isMissing, "\(shown.output)")
        // Any other failure is still reported as a mismatch, and listed.
        try tamper(fixture) { $0.counter = 7 }
        let both = try await fixture.run(["verify", fixture.photo])
        #expect(both.exitCode == 8 && both.errors.contains(" (failed: counter, vault)\n"), "\(both.errors)")
    }

    @Test func anEmptyCopyIsDamagedNotMissing() async throws {
        let id = try #require(try await fixture.json(["list"]).items.first?["capture_id"] as? String)
        try Data().write(to: URL(filePath: fixture.runner.home.file("data/mediactl/captures/\(id)/media")))
        let shown = try await fixture.run(["show", id])
        #expect(shown.output.contains("damaged in the vault"), "\(shown.output)")
        #expect(try await fixture.json(["verify", fixture.photo]).result.exitCode == 8)
    }

    @Test func aServerThatMustNotBeQueriedIsOneLine() async throws {
        try tamper(fixture) { $0.server = "http://captures.invalid" }
        let result = try await fixture.json(["verify", fixture.photo])
        #expect(result.result.exitCode == 2, "\(result.result.errors)")
        #expect(statuses(result) == ["passed", "passed", "passed", "passed", "passed", "skipped"])
    }

    @Test func anUnknownOutcomeIsNotReportedAsUnsent() async throws {
        try tamper(fixture) { ($0.state, $0.serverCaptureID) = (.unknownOutcome, nil) }
        let result = try await fixture.json(["verify", fixture.photo])
        #expect(result.result.exitCode == 6)
        #expect(result.items.last?["detail"] as? String == "whether the server has it is unknown")
        #expect(try await fixture.run(["verify", fixture.photo, "--offline"]).exitCode == 0)
        #expect(try await fixture.run(["retry", "--all"]).exitCode == 0)
        #expect(try await fixture.run(["verify", fixture.photo]).exitCode == 0)
    }

    @Test func aRefusedCaptureIsNotReportedAsProven() async throws {
        try tamper(fixture) { ($0.state, $0.serverCaptureID, $0.submissions) = (.rejected, nil, 0) }
        for options in [[], ["--offline"]] {
            let result = try await fixture.run(["verify", fixture.photo] + options)
            #expect(result.exitCode == 2 && !result.errors.contains("matches capture"), "\(result.errors)")
        }
    }

    @Test func aCaptureThatTheServerLostIsSubmittedAgain() async throws {
        let id = try #require(try await fixture.json(["list"]).items.first?["capture_id"] as? String)
        try tamper(fixture) { $0.serverCaptureID = UUID().uuidString.lowercased() }
        let verified = try await fixture.run(["verify", fixture.photo])
        #expect(verified.exitCode == 8)
        #expect(verified.errors.contains("mediactl hash-only retry \(id.prefix(8)) --resend"), "\(verified.errors)")
        let resent = try await fixture.run(["retry", id, "--resend"])
        #expect(resent.exitCode == 0 && resent.output.hasPrefix("accepted "), "\(resent.output)")
        #expect(try await fixture.bodies().count == 2)
        #expect(try await fixture.captures("records").count == 1)
        #expect(try await fixture.run(["verify", fixture.photo]).exitCode == 0)

        _ = try await fixture.sandbox.stop()
        for command in [["send", fixture.photo] + fixture.depthOptions, ["retry", id, "--resend"]] {
            let unconfirmed = try await fixture.run(command)
            #expect(unconfirmed.exitCode == 6, "\(unconfirmed.errors)")
            #expect(unconfirmed.output.contains("accepted earlier, as \(id.prefix(8)); not confirmed in this run"))
        }
    }

    @Test func aLostStoreOfCapturesIsReported() async throws {
        let library = fixture.runner.home.file("data/mediactl/library.sqlite")
        #expect(try await !fixture.run(["list"]).errors.contains("the vault has"))
        for companion in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: library + companion) }
        for command in [["list"], ["list"], ["register"]] {
            let result = try await fixture.run(command)
            #expect(result.exitCode == 0)
            #expect(result.errors.contains("the vault has 1 capture, but \"\(library)\" has none"), "\(result.errors)")
        }
    }

    @Test func withoutCapturesNoServerIsPrinted() async throws {
        let runner = try BinaryRunner()
        let photo = try runner.home.write("photo.jpg", [0xFF, 0xD8, 0xFF])
        let result = try await runner.run(["hash-only", "verify", photo])
        #expect(result.exitCode == 5 && result.errors.contains("no stored capture of"), "\(result.errors)")
        #expect(try await runner.run(["hash-only", "verify", photo + "2"]).exitCode == 2)
    }
}
