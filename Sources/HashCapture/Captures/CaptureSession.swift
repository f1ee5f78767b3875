public import CaptureSubmission
public import Foundation
public import MediaStore
public import MediaTransport

/// Captures of this machine for one server: proving, retrying, verifying, exporting.
///
/// Safe for many processes at once. The sending part takes a signed body and nothing else; it has no way to the vault.
public struct CaptureSession: Sendable {
    /// What a session works with.
    public struct Surroundings: Sendable {
        public var directory: DataDirectory
        public var library: LibraryStore
        public var vaultKey: VaultKey
        /// Of this program, for the level `full`.
        public var programVersion: String
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

    public let client: CaptureClient
    public let profile: CaptureProfile
    let surroundings: Surroundings

    /// Makes a session.
    public init(client: CaptureClient, profile: CaptureProfile, surroundings: Surroundings) {
        self.client = client
        self.profile = profile
        self.surroundings = surroundings
    }

    /// Finishes what processes that have died left: drafts in the vault, records in `submitted` without an owner, which
    /// become `unknown_outcome`. Called at the start of every command.
    ///
    /// - Throws: `CaptureError` `.storeUnusable`, `.vaultUnusable`.
    public func adopt() async throws(CaptureError) {}

    /// What would be sent: reads the file, writes nothing, uses no counter and no key.
    public func preview(_ request: CaptureRequest) async throws(CaptureError) -> CapturePreview {
        throw CaptureError(.internalError)
    }

    /// Proves one capture: media into the vault, record, signature, submission.
    ///
    /// Cancelling ends it between any two steps; the record says how far it got, and `retry` goes on.
    ///
    /// - Parameters:
    ///   - request: What to prove.
    ///   - progress: Bytes of the media read so far, and in all.
    ///   - control: Breaks a request off.
    /// - Returns: The record as it is now. `error` says what kept it from being accepted.
    /// - Throws: `CaptureError` when there is no record at all.
    public func capture(
        _ request: CaptureRequest,
        control: TransferControl = TransferControl(),
        progress: (@Sendable (_ done: Int64, _ total: Int64) -> Void)? = nil
    ) async throws(CaptureError) -> CaptureOutcome {
        throw CaptureError(.internalError)
    }

    /// What a user allows for one record.
    public enum RetryChoice: Sendable {
        /// Signs what is pending (3 failures at most), sends what is queued, asks for what is unknown.
        case ordinary
        /// Also sends once more, under a new counter, what is probably already there (`reference`).
        case resend
        /// Makes a record without a mode a hash-only one, and goes on.
        case adoptAsHashOnly
    }

    /// Goes on with a record that is not settled.
    ///
    /// - Throws: `CaptureError` `.captureUnknown`, `.localOnly` for a record without a mode.
    public func retry(
        _ id: String,
        _ choice: RetryChoice = .ordinary,
        control: TransferControl = TransferControl()
    ) async throws(CaptureError) -> CaptureOutcome {
        throw CaptureError(.internalError)
    }

    /// The one record whose id begins like this.
    ///
    /// - Throws: `CaptureError` `.captureUnknown` when there is none or more than one.
    public func record(_ idPrefix: String) throws(CaptureError) -> CaptureRecord {
        throw CaptureError(.internalError)
    }

    /// Hashes a file here, finds its record, and compares record, stored body and, unless offline, the server's capture.
    ///
    /// - Throws: `CaptureError` `.captureUnknown` when no record has this hash; `.fileNotFound` …
    public func verify(
        file path: [UInt8],
        isOffline: Bool,
        control: TransferControl = TransferControl()
    ) async throws(CaptureError) -> CaptureVerification {
        throw CaptureError(.internalError)
    }

    /// Decrypts the media of a record to a file, and its depth map beside it when asked; the hash is verified before the
    /// file gets its name.
    ///
    /// - Throws: `CaptureError`.
    public func export(_ id: String, to path: [UInt8], depthTo depthPath: [UInt8]?) async throws(CaptureError)
        -> CaptureRecord
    {
        throw CaptureError(.internalError)
    }

    /// The ordinary full upload (contract section 7): the media leaves. Refused while privacy mode is on.
    ///
    /// - Throws: `CaptureError`.
    public func sendMedia(
        _ request: CaptureRequest,
        control: TransferControl = TransferControl(),
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(CaptureError) -> CaptureOutcome {
        throw CaptureError(.internalError)
    }
}

/// Where a capture has got to.
public struct CaptureOutcome: Sendable {
    public var record: CaptureRecord
    public var notices: [CaptureNotice]
    /// What kept it from being accepted.
    public var error: CaptureError?
    /// Whether the record was there before and nothing had to be sent.
    public var isKnown: Bool

    /// Makes an outcome.
    public init(record: CaptureRecord, notices: [CaptureNotice] = [], error: CaptureError? = nil, isKnown: Bool = false)
    {
        self.record = record
        self.notices = notices
        self.error = error
        self.isKnown = isKnown
    }
}

/// What comparing a file with its record showed.
public struct CaptureVerification: Sendable {
    /// One thing that was looked at.
    public enum Check: String, Sendable, CaseIterable {
        /// The file's hash is the record's.
        case fileHash = "file_hash"
        /// The stored body names that hash.
        case bodyHash = "body_hash"
        /// The assertion's signature fits body and key.
        case signature
        /// The assertion's counter is the record's.
        case counter
        /// The copy in the vault decrypts to that hash.
        case vault
        /// The server's capture names that hash.
        case server
    }

    /// How it came out.
    public enum Finding: Sendable, Equatable {
        case passed
        case failed(String)
        /// It was not looked at, and why.
        case skipped(String)
    }

    public var record: CaptureRecord
    /// Every check, in the order of `Check.allCases`.
    public var findings: [(check: Check, finding: Finding)]
    public var remote: RemoteCapture?

    /// Makes a verification.
    public init(
        record: CaptureRecord,
        findings: [(check: Check, finding: Finding)],
        remote: RemoteCapture? = nil
    ) {
        self.record = record
        self.findings = findings
        self.remote = remote
    }

    /// Whether nothing failed.
    public var isGood: Bool {
        findings.allSatisfy { if case .failed = $0.finding { false } else { true } }
    }
}
