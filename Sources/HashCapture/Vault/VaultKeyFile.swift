internal import CaptureSubmission
internal import Foundation
internal import MediaCore
internal import MediaCrypto
internal import MediaFiles
internal import MediaStore
internal import Synchronization

/// The source of the vault's key.
public enum VaultKey: Sendable {
    /// A file in the data directory (0600), created with the first capture.
    case file
    /// A program, run without a shell, whose first line of output is 64 hexadecimal digits or base64 of 32 bytes.
    case command([String])

    /// Parses 64 hexadecimal digits in either case, or base64 of 32 bytes with padding.
    static func parse(_ text: some StringProtocol) -> StreamingAEAD.Key? {
        if let digest = SHA256Digest(hex: text.lowercased()) { return StreamingAEAD.Key(digest.bytes) }
        return Data(base64Encoded: String(text)).flatMap { StreamingAEAD.Key([UInt8]($0)) }
    }
}

/// `captures/vault.key`: 64 hexadecimal digits and a line feed. Base64 of 32 bytes is also read.
///
/// Blobs cannot be decrypted without their key, so a key is never replaced, and a new key is not created while there
/// are blobs: the old key may be restored from a backup.
struct VaultKeyFile {
    private let directory: DataDirectory
    private let path: [UInt8]

    private static let name = "vault.key"
    static let draftPrefix = ".vault.key-"

    init(_ directory: DataDirectory) {
        self.directory = directory
        path = Array("\(directory.path(of: .captures))/\(Self.name)".utf8)
    }

    /// - Throws: `.vaultUnusable`, including if there is no key.
    func read() throws(CaptureError) -> StreamingAEAD.Key {
        guard let key = try existing() else { throw missing }
        return key
    }

    /// Reads the key, or creates the first one. If several processes run this, exactly one creates it.
    ///
    /// - Throws: `.vaultUnusable`, `.diskFull`.
    func readOrMake() throws(CaptureError) -> StreamingAEAD.Key {
        if let key = try existing() { return key }
        try CaptureError.inVault { _ = try directory.make(.captures) }
        let hasBlobs = try CaptureError.inVault { try self.hasBlobs() }
        // A blob may have been created with its key since the first read.
        if let key = try existing() { return key }
        guard !hasBlobs else { throw missing }
        try CaptureError.inVault { try make() }
        return try read()
    }

    private var missing: CaptureError {
        CaptureError(
            .vaultUnusable,
            detail: "the key of the stored captures is missing; restore it from a backup",
            path: path
        )
    }

    private func existing() throws(CaptureError) -> StreamingAEAD.Key? {
        let bytes: [UInt8]
        do {
            bytes = try SourceFile(path: path).prefix(66)
        } catch {
            switch error.kind {
            case .notFound: return nil
            case .empty: bytes = []
            default:
                throw CaptureError(
                    .vaultUnusable,
                    detail: "the key cannot be read (\(error.kind))",
                    path: path,
                    underlying: error
                )
            }
        }
        let line = bytes.last == UInt8(ascii: "\n") ? bytes.dropLast() : bytes[...]
        guard let key = VaultKey.parse(String(decoding: line, as: UTF8.self)) else {
            throw CaptureError(
                .vaultUnusable,
                detail: "the key file is damaged; restore it from a backup",
                path: path
            )
        }
        return key
    }

    /// Writes a key under a temporary name and renames it, unless another process was faster.
    private func make() throws {
        guard let captures = try TargetDirectory.open(Array(directory.path(of: .captures).utf8), creating: false) else {
            throw CaptureError(.vaultUnusable, detail: "the vault no longer exists", path: path)
        }
        let text = try StreamingAEAD.Key.generate().withBytes { HexText.lowerCase($0) } + "\n"
        while true {
            let draft = WholeFile(in: captures, temporaryName: Self.draftPrefix + UUID().uuidString, audience: .owner)
            do throws(FileWriteError) {
                return try draft.write(Array(text.utf8), as: Array(Self.name.utf8), replacing: false)
            } catch {
                if error.kind == .exists { return }
                // A process that removes drafts may lock a new draft first; in that case, another is created.
                guard error.kind == .busy else { throw error }
            }
        }
    }

    private func hasBlobs() throws -> Bool {
        guard let captures = try TargetDirectory.open(Array(directory.path(of: .captures).utf8), creating: false) else {
            return false
        }
        return try captures.names().map { String(decoding: $0, as: UTF8.self) }.contains { name in
            let id =
                name.hasPrefix(CaptureVault.draftPrefix) ? name.dropFirst(CaptureVault.draftPrefix.count) : name[...]
            guard CaptureID.isValid(String(id)), let capture = try captures.subdirectory(name, creating: false) else {
                return false
            }
            return try CaptureVault.Kind.allCases.contains { try capture.status(of: Array($0.rawValue.utf8)) != nil }
        }
    }

    /// Removes the draft of a crashed process; nothing was encrypted with it.
    static func discardDraft(_ name: String, in captures: TargetDirectory) throws(FileWriteError) {
        do throws(FileWriteError) {
            try PartialFile.open(name, in: captures).discard()
        } catch {
            guard error.kind == .busy else { throw error }
        }
    }
}

final class VaultKeyring: Sendable {
    private let source: VaultKey
    private let directory: DataDirectory
    private let known = Mutex<StreamingAEAD.Key?>(nil)
    /// Whether `known` was checked against the stored captures.
    private let isChecked = Mutex(false)

    init(_ source: VaultKey, in directory: DataDirectory) {
        self.source = source
        self.directory = directory
    }

    /// Returns the cached key, or fetches it. If `isCreated` is true, the first key may be created, but never while
    /// there are blobs.
    ///
    /// - Throws: `.vaultUnusable`, `.diskFull`, `.cancelled`.
    func key(creating isCreated: Bool) async throws(CaptureError) -> StreamingAEAD.Key {
        if let key = known.withLock({ $0 }) { return key }
        let key: StreamingAEAD.Key
        switch source {
        case .file:
            let file = VaultKeyFile(directory)
            key = try isCreated ? file.readOrMake() : file.read()
        case .command(let arguments): key = try await Self.run(arguments)
        }
        known.withLock { $0 = key }
        return key
    }

    /// The key for a new capture, created if there are no blobs. `check` compares it with the stored captures, once.
    ///
    /// - Throws: Errors from `key` and `check`.
    func sealingKey(
        _ check: (StreamingAEAD.Key) async throws(CaptureError) -> Void
    ) async throws(CaptureError) -> StreamingAEAD.Key {
        let key = try await key(creating: true)
        guard !isChecked.withLock({ $0 }) else { return key }
        try await check(key)
        isChecked.withLock { $0 = true }
        return key
    }

    /// The previously fetched key; a key in a file is read if necessary.
    ///
    /// - Throws: `.vaultUnusable`.
    func knownKey() throws(CaptureError) -> StreamingAEAD.Key {
        if let key = known.withLock({ $0 }) { return key }
        guard case .file = source else { throw CaptureError(.vaultUnusable, detail: "the key was not fetched yet") }
        return try VaultKeyFile(directory).readOrMake()
    }

    /// Errors contain only the program, since its arguments may be secret.
    private static func run(_ arguments: [String]) async throws(CaptureError) -> StreamingAEAD.Key {
        let program = "vault_key_command \"\(TerminalText.escaped(arguments.first ?? ""))\""
        let result: ProgramResult
        do {
            result = try await ProgramRun(arguments).run()
        } catch {
            if error == .cancelled { throw CaptureError(.cancelled) }
            throw CaptureError(.vaultUnusable, detail: "\(program) \(error.detail)")
        }
        if let words = result.failure { throw CaptureError(.vaultUnusable, detail: "\(program) \(words)") }
        let line = result.output.prefix { $0 != 0x0a && $0 != 0x0d }
        guard let key = VaultKey.parse(String(decoding: line, as: UTF8.self)) else {
            throw CaptureError(
                .vaultUnusable,
                detail: "\(program) printed no key: 64 hexadecimal digits, or base64 of 32 bytes"
            )
        }
        return key
    }
}
