import CaptureSubmission
import Foundation
import MediaCrypto
import TestSupport
import Testing

@testable import HashCapture

/// The key is created once, by one process, and never replaced.
@Suite struct VaultKeyTests {
    let fixture: VaultFixture

    init() throws { fixture = try VaultFixture() }

    static let hex = String(repeating: "0a", count: 32)
    /// These 32 bytes, as encoded by `base64` from coreutils.
    static let base64 = "CgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgoKCgo="

    private var keyPath: String { fixture.captures + "/vault.key" }

    @Test func theKeyIsCreatedOnceAndNotReplaced() async throws {
        try await fixture.keep(vaultBytes(10))
        let text = try String(contentsOfFile: keyPath, encoding: .utf8)
        #expect(text.wholeMatch(of: /[0-9a-f]{64}\n/) != nil)
        try await fixture.keep(vaultBytes(10, seed: 2), id: VaultFixture.other)
        #expect(try String(contentsOfFile: keyPath, encoding: .utf8) == text)
        #expect(try await VaultFixture().keep(vaultBytes(10)) == fixture.vault().check(.media, of: VaultFixture.id))
    }

    @Test func onlyOneOfManyProcessesCreatesTheKey() async throws {
        let ids = (0..<16).map { String(format: "0f1e2d3c-4b5a-4978-8695-%012x", $0) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for id in ids { group.addTask { try await fixture.keep(vaultBytes(20), id: id) } }
            try await group.waitForAll()
        }
        for id in ids { #expect(try await fixture.exported(id: id) == vaultBytes(20)) }
        #expect(try fixture.names() == ids)
    }

    @Test(arguments: ["", "\n", "0a", "x", String(repeating: "0a", count: 31), hex + "0a", hex + "\n\n", " " + hex])
    func aDamagedKeyIsRefusedAndKept(text: String) async throws {
        try await fixture.keep(vaultBytes(10))
        try fixture.write(Array(text.utf8), to: keyPath)
        #expect(try await captureErrorCode { _ = try await fixture.exported() } == .vaultUnusable)
        #expect(
            try await captureErrorCode { try await fixture.keep(vaultBytes(9), id: VaultFixture.other) }
                == .vaultUnusable
        )
        #expect(try fixture.read(keyPath) == Array(text.utf8))
    }

    @Test(arguments: [false, true])
    func aMissingKeyIsNotReplacedWhileThereAreBlobs(areDrafts: Bool) async throws {
        if areDrafts {
            let draft = try fixture.vault().begin(id: VaultFixture.id)
            _ = try await fixture.vault().keepMedia(fixture.source(vaultBytes(10)), in: draft)
        } else {
            try await fixture.keep(vaultBytes(10))
        }
        try FileManager.default.removeItem(atPath: keyPath)
        #expect(
            try await captureErrorCode { try await fixture.keep(vaultBytes(9), id: VaultFixture.other) }
                == .vaultUnusable
        )
        if !areDrafts { #expect(try await captureErrorCode { _ = try await fixture.exported() } == .vaultUnusable) }
        #expect(!FileManager.default.fileExists(atPath: keyPath))
    }

    @Test func aDifferentKeyDecryptsNothing() async throws {
        try await fixture.keep(vaultBytes(10))
        try fixture.write(Array((Self.hex + "\n").utf8), to: keyPath)
        #expect(try await captureErrorCode { _ = try await fixture.exported() } == .mediaDamaged)
    }

    /// All captures are encrypted with one key: a replaced key is refused before anything is encrypted with it.
    @Test(arguments: [false, true])
    func aReplacedKeyIsDetectedBeforeANewCapture(isCommand: Bool) async throws {
        let first = String(repeating: "0b", count: 32)
        let (old, new): (VaultKey, VaultKey) =
            isCommand ? (.command(["echo", first]), .command(["echo", Self.hex])) : (.file, .file)
        try await fixture.keep(vaultBytes(10), key: old)
        let key = try? fixture.read(keyPath)
        if !isCommand { try fixture.write(Array((Self.hex + "\n").utf8), to: keyPath) }
        let error = await #expect(throws: CaptureError.self) {
            try await fixture.keep(vaultBytes(9), id: VaultFixture.other, key: new)
        }
        #expect(error?.code == .vaultUnusable && error?.detail.contains("it was replaced") == true)
        // The draft is empty.
        #expect(try fixture.names(fixture.captures + "/.draft-" + VaultFixture.other).isEmpty)
        if let key { try fixture.write(key, to: keyPath) }
        try fixture.vault().adopt { _ in false }
        try await fixture.keep(vaultBytes(9), id: VaultFixture.other, key: old)
        #expect(try await fixture.exported(id: VaultFixture.other, key: old) == vaultBytes(9))
    }

    /// The first segment is sufficient to check the key, and a damaged copy is not reported as a different key.
    @Test func aDamagedCopyIsNotReportedAsAReplacedKey() async throws {
        try await fixture.keep(vaultBytes(2_500_000))
        try fixture.change(.media) { $0[$0.count - 1] ^= 1 }
        try await fixture.keep(vaultBytes(9), id: VaultFixture.other)
        try fixture.change(.media) { $0[50] ^= 1 }
        try await fixture.keep(vaultBytes(8), id: "0f1e2d3c-4b5a-4978-8695-a4b3c2d1e111")
    }

    // MARK: Commands

    @Test(arguments: [hex, hex.uppercased(), base64, hex + "\nmore", hex + "\r\n"])
    func aProgramMayPrintTheKey(output: String) async throws {
        try await fixture.keep(vaultBytes(10), depth: vaultBytes(36), key: .command(["printf", "%s", Self.hex]))
        #expect(try await fixture.exported(key: .command(["printf", "%s", output])) == vaultBytes(10))
        #expect(try await fixture.exported(.depth, key: .command(["printf", "%s", output])) == vaultBytes(36))
        #expect(!FileManager.default.fileExists(atPath: keyPath))
    }

    @Test(arguments: [
        ["false", "canary"], ["no-such-program", "canary"], ["printf", "canary"], ["true", "canary"], [],
        ["printf", hex + "0a"],
    ])
    func aProgramThatPrintsNoKeyIsReportedWithoutItsArguments(arguments: [String]) async throws {
        let error = await #expect(throws: CaptureError.self) {
            try await fixture.keep(vaultBytes(10), key: .command(arguments))
        }
        #expect(error?.code == .vaultUnusable)
        #expect(error?.detail.contains("vault_key_command") == true)
        #expect(error.map { "\($0)".contains("canary") || "\($0)".contains("0a0a") } == false)
    }

    @Test func oneVaultRunsItsProgramOnce() async throws {
        let log = fixture.temporary.file("log")
        let vault = fixture.vault(.command(["sh", "-c", "echo x >> '\(log)'; echo \(Self.hex)"]))
        let draft = try vault.begin(id: VaultFixture.id)
        _ = try await vault.keepMedia(fixture.source(vaultBytes(10)), in: draft)
        try vault.keepDepth(vaultBytes(36), in: draft)
        try vault.commit(draft)
        _ = try await vault.check(.depth, of: VaultFixture.id)
        #expect(try fixture.read(log).count == 2)
    }

    // MARK: Third-party reader

    /// The program in `docs/hash-only.md`, with Google's library.
    @Test func tinkDecryptsABlob() async throws {
        let media = vaultBytes(1_100_000)
        try await fixture.keep(media)
        let page = try Repository.text("docs/hash-only.md")
        let program = try #require(page.firstMatch(of: /```python\n(?s:(.*?))```/)?.1)
        let (script, target) = (fixture.temporary.file("read.py"), fixture.temporary.file("plain"))
        try fixture.write(Array(program.utf8), to: script)
        let python = try await ChildProcess.run(
            "sh",
            [
                "-c", #""$@" > "$0""#, target, Repository.python, script,
                fixture.blob(.media), keyPath, VaultFixture.id, "media",
            ]
        )
        #expect(python.status == 0)
        #expect(try fixture.read(target) == media)
    }
}
