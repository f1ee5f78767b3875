public import CaptureSubmission
internal import Foundation
internal import MediaCrypto
internal import MediaFiles
public import MediaStore

extension CaptureSession {
    /// Hashes a file, finds its record, and compares the file with the record, the stored body and, unless offline, the
    /// server's capture.
    ///
    /// Offline, neither network nor key is required. Online, one counter is used. If the server or the vault is
    /// unusable, its check is `.skipped` and its error is in `errors`; the other checks still run. The server's check
    /// is also `.skipped`, without an error, if this machine is now registered as a different device.
    ///
    /// - Throws: `CaptureError` `.captureUnknown` if no record has this hash; `.fileNotFound` and other file errors;
    ///   `.cancelled`.
    public func verify(file path: [UInt8], isOffline: Bool) async throws(CaptureError) -> CaptureVerification {
        try await verify(try await find(.file(path)), isOffline: isOffline)
    }

    /// Hashes a file and finds its record among those accepted by `isIncluded`, preferring a record for this session's
    /// server. Only a session for the record's server can query the record.
    ///
    /// - Throws: `CaptureError` `.captureUnknown` if no record has this hash; `.fileNotFound` and other file errors.
    public func find(
        _ subject: CaptureRequest.Subject,
        where isIncluded: (CaptureRecord) -> Bool = { _ in true }
    ) async throws(CaptureError) -> CaptureMatch {
        let digest = try await digest(of: subject)
        let all = try records(ofMedia: digest.hex)
        let records = all.filter(isIncluded)
        let own = records.filter { $0.server == server }
        guard let record = own.first(where: { $0.state == .accepted }) ?? own.first ?? records.first else {
            throw CaptureError(
                .captureUnknown,
                detail: all.first.map { "its capture is for \($0.server)" } ?? "no record has this hash",
                path: subject.path,
                value: digest.hex
            )
        }
        return CaptureMatch(subject: subject, digest: digest, record: record)
    }

    /// Verifies a match. The server check is skipped for a record that belongs to a different server.
    public func verify(_ match: CaptureMatch, isOffline: Bool) async throws(CaptureError) -> CaptureVerification {
        let (record, digest) = (match.record, match.digest)
        let bundle = CaptureBundle(record)
        var findings: [(check: CaptureVerification.Check, finding: CaptureVerification.Finding)] = [
            (.fileHash, match.subject.path == nil ? .skipped("a digest was specified, not a file") : .passed),
            (.bodyHash, bundle.bodyHash(digest)), (.signature, bundle.signature()), (.counter, bundle.counter()),
        ]
        var errors: [CaptureError] = []
        findings.append((.vault, try await vaultFinding(record, digest, &errors)))
        let (finding, remote) = try await serverFinding(record, digest, isOffline: isOffline, &errors)
        findings.append((.server, finding))
        return CaptureVerification(record: record, findings: findings, remote: remote, errors: errors)
    }

    private func digest(of subject: CaptureRequest.Subject) async throws(CaptureError) -> SHA256Digest {
        switch subject {
        case .digest(let digest): return digest
        case .file(let path): return try await SHA256Digest.of(CaptureError.reading(SourceFile(path: path)))
        }
    }

    private func vaultFinding(
        _ record: CaptureRecord,
        _ digest: SHA256Digest,
        _ errors: inout [CaptureError]
    ) async throws(CaptureError) -> CaptureVerification.Finding {
        guard record.isObserved else { return .skipped("the media was not observed here") }
        do throws(CaptureError) {
            let kept = try await vault.check(.media, of: record.id)
            return kept == digest ? .passed : .failed("the stored media has a different hash")
        } catch {
            switch error.code {
            case .cancelled: throw error
            case .mediaDamaged, .mediaMissing:
                errors.append(error)
                return .failed(error.detail)
            default:
                errors.append(error)
                return .skipped("the vault cannot be used")
            }
        }
    }

    // MARK: Server

    private func serverFinding(
        _ record: CaptureRecord,
        _ digest: SHA256Digest,
        isOffline: Bool,
        _ errors: inout [CaptureError]
    ) async throws(CaptureError) -> (CaptureVerification.Finding, RemoteCapture?) {
        if isOffline { return (.skipped("offline"), nil) }
        guard record.server == server else { return (.skipped("the capture is for \(record.server)"), nil) }
        guard let id = record.serverCaptureID else {
            guard record.state.mayBeOnServer || record.mayBeAcceptedEarlier else {
                return (.skipped("the server has not accepted it"), nil)
            }
            errors.append(CaptureError(.unknownOutcome, value: record.id))
            return (.skipped("whether the server has it is unknown"), nil)
        }
        do throws(CaptureError) {
            let device = try device()
            // The server shows a capture only to its own device.
            if let owner = record.deviceID, owner != device.deviceID {
                return (.skipped("this machine is now registered as another device"), nil)
            }
            let remote = try await remote(id, device)
            return (Self.compare(remote, record, digest), remote)
        } catch {
            switch error.code {
            case .captureNotFound:
                errors.append(error)
                return (.failed("the server has no such capture"), nil)
            case .forbidden: return (.failed("the server reports that the capture is from another device"), nil)
            case .cancelled: throw error
            default:
                errors.append(error)
                return (.skipped(Self.reason(error)), nil)
            }
        }
    }

    /// Why the server was not queried, or returned no usable response.
    private static func reason(_ error: CaptureError) -> String {
        if let status = error.httpStatus { return "server returned \(status)" }
        switch error.code {
        case .notRegistered: return "this machine is not registered"
        case .keyUnusable, .signingFailed: return "the signing key cannot be used"
        case .counterExhausted, .busy, .storeUnusable, .diskFull: return "the counter cannot be used"
        default: return "server unreachable"
        }
    }

    private func remote(_ id: String, _ device: CaptureDeviceRecord) async throws(CaptureError) -> RemoteCapture {
        let key = try await DeviceKey(directory: dependencies.directory).signer(for: device)
        let counter = try await lock(device.deviceID)
        defer { counter.release() }
        let sender = CaptureSender(client: client, device: CaptureDevice(device, profile, key), counter: counter)
        return try await sender.remote(id, at: dependencies.now())
    }

    static func compare(
        _ remote: RemoteCapture,
        _ record: CaptureRecord,
        _ digest: SHA256Digest
    ) -> CaptureVerification.Finding {
        if let hash = remote.mediaHash, SHA256Digest(hex: hash) != digest {
            return .failed("the server's capture has a different hash")
        }
        guard record.mode != .full else { return .passed }
        if remote.mediaHash == nil { return .failed("the server's capture has no hash") }
        if remote.isMediaStored == true || remote.captureMode == CaptureRecord.Mode.full.rawValue {
            return .failed("the server reports that it has the media")
        }
        return .passed
    }
}

/// A file or digest, and its record.
public struct CaptureMatch: Sendable {
    let subject: CaptureRequest.Subject
    let digest: SHA256Digest
    public let record: CaptureRecord
}

extension CaptureRequest.Subject {
    /// nil for a digest.
    var path: [UInt8]? {
        if case .file(let path) = self { path } else { nil }
    }
}

/// The result of comparing a file with its record.
public struct CaptureVerification: Sendable {
    /// The kind of check.
    public enum Check: String, Sendable, CaseIterable {
        /// The file's hash matches the record.
        case fileHash = "file_hash"
        /// The stored body contains the file's hash.
        case bodyHash = "body_hash"
        /// The assertion's signature is valid for the body and key.
        case signature
        /// The assertion's counter matches the record.
        case counter
        /// In a bundle: the members for other programs match the body.
        case members
        /// The copy in the vault decrypts to data with the file's hash.
        case vault
        /// The server's capture has the file's hash.
        case server
    }

    /// The result of a check.
    public enum Finding: Sendable, Equatable {
        case passed
        /// Failed, with the reason.
        case failed(String)
        /// Not checked, with the reason.
        case skipped(String)
    }

    public var record: CaptureRecord
    /// The checks, in the order of `Check.allCases`.
    public var findings: [(check: Check, finding: Finding)]
    /// The server's capture, if it was queried.
    public var remote: RemoteCapture?
    /// The errors that prevented checking the vault or the server, or the reason why such a check failed.
    public var errors: [CaptureError] = []

    /// Whether no check failed.
    public var isGood: Bool {
        findings.allSatisfy { if case .failed = $0.finding { false } else { true } }
    }
}

extension CaptureVerification {
    /// Checks a record read from a bundle, a file of unknown origin, without using the store, a key or the network.
    /// `file` is whether a media file has the record's hash; `members` is whether the other members of the bundle match
    /// the body.
    public init(ofBundle record: CaptureRecord, file: Finding, members: Finding) {
        let bundle = CaptureBundle(record)
        let digest = SHA256Digest(hex: record.mediaHash)
        self.init(
            record: record,
            findings: [
                (.fileHash, file),
                (.bodyHash, digest.map(bundle.bodyHash) ?? .failed("the bundle contains no hash")),
                (.signature, bundle.signature()), (.counter, bundle.counter()), (.members, members),
                (.server, .skipped("a bundle is verified without the server")),
            ]
        )
    }
}
