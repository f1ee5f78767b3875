import CaptureSubmission
import Foundation
import TestSupport
import Testing

@testable import HashCapture

/// Processes that are killed between two steps, and disks that fail.
@Suite struct VaultCrashTests {
    let fixture = Result { try VaultFixture() }

    /// The state left by a process that is killed after `keepMedia`.
    private func abandon(_ id: String = VaultFixture.id) async throws {
        let fixture = try fixture.get()
        let draft = try fixture.vault().begin(id: id)
        _ = try await fixture.vault().keepMedia(fixture.source(vaultBytes(100)), in: draft)
    }

    /// Cleans up until an abandoned draft is unlocked: the thread that wrote it may keep the lock slightly longer than
    /// the test.
    private func sweep(_ fixture: VaultFixture, hasRecord: (String) throws -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(20)
        while try fixture.names().contains(where: { $0.hasPrefix(".draft-0") }), ContinuousClock.now < deadline {
            try fixture.vault().adopt(hasRecord: hasRecord)
            await Task.yield()
        }
    }

    @Test func aDraftWithARecordIsFinishedAndOneWithoutIsDropped() async throws {
        let fixture = try fixture.get()
        try await abandon()
        try await abandon(VaultFixture.other)
        #expect(try fixture.names() == [".draft-" + VaultFixture.other, ".draft-" + VaultFixture.id])
        try await sweep(fixture) { $0 == VaultFixture.id }
        #expect(try fixture.names() == [VaultFixture.id])
        #expect(try await fixture.exported() == vaultBytes(100))
        try fixture.vault().adopt { _ in false }
        #expect(try fixture.names() == [VaultFixture.id])
    }

    @Test func halfABlobIsDroppedWithItsDraft() async throws {
        let fixture = try fixture.get()
        try await abandon()
        let half = fixture.captures + "/.draft-" + VaultFixture.id + "/media"
        #expect(truncate(half, 50) == 0)
        try await sweep(fixture) { _ in false }
        #expect(try fixture.names() == [])
    }

    @Test func draftsOfTheLivingAreLeftAlone() async throws {
        let fixture = try fixture.get()
        let vault = fixture.vault()
        let draft = try vault.begin(id: VaultFixture.id)
        try fixture.vault().adopt { _ in true }
        try fixture.vault().adopt { _ in false }
        _ = try await vault.keepMedia(fixture.source(vaultBytes(100)), in: draft)
        try fixture.vault().adopt { _ in false }
        try vault.commit(draft)
        #expect(try await fixture.exported() == vaultBytes(100))
    }

    /// Many processes start drafts while others clean up: no active draft is removed.
    @Test func sweepingWhileOthersBeginTakesNothing() async throws {
        let fixture = try fixture.get()
        let ids = (0..<24).map { String(format: "0f1e2d3c-4b5a-4978-8695-%012x", $0) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for id in ids {
                group.addTask { try await fixture.keep(vaultBytes(20), id: id) }
                group.addTask { try fixture.vault().adopt { _ in false } }
            }
            try await group.waitForAll()
        }
        #expect(try fixture.names() == ids)
    }

    @Test func whatTheVaultDidNotMakeStays() async throws {
        let fixture = try fixture.get()
        try await abandon()
        for name in [".draft-notes", "letter.txt", ".hidden"] {
            try fixture.write([1], to: fixture.captures + "/" + name)
        }
        try fixture.write([1], to: fixture.captures + "/.vault.key-dead")
        try await sweep(fixture) { _ in false }
        #expect(try fixture.names() == [".draft-notes", ".hidden", "letter.txt"])
    }

    @Test func aStoreThatFailsKeepsTheDraft() async throws {
        let fixture = try fixture.get()
        try await abandon()
        let code = try await captureErrorCode {
            try await sweep(fixture) { _ in throw CocoaError(.fileNoSuchFile) }
        }
        #expect(code == .storeUnusable)
        #expect(try fixture.names() == [".draft-" + VaultFixture.id])
    }

    @Test func aVaultThatIsNotThereHasNothingToAdopt() throws {
        let fixture = try fixture.get()
        try fixture.vault().adopt { _ in true }
        #expect(!FileManager.default.fileExists(atPath: fixture.captures))
    }

    // MARK: Disks

    @Test(.enabled(if: SmallDisk.isAvailable, SmallDisk.requirement))
    func onAFullDiskNothingIsKept() async throws {
        let disk = try SmallDisk(kibibytes: 1024)
        let fixture = try VaultFixture(at: disk.path + "/data")
        let digest = try await fixture.keep(vaultBytes(1000), depth: vaultBytes(36))
        let code = try await captureErrorCode { try await fixture.keep(vaultBytes(2_000_000), id: VaultFixture.other) }
        #expect(code == .diskFull)
        try await sweep(fixture) { _ in false }
        try disk.fill()
        let small = try await captureErrorCode {
            try await fixture.keep(vaultBytes(1000), id: "0f1e2d3c-4b5a-4978-8695-a4b3c2d1e001")
        }
        #expect(small == .diskFull)
        try await sweep(fixture) { _ in false }
        #expect(try fixture.names() == [VaultFixture.id])
        #expect(try await fixture.vault().check(.media, of: VaultFixture.id) == digest)
        let target = disk.path + "/export"
        let full = try await captureErrorCode {
            _ = try await fixture.vault().export(.media, of: VaultFixture.id, to: Array(target.utf8))
        }
        #expect(full == .diskFull)
        #expect(try FileManager.default.contentsOfDirectory(atPath: disk.path).sorted() == ["data", "filler"])
    }

    @Test(.enabled(if: SmallDisk.isAvailable, SmallDisk.requirement))
    func aReadOnlyVaultIsReadAndNotWritten() async throws {
        let disk = try SmallDisk(kibibytes: 512)
        let fixture = try VaultFixture(at: disk.path + "/data")
        try await fixture.keep(vaultBytes(1000))
        try disk.makeReadOnly()
        let code = try await captureErrorCode { try await fixture.keep(vaultBytes(10), id: VaultFixture.other) }
        #expect(code == .vaultUnusable)
        try fixture.vault().adopt { _ in false }
        #expect(try await fixture.exported() == vaultBytes(1000))
        let target = disk.path + "/export"
        let unusable = try await captureErrorCode {
            _ = try await fixture.vault().export(.media, of: VaultFixture.id, to: Array(target.utf8))
        }
        #expect(unusable == .targetUnusable)
    }
}
