public import CaptureSubmission
internal import Foundation
internal import MediaCrypto
internal import MediaFiles
public import MediaStore
public import MediaTransport

extension CaptureSession {
    /// Hashes a file here, finds its record, and compares record, stored body and, unless offline, the server's capture.
    ///
    /// Offline, neither a network nor a key is needed. Online, one counter is used.
    ///
    /// - Parameters:
    ///   - path: The file, as bytes.
    ///   - isOffline: Whether the server is left alone.
    ///   - control: Breaks the request off.
    /// - Returns: Every check with its finding.
    /// - Throws: `CaptureError` `.captureUnknown` when no record has this hash; `.fileNotFound` …; what kept the server from
    ///   answering.
    public func verify(
        file path: [UInt8],
        isOffline: Bool,
        control: TransferControl = TransferControl()
    ) async throws(CaptureError) -> CaptureVerification {
        try await verify(.file(path), isOffline: isOffline, control: control)
    }

    /// The same for a file or a digest.
    ///
    /// - Parameters:
    ///   - subject: What to look for.
    ///   - isOffline: Whether the server is left alone.
    ///   - control: Breaks the request off.
    /// - Returns: Every check with its finding.
    /// - Throws: `CaptureError`.
    public func verify(
        _ subject: CaptureRequest.Subject,
        isOffline: Bool,
        control: TransferControl = TransferControl()
    ) async throws(CaptureError) -> CaptureVerification {
        try await verify(try await find(subject), isOffline: isOffline, control: control)
    }

    /// Hashes a file here and finds its record: one of this session's server first, then of any.
    ///
    /// - Parameter subject: What to look for.
    /// - Returns: The record, which tells whose session can ask the server.
    /// - Throws: `CaptureError` `.captureUnknown` when no record has this hash; `.fileNotFound` ….
    public func find(_ subject: CaptureRequest.Subject) async throws(CaptureError) -> CaptureMatch {
        let digest = try await digest(of: subject)
        let records = try records(of: digest)
        let own = records.filter { $0.server == server }
        guard let record = own.first(where: { $0.state == .accepted }) ?? own.first ?? records.first else {
            throw CaptureError(
                .captureUnknown,
                detail: "no record has this hash",
                path: subject.path,
                value: digest.hex
            )
        }
        return CaptureMatch(subject: subject, digest: digest, record: record)
    }

    /// Compares what was found.
    ///
    /// - Parameters:
    ///   - match: What `find` found.
    ///   - isOffline: Whether the server is left alone, as it is when the record is another's.
    ///   - control: Breaks the request off.
    /// - Returns: Every check with its finding.
    /// - Throws: `CaptureError`.
    public func verify(
        _ match: CaptureMatch,
        isOffline: Bool,
        control: TransferControl = TransferControl()
    ) async throws(CaptureError) -> CaptureVerification {
        let (record, digest) = (match.record, match.digest)
        let bundle = CaptureBundle(record)
        var findings: [(check: CaptureVerification.Check, finding: CaptureVerification.Finding)] = [
            (.fileHash, match.subject.path == nil ? .skipped("a digest was given, no file") : .passed),
            (.bodyHash, bundle.bodyHash(digest)), (.signature, bundle.signature()), (.counter, bundle.counter()),
            (.vault, await vaultFinding(record, digest)),
        ]
        let (finding, remote) = try await serverFinding(record, digest, isOffline: isOffline, control)
        findings.append((.server, finding))
        return CaptureVerification(record: record, findings: findings, remote: remote)
    }

    private func digest(of subject: CaptureRequest.Subject) async throws(CaptureError) -> SHA256Digest {
        switch subject {
        case .digest(let digest): return digest
        case .file(let path):
            let file: SourceFile
            do {
                file = try SourceFile(path: path)
            } catch {
                throw CaptureError(error)
            }
            return try await SHA256Digest.of(file)
        }
    }

    private func vaultFinding(_ record: CaptureRecord, _ digest: SHA256Digest) async -> CaptureVerification.Finding {
        guard record.isObserved else { return .skipped("the media was not observed here") }
        do throws(CaptureError) {
            let kept = try await vault.check(.media, of: record.id)
            return kept == digest ? .passed : .failed("the kept media has another hash")
        } catch {
            return .failed(error.description)
        }
    }

    // MARK: The server

    private func serverFinding(
        _ record: CaptureRecord,
        _ digest: SHA256Digest,
        isOffline: Bool,
        _ control: TransferControl
    ) async throws(CaptureError) -> (CaptureVerification.Finding, RemoteCapture?) {
        if isOffline { return (.skipped("offline"), nil) }
        guard record.server == server else { return (.skipped("the record is of \(record.server)"), nil) }
        guard let id = record.serverCaptureID else { return (.skipped("the server has not accepted it"), nil) }
        do throws(CaptureError) {
            let remote = try await remote(id, control)
            return (Self.compare(remote, record, digest), remote)
        } catch {
            switch error.code {
            case .captureNotFound: return (.failed("the server has no such capture"), nil)
            case .forbidden: return (.failed("the server says that the capture is another device's"), nil)
            default: throw error
            }
        }
    }

    private func remote(_ id: String, _ control: TransferControl) async throws(CaptureError) -> RemoteCapture {
        let device = try device()
        let key = try await DeviceKey(surroundings.directory).signer(for: device)
        let counter = try await lock(device.deviceID)
        defer { counter.release() }
        let sender = CaptureSender(client: client, device: CaptureDevice(device, profile, key), counter: counter)
        return try await sender.remote(id, at: surroundings.now(), control: control)
    }

    static func compare(
        _ remote: RemoteCapture,
        _ record: CaptureRecord,
        _ digest: SHA256Digest
    ) -> CaptureVerification.Finding {
        if let hash = remote.mediaHash, SHA256Digest(hex: hash) != digest {
            return .failed("the server's capture names another hash")
        }
        guard record.mode != .full else { return .passed }
        if remote.mediaHash == nil { return .failed("the server's capture names no hash") }
        if remote.isMediaStored == true || remote.captureMode == CaptureRecord.Mode.full.rawValue {
            return .failed("the server says that it has the media")
        }
        return .passed
    }
}

/// A file or digest, and the record that was made of it.
public struct CaptureMatch: Sendable {
    let subject: CaptureRequest.Subject
    let digest: SHA256Digest
    /// What was found.
    public let record: CaptureRecord
}

extension CaptureRequest.Subject {
    /// nil for a digest.
    var path: [UInt8]? {
        if case .file(let path) = self { path } else { nil }
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

    /// Whether nothing failed.
    public var isGood: Bool {
        findings.allSatisfy { if case .failed = $0.finding { false } else { true } }
    }
}
