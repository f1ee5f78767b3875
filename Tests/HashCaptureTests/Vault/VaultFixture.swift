import CaptureSubmission
import Foundation
import MediaCrypto
import MediaFiles
import MediaStore
import TestSupport

@testable import HashCapture

/// A data directory with a vault, and originals next to it.
struct VaultFixture {
    static let id = "0f1e2d3c-4b5a-4978-8695-a4b3c2d1e0ff"
    static let other = "0f1e2d3c-4b5a-4978-8695-a4b3c2d1e000"

    let temporary: TemporaryDirectory
    let directory: DataDirectory

    init(at path: String? = nil) throws {
        temporary = try TemporaryDirectory()
        directory = try DataDirectory.open(path ?? temporary.file("data"))
    }

    var captures: String { directory.path + "/captures" }

    func vault(_ key: VaultKey = .file) -> CaptureVault { CaptureVault(directory: directory, key: key) }

    func blob(_ kind: CaptureVault.Kind, _ id: String = Self.id) -> String { "\(captures)/\(id)/\(kind.rawValue)" }

    /// A new original.
    func source(_ bytes: [UInt8], _ name: String = "original") throws -> SourceFile {
        try write(bytes, to: temporary.file(name))
        return try SourceFile(path: Array(temporary.file(name).utf8))
    }

    /// Stores a capture, with a depth map unless it is nil.
    @discardableResult
    func keep(
        _ media: [UInt8],
        depth: [UInt8]? = nil,
        id: String = Self.id,
        key: VaultKey = .file
    ) async throws -> SHA256Digest {
        let vault = vault(key)
        let draft = try vault.begin(id: id)
        let digest = try await vault.keepMedia(source(media, "original-" + id), in: draft)
        if let depth { try vault.keepDepth(depth, in: draft) }
        try vault.commit(draft)
        return digest
    }

    /// The result of an export.
    func exported(_ kind: CaptureVault.Kind = .media, id: String = Self.id, key: VaultKey = .file) async throws
        -> [UInt8]
    {
        let target = temporary.file("export-\(UUID().uuidString)")
        _ = try await vault(key).export(kind, of: id, to: Array(target.utf8))
        return try read(target)
    }

    /// Names in a directory, without the key.
    func names(_ path: String? = nil) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path ?? captures).filter { $0 != "vault.key" }.sorted()
    }

    func read(_ path: String) throws -> [UInt8] { [UInt8](try Data(contentsOf: URL(filePath: path))) }

    func write(_ bytes: [UInt8], to path: String) throws { try Data(bytes).write(to: URL(filePath: path)) }

    /// Changes a blob in place.
    func change(_ kind: CaptureVault.Kind, _ body: (inout [UInt8]) -> Void) throws {
        var bytes = try read(blob(kind))
        body(&bytes)
        try write(bytes, to: blob(kind))
    }
}

/// Bytes that are different for each seed.
func vaultBytes(_ count: Int, seed: Int = 1) -> [UInt8] { randomBytes(count, seed: seed) }

/// The code of the thrown `CaptureError`; nil on success.
func captureErrorCode(_ body: () async throws -> Void) async throws -> OutcomeCode? {
    do {
        try await body()
        return nil
    } catch let error as CaptureError {
        return error.code
    }
}

func permissionBits(_ path: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
}
