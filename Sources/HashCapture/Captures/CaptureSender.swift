public import CaptureSubmission
internal import Foundation
public import MediaCrypto
internal import MediaStore
internal import MediaSystem
internal import MediaTransport

/// A signed body and its counters: the only data that the sending code receives.
struct SignedSubmission: Sendable {
    let body: HashOnlyBody
    /// Counter of the request's signature; lower than the counter of the payload (M12).
    let requestCounter: UInt32
    let payloadCounter: UInt32
    /// UUID, echoed by the server.
    let requestID: String
}

/// Signs payloads and sends them, for one device. The device's counter is locked for the lifetime of the value, so
/// exchanges are serialized in counter order. It has no access to the store, the vault or files.
struct CaptureSender: Sendable {
    let client: CaptureClient
    let device: CaptureDevice
    let counter: CounterFile

    /// Takes two counters and signs a payload with the second one.
    ///
    /// - Throws: `.signingFailed`, `.counterExhausted`, `.payloadTooLarge`.
    func sign(_ payload: HashOnlyPayload) async throws(CaptureError) -> SignedSubmission {
        let first = try take(2)
        CaptureFailpoint.countersTaken.reach()
        let signed = try payload.clientDataHash(for: device.profile)
        let assertion = try await Assertion.sign(signed, rpID: device.rpID, counter: first + 1, with: device.signer)
        return SignedSubmission(
            body: try payload.body(for: device.profile, assertion: assertion.base64),
            requestCounter: first,
            payloadCounter: first + 1,
            requestID: UUID().uuidString.lowercased()
        )
    }

    /// The header fields of a request whose body has this digest, signed as late as possible (trap 24). `time` is the
    /// estimated time on the server's clock.
    ///
    /// - Throws: `.signingFailed`.
    func headers(
        of digest: SHA256Digest,
        counter: UInt32,
        at time: Date
    ) async throws(CaptureError) -> [HTTPHeader] {
        let milliseconds = Int64(time.timeIntervalSince1970 * 1000)
        return try await RequestSignature.headers(
            bodyDigest: digest,
            device: device,
            counter: counter,
            milliseconds: milliseconds
        )
    }

    // MARK: Queries

    func remote(
        byHash hash: SHA256Digest,
        at time: Date,
        control: TransferControl
    ) async throws(CaptureError) -> RemoteCapture? {
        try await querying(at: time) { headers throws(CaptureError) in
            try await client.capture(byHash: hash, headers: headers, control: control)
        }
    }

    func remote(
        _ id: String,
        at time: Date,
        control: TransferControl = TransferControl()
    ) async throws(CaptureError) -> RemoteCapture {
        try await querying(at: time) { headers throws(CaptureError) in
            try await client.capture(id, headers: headers, control: control)
        }
    }

    /// Sends a query; repeats it once with the server's time if its clock differs (contract 1.3).
    private func querying<Response>(
        at time: Date,
        _ query: ([HTTPHeader]) async throws(CaptureError) -> Response
    ) async throws(CaptureError) -> Response {
        do throws(CaptureError) {
            return try await query(try await headersOfQuery(at: time))
        } catch {
            guard let date = error.serverTime else { throw error }
            return try await query(try await headersOfQuery(at: date))
        }
    }

    private func headersOfQuery(at time: Date) async throws(CaptureError) -> [HTTPHeader] {
        try await headers(of: SHA256Digest.of([]), counter: try take(1), at: time)
    }

    func take(_ count: UInt32) throws(CaptureError) -> UInt32 {
        do {
            return try counter.take(count)
        } catch {
            throw error.kind == .other
                ? CaptureError(.counterExhausted, detail: error.detail, underlying: error) : CaptureError(error)
        }
    }
}

extension CaptureError {
    /// The server's time, if it rejected the request because of a wrong clock.
    var serverTime: Date? {
        guard self.code == .clockWrong, let seconds = self.value.flatMap(HTTPDate.parse) else { return nil }
        return Date(timeIntervalSince1970: TimeInterval(seconds))
    }
}

/// A capture to submit.
public struct CaptureRequest: Sendable {
    /// The media.
    public enum Subject: Sendable, Equatable {
        /// A file; its path is in bytes.
        case file([UInt8])
        /// The digest of a file that is not on this machine: recorded as not observed.
        case digest(SHA256Digest)
    }

    /// The depth of the scene.
    public enum Depth: Sendable, Equatable {
        /// Not specified: a photo is previewed, not submitted (hash-only contract, new rule 4). This also applies to a
        /// video on `reference`, which would record it as suspicious (M8).
        case unspecified
        /// The user confirms that there is no depth map.
        case declined
        /// One depth map.
        case map(path: [UInt8], layout: DepthMapFile.Layout)
        /// The depth maps of a video's keyframes, in order.
        case keyframes(paths: [[UInt8]], layout: DepthMapFile.Layout)
    }

    public var subject: Subject
    /// The media type. If nil, it is derived from the file; required for a digest.
    public var mediaType: CaptureMediaType?
    public var depth: Depth
    /// Facts specified by the user, which take precedence over facts from the file.
    public var facts: CaptureFacts
    /// Chain, frames and duration of a video, without its temporal analysis.
    public var video: VideoMembers?
    /// Whether to refuse a file whose time has no zone, instead of disclosing only its day.
    public var requiresExactTime: Bool
    /// The effective settings.
    public var settings: PrivacySettings
    /// On `reference`: whether to send a coarse location as coordinates with one decimal.
    public var sendsCoarseCoordinates: Bool

    public init(
        _ subject: Subject,
        mediaType: CaptureMediaType? = nil,
        depth: Depth = .unspecified,
        facts: CaptureFacts = CaptureFacts(),
        video: VideoMembers? = nil,
        settings: PrivacySettings,
        sendsCoarseCoordinates: Bool = false,
        requiresExactTime: Bool = false
    ) {
        self.subject = subject
        self.mediaType = mediaType
        self.depth = depth
        self.facts = facts
        self.video = video
        self.settings = settings
        self.sendsCoarseCoordinates = sendsCoarseCoordinates
        self.requiresExactTime = requiresExactTime
    }
}
