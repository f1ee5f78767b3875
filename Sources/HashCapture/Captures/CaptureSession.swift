public import CaptureSubmission
public import Foundation
public import MediaStore

/// Captures of this machine for one server: proving, retrying, verifying, exporting.
///
/// Safe for many processes at once. The sending part takes a signed body and nothing else; it has no way to the vault.
public struct CaptureSession: Sendable {
    /// What a session works with.
    public struct Surroundings: Sendable {
        /// Where everything is kept.
        public var directory: DataDirectory
        /// Keeps records and devices.
        public var library: LibraryStore
        /// Where the vault's key comes from.
        public var vaultKey: VaultKey
        /// Of this program, for the level `full`.
        public var programVersion: String
        /// This machine's clock.
        public var now: @Sendable () -> Date

        /// Makes surroundings.
        public init(
            directory: DataDirectory,
            library: LibraryStore,
            vaultKey: VaultKey,
            programVersion: String,
            now: @escaping @Sendable () -> Date
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
