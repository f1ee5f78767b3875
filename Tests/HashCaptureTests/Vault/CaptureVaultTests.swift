import CaptureSubmission
import Foundation
import MediaCrypto
import MediaFiles
import Synchronization
import TestSupport
import Testing

@testable import HashCapture

/// Hash-only contract section 8: stored media is encrypted, bound to its capture, and restored completely or not at
/// all.
@Suite struct CaptureVaultTests {
    let fixture: VaultFixture

    init() throws { fixture = try VaultFixture() }

    // MARK: Storing and restoring

    /// 1,048,520 bytes fill the first segment.
    @Test(arguments: [1, 1000, 1_048_520, 1_048_521, 3_000_000])
    func storedMediaIsRestored(byteCount: Int) async throws {
        let (media, depth) = (vaultBytes(byteCount), vaultBytes(4 * 9, seed: 2))
        let digest = try await fixture.keep(media, depth: depth)
        let path = fixture.temporary.file("original-" + VaultFixture.id)
        let words = try await ChildProcess.run("sha256sum", [path]).output
        #expect(words.hasPrefix(digest.hex))
        #expect(try await fixture.exported() == media)
        #expect(try await fixture.exported(.depth) == depth)
        #expect(try await fixture.vault().check(.media, of: VaultFixture.id) == digest)
        // Encrypted: the first bytes of the original occur nowhere.
        if media.count > 16 {
            #expect(try Data(fixture.read(fixture.blob(.media))).range(of: Data(media.prefix(16))) == nil)
        }
    }

    @Test func storedMediaIsReadableByItsOwnerOnly() async throws {
        // The umask must not matter, whether permissive or restrictive.
        for (id, mask) in [(VaultFixture.id, mode_t(0)), (VaultFixture.other, 0o777)] {
            let before = umask(mask)
            defer { umask(before) }
            let draft = try fixture.vault().begin(id: id)
            #expect(try permissionBits(fixture.captures + "/.draft-" + id) == 0o700)
            fixture.vault().discard(draft)
        }
        let before = umask(0)
        defer { umask(before) }
        try await fixture.keep(vaultBytes(100), depth: vaultBytes(36))
        let target = fixture.temporary.file("export")
        _ = try await fixture.vault().export(.media, of: VaultFixture.id, to: Array(target.utf8))
        for (path, bits) in [
            (fixture.captures, 0o700), (fixture.captures + "/vault.key", 0o600),
            (fixture.captures + "/" + VaultFixture.id, 0o700), (fixture.blob(.media), 0o600),
            (fixture.blob(.depth), 0o600), (target, 0o600),
        ] {
            #expect(try permissionBits(path) == bits, "\(path)")
        }
        #expect(try fixture.names() == [VaultFixture.id])
    }

    @Test func progressReachesTheTotal() async throws {
        let steps = Mutex<[(Int64, Int64)]>([])
        let draft = try fixture.vault().begin(id: VaultFixture.id)
        let file = try fixture.source(vaultBytes(2_500_000))
        _ = try await fixture.vault().keepMedia(file, in: draft) { done, total in
            steps.withLock { $0.append((done, total)) }
        }
        let seen = steps.withLock { $0 }
        #expect(seen.map(\.0) == seen.map(\.0).sorted())
        #expect(seen.last?.0 == 2_500_000)
        #expect(seen.allSatisfy { $0.1 == 2_500_000 })
        fixture.vault().discard(draft)
        #expect(try fixture.names() == [])
    }

    @Test(arguments: ["", "..", "../x", "0F1E2D3C-4B5A-4978-8695-A4B3C2D1E0FF", VaultFixture.id + "/.."])
    func anInvalidIDIsNotUsedAsAPath(id: String) async throws {
        #expect(try await captureErrorCode { _ = try fixture.vault().begin(id: id) } == .vaultUnusable)
        #expect(try await captureErrorCode { _ = try await fixture.vault().check(.media, of: id) } == .mediaMissing)
        #expect(!FileManager.default.fileExists(atPath: fixture.captures))
    }

    @Test func anIDIsUsedOnce() async throws {
        let digest = try await fixture.keep(vaultBytes(10))
        #expect(try await captureErrorCode { try await fixture.keep(vaultBytes(10, seed: 2)) } == .vaultUnusable)
        let draft = try fixture.vault().begin(id: VaultFixture.other)
        #expect(try await captureErrorCode { _ = try fixture.vault().begin(id: VaultFixture.other) } == .vaultUnusable)
        fixture.vault().discard(draft)
        #expect(try await fixture.vault().check(.media, of: VaultFixture.id) == digest)
    }

    // MARK: Originals

    /// The original grows, or is rewritten with the same length and time, while it is read.
    @Test(arguments: [true, false])
    func anOriginalThatChangesIsNotStored(isGrowing: Bool) async throws {
        let vault = fixture.vault()
        let draft = try vault.begin(id: VaultFixture.id)
        let file = try fixture.source(vaultBytes(3_000_000))
        let path = fixture.temporary.file("original")
        let isDone = Mutex(false)
        let code = try await captureErrorCode {
            _ = try await vault.keepMedia(file, in: draft) { _, _ in
                guard
                    isDone.withLock({ done in
                        defer { done = true }; return !done
                    })
                else { return }
                let descriptor = open(path, isGrowing ? O_WRONLY | O_APPEND : O_WRONLY)
                _ = write(descriptor, [0, 0, 0, 0], 4)
                close(descriptor)
            }
        }
        #expect(code == .sourceChanged)
        #expect(try fixture.names(fixture.captures + "/.draft-" + VaultFixture.id) == [])
    }

    @Test func aTruncatedOriginalIsNotStored() async throws {
        let draft = try fixture.vault().begin(id: VaultFixture.id)
        let file = try fixture.source(vaultBytes(3_000_000))
        let path = fixture.temporary.file("original")
        let code = try await captureErrorCode {
            _ = try await fixture.vault().keepMedia(file, in: draft) { _, _ in truncate(path, 1_500_000) }
        }
        #expect(code == .sourceChanged)
    }

    @Test func cancelingEndsTheReadingWithinABlock() async throws {
        let draft = try fixture.vault().begin(id: VaultFixture.id)
        let path = fixture.temporary.file("sparse")
        #expect(FileManager.default.createFile(atPath: path, contents: nil))
        #expect(truncate(path, 64 << 20) == 0)
        let file = try SourceFile(path: Array(path.utf8))
        let done = Mutex<Int64>(0)
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let gate = DispatchSemaphore(value: 0)
        let task = Task {
            try await fixture.vault().keepMedia(file, in: draft) { count, _ in
                guard
                    done.withLock({ known in
                        defer { known = count }; return known == 0
                    })
                else { return }
                begin.finish()
                gate.wait()
            }
        }
        for await _ in begun {}
        task.cancel()
        gate.signal()
        await #expect { try await task.value } throws: { ($0 as? CaptureError)?.code == .cancelled }
        #expect(done.withLock { $0 } < 4 << 20)
        #expect(try fixture.names(fixture.captures + "/.draft-" + VaultFixture.id) == [])
    }

    // MARK: Damage

    enum Damage: CaseIterable {
        case firstByte, salt, middle, lastByte, cutShort, cutAtSegment, empty, longer
        case mediaAndDepthSwapped, otherCapture
    }

    @Test(arguments: Damage.allCases)
    func aDamagedBlobIsRefusedAndNothingIsWritten(_ damage: Damage) async throws {
        try await fixture.keep(vaultBytes(1_100_000), depth: vaultBytes(36, seed: 2))
        try await fixture.keep(vaultBytes(1_100_000, seed: 3), id: VaultFixture.other)
        switch damage {
        case .firstByte: try fixture.change(.media) { $0[0] ^= 1 }
        case .salt: try fixture.change(.media) { $0[5] ^= 1 }
        case .middle: try fixture.change(.media) { $0[1_070_000] ^= 0x80 }
        case .lastByte: try fixture.change(.media) { $0[$0.count - 1] ^= 1 }
        case .cutShort: try fixture.change(.media) { $0.removeLast(1000) }
        case .cutAtSegment: try fixture.change(.media) { $0.removeLast($0.count - 1 << 20) }
        case .empty: try fixture.change(.media) { $0 = [] }
        case .longer: try fixture.change(.media) { $0.append(0) }
        case .mediaAndDepthSwapped: try fixture.write(fixture.read(fixture.blob(.depth)), to: fixture.blob(.media))
        case .otherCapture:
            try fixture.write(fixture.read(fixture.blob(.media, VaultFixture.other)), to: fixture.blob(.media))
        }
        let folder = fixture.temporary.file("target")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        let code = try await captureErrorCode {
            _ = try await fixture.vault().export(.media, of: VaultFixture.id, to: Array((folder + "/x").utf8))
        }
        #expect(code == .mediaDamaged)
        #expect(try fixture.names(folder) == [])
        #expect(
            try await captureErrorCode { _ = try await fixture.vault().check(.media, of: VaultFixture.id) }
                == .mediaDamaged
        )
        #expect(try fixture.names() == [VaultFixture.other, VaultFixture.id])
    }

    @Test func aMissingBlobIsReportedAsMissing() async throws {
        #expect(try await captureErrorCode { _ = try await fixture.exported() } == .mediaMissing)
        try await fixture.keep(vaultBytes(10))
        #expect(try await captureErrorCode { _ = try await fixture.exported(.depth) } == .mediaMissing)
        #expect(try await captureErrorCode { _ = try await fixture.exported(id: VaultFixture.other) } == .mediaMissing)
    }

    // MARK: Targets

    @Test func anExportReplacesNothingAndVerifiesTheHash() async throws {
        let media = vaultBytes(100)
        let digest = try await fixture.keep(media, depth: vaultBytes(36))
        let depth = try await fixture.vault().check(.depth, of: VaultFixture.id)
        let folder = fixture.temporary.file("target")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        // A path need not be UTF-8.
        let target = Array((folder + "/x").utf8) + [0xff]
        func export(expecting: SHA256Digest) async throws {
            _ = try await fixture.vault().export(.media, of: VaultFixture.id, to: target, expecting: expecting)
        }
        #expect(try await captureErrorCode { try await export(expecting: depth) } == .checksumMismatch)
        #expect(access(target.map(CChar.init(bitPattern:)) + [0], F_OK) == -1)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
        try await export(expecting: digest)
        #expect(access(target.map(CChar.init(bitPattern:)) + [0], F_OK) == 0)
        #expect(try await captureErrorCode { try await export(expecting: digest) } == .targetExists)
        for (path, code) in [
            (folder, .targetExists), (folder + "/none/x", .targetUnusable), (folder + "/", .targetUnusable),
            ("", .targetUnusable), (fixture.temporary.file("original-" + VaultFixture.id) + "/x", .targetUnusable),
        ] as [(String, OutcomeCode)] {
            let found = try await captureErrorCode {
                _ = try await fixture.vault().export(.media, of: VaultFixture.id, to: Array(path.utf8))
            }
            #expect(found == code, "\(path)")
        }
    }

    @Test func aLinkAtTheTargetIsNotFollowed() async throws {
        try await fixture.keep(vaultBytes(100))
        let link = fixture.temporary.file("link")
        try makeLink(link, to: fixture.temporary.file("elsewhere"))
        let code = try await captureErrorCode {
            _ = try await fixture.vault().export(.media, of: VaultFixture.id, to: Array(link.utf8))
        }
        #expect(code == .targetExists)
        #expect(!FileManager.default.fileExists(atPath: fixture.temporary.file("elsewhere")))
    }
}
