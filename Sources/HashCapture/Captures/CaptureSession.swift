public import CaptureSubmission
public import Foundation
public import MediaStore

/// Captures of this machine for one server: proving, retrying, verifying, exporting.
///
/// Safe for many processes at once. The sending part takes a signed body and nothing else; it has no way to the vault.
public struct CaptureSession: Sendable {
    /// How often signing may fail for one record before only a deliberate resend tries again.
    public static let signingLimit = 3

    /// What a session works with.
    public struct Surroundings: Sendable {
        /// Where everything is kept.
        public var directory: DataDirectory
        /// Keeps records and devices.
        public var library: LibraryStore
        /// Where the vault's key comes from.
        public var vaultKey: VaultKey
        /// Of this program, for the level `full`; `unknown` is told where it is empty.
        public var programVersion: String
        /// This machine's clock.
        public var now: @Sendable () -> Date

        /// Makes surroundings; by default the vault's key is a file beside the vault.
        public init(
            directory: DataDirectory,
            library: LibraryStore,
            vaultKey: VaultKey = .file,
            programVersion: String = "",
            now: @escaping @Sendable () -> Date = { Date() }
        ) {
            self.directory = directory
            self.library = library
            self.vaultKey = vaultKey
            self.programVersion = programVersion
            self.now = now
        }
    }

    /// The server.
    public let client: CaptureClient
    /// How the server reads captures.
    public let profile: CaptureProfile
    let surroundings: Surroundings
    /// One for the whole session, so that its key is fetched once, however many captures there are.
    let vault: CaptureVault

    /// Makes a session.
    public init(client: CaptureClient, profile: CaptureProfile, surroundings: Surroundings) {
        self.client = client
        self.profile = profile
        self.surroundings = surroundings
        vault = CaptureVault(directory: surroundings.directory, key: surroundings.vaultKey)
    }
}
