internal import CaptureSubmission
internal import Foundation
internal import MediaCore
internal import MediaCrypto
internal import MediaFiles
internal import MediaStore
internal import Synchronization

/// The vault's key, fetched once.
final class VaultKeyring: Sendable {
    private let source: VaultKey
    private let directory: DataDirectory
    private let known = Mutex<StreamingAEAD.Key?>(nil)

    init(_ source: VaultKey, in directory: DataDirectory) {
        self.source = source
        self.directory = directory
    }

    /// Reads, makes or asks for the key.
    ///
    /// - Parameter isCreated: Whether the first key may be made; never while there are blobs that need an older one.
    /// - Returns: The key.
    /// - Throws: `CaptureError` `.vaultUnusable`, `.diskFull`, `.cancelled`.
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

    /// The key that was fetched before; one in a file is read when there was none.
    ///
    /// - Throws: `CaptureError` `.vaultUnusable`.
    func knownKey() throws(CaptureError) -> StreamingAEAD.Key {
        if let key = known.withLock({ $0 }) { return key }
        guard case .file = source else { throw CaptureError(.vaultUnusable, detail: "the key was not asked for yet") }
        return try VaultKeyFile(directory).readOrMake()
    }

    /// Arguments may be telling, so that only the program is named.
    private static func run(_ arguments: [String]) async throws(CaptureError) -> StreamingAEAD.Key {
        let program = "vault_key_command \"\(TerminalText.escaped(arguments.first ?? ""))\""
        let result: ProgramResult
        do {
            let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
            result = try await ProgramRun(arguments, searchPath: path).run()
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
