public import CaptureSubmission
public import MediaStore

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
        /// As it should be.
        case passed
        /// Not so, and in what way.
        case failed(String)
        /// It was not looked at, and why.
        case skipped(String)
    }

    /// The record that was found.
    public var record: CaptureRecord
    /// Every check, in the order of `Check.allCases`.
    public var findings: [(check: Check, finding: Finding)]
    /// What the server has, when it was asked.
    public var remote: RemoteCapture?

    /// Makes a verification.
    package init(
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
