public import CaptureSubmission
public import Foundation
internal import MediaCrypto
internal import MediaFiles
public import MediaStore
internal import MediaSystem
public import MediaTransport

/// Captures from this machine for one server: submitting, retrying, verifying, exporting.
///
/// Safe for concurrent processes. The sending part receives only a signed body; it cannot access the vault.
public struct CaptureSession: Sendable {
    /// Maximum number of signing failures per record; after that, only an explicit resend signs again.
    public static let signingLimit = 3

    /// The dependencies of a session.
    public struct Dependencies: Sendable {
        public var directory: DataDirectory
        /// Stores records and devices.
        public var library: LibraryStore
        /// The source of the vault's key.
        public var vaultKey: VaultKey
        /// The version of mediactl, disclosed at the level `full`; an empty version is sent as `unknown`.
        public var programVersion: String
        public var now: @Sendable () -> Date

        /// Creates dependencies; by default the vault's key is a file next to the vault.
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

    public let client: CaptureClient
    public let profile: CaptureProfile
    let dependencies: Dependencies
    /// Shared by the whole session, so the vault's key is fetched only once.
    let vault: CaptureVault

    public init(client: CaptureClient, profile: CaptureProfile, dependencies: Dependencies) {
        self.client = client
        self.profile = profile
        self.dependencies = dependencies
        vault = CaptureVault(directory: dependencies.directory, key: dependencies.vaultKey)
    }
}

extension CaptureSession {
    /// Submits one capture: stores the media in the vault, stores a record, signs, and submits.
    ///
    /// Cancellation takes effect between any two steps; the record stores the progress, and `retry` resumes. Media from
    /// this machine that the server has, or may have, is not submitted again: the server is queried for an accepted
    /// capture. `progress` is called with the number of media bytes read so far and their total; `beforeSending`, with
    /// the notices about a capture that is about to be signed and sent.
    ///
    /// - Returns: The current record. `error` is the reason why it was not accepted or, for a record that was accepted
    ///   earlier, why the server did not confirm that it still has the capture.
    /// - Throws: `CaptureError` if there is no record.
    public func capture(
        _ request: CaptureRequest,
        control: TransferControl = TransferControl(),
        progress: (@Sendable (_ done: Int64, _ total: Int64) -> Void)? = nil,
        beforeSending: (@Sendable ([CaptureNotice]) -> Void)? = nil
    ) async throws(CaptureError) -> CaptureOutcome {
        let device = try device()
        let input = try await CaptureInput.read(request, profile: profile)
        let kept = try await keep(input, request, mode: .hashOnly, control, progress: progress)
        switch kept {
        case .ended(let outcome): return outcome
        case .open(let record, let notices):
            beforeSending?(notices)
            var outcome = try await exchange(record.id, device, control) { exchange, record throws(CaptureError) in
                try await exchange.submit(record)
            }
            outcome.notices = notices + outcome.notices
            outcome.timeSource = input.facts.timeSource
            return outcome
        }
    }

    enum Kept {
        /// The capture is to be submitted: the record is stored, with its media in the vault.
        case open(CaptureRecord, notices: [CaptureNotice])
        /// The capture is finished: nothing can or must be submitted.
        case ended(CaptureOutcome)
    }

    /// Stores the media in the vault while hashing it, and stores a record.
    func keep(
        _ input: CaptureInput,
        _ request: CaptureRequest,
        mode: CaptureRecord.Mode,
        _ control: TransferControl,
        progress: (@Sendable (_ done: Int64, _ total: Int64) -> Void)?
    ) async throws(CaptureError) -> Kept {
        let id = UUID().uuidString.lowercased()
        let vault = vault
        guard let file = input.file, case .file = request.subject else {
            guard case .digest(let digest) = request.subject else { throw CaptureError(.internalError) }
            let (record, notices) = try record(id, input, request, digest, mode: mode)
            if let earlier = try await earlier(than: record, notices, control) { return earlier }
            try keep(record)
            return .open(record, notices: notices)
        }
        let draft = try vault.begin(id: id)
        do throws(CaptureError) {
            let digest = try await vault.keepMedia(file, in: draft, progress: progress)
            let (record, notices) = try record(id, input, request, digest, mode: mode)
            if let earlier = try await earlier(than: record, notices, control) {
                vault.discard(draft)
                return earlier
            }
            if !input.depthBytes.isEmpty { try vault.keepDepth(input.depthBytes, in: draft) }
            CaptureFailpoint.mediaInDraft.reach()
            try keep(record)
            CaptureFailpoint.recordKept.reach()
            do throws(CaptureError) {
                try vault.commit(draft)
            } catch {
                // `adopt` commits the draft later.
                return .ended(CaptureOutcome(record: record, notices: notices, error: error))
            }
            CaptureFailpoint.committed.reach()
            return .open(record, notices: notices)
        } catch {
            vault.discard(draft)
            throw error
        }
    }

    // MARK: Records

    /// An earlier capture of the same media for this server: a capture that is or may be on the server, or an unsent
    /// capture with the same payload.
    private func earlier(
        than record: CaptureRecord,
        _ notices: [CaptureNotice],
        _ control: TransferControl
    ) async throws(CaptureError) -> Kept? {
        while let accepted = try accepted(ofMedia: record.mediaHash) {
            guard let confirmed = await confirm(accepted, control) else { continue }
            var outcome = try record.outcome(after: accepted)
            outcome.error = confirmed.error
            return .ended(outcome)
        }
        let records = try records(ofMedia: record.mediaHash).filter { $0.server == server && $0.mode != nil }
        if let unknown = records.first(where: { $0.state.mayBeOnServer }) {
            let notices = record.notSent(after: unknown)
            return .ended(
                CaptureOutcome(record: unknown, notices: notices, error: unknown.unknownEarlier, isKnown: true)
            )
        }
        return records.first { $0.hasSameDisclosure(as: record) }.map { .open($0, notices: notices) }
    }

    private func record(
        _ id: String,
        _ input: CaptureInput,
        _ request: CaptureRequest,
        _ digest: SHA256Digest,
        mode: CaptureRecord.Mode
    ) throws(CaptureError) -> (CaptureRecord, [CaptureNotice]) {
        let (payload, notices) = payload(of: input, digest, request)
        var record = CaptureRecord(
            id: id,
            server: server,
            profile: profile.rawValue,
            mode: mode,
            mediaHash: digest.hex,
            mediaType: input.mediaType.rawValue,
            createdAt: dependencies.now()
        )
        record.path = input.file?.path
        record.mediaBytes = input.file?.status.size
        record.isObserved = input.file != nil
        record.hasDepth = input.file != nil && !input.depthBytes.isEmpty
        record.analysis = input.analysis.json
        record.settings = request.settings.json
        record.analysisMilliseconds = input.analysisMilliseconds
        if mode == .hashOnly {
            record.unsignedBody = try payload.body(for: profile, assertion: Assertion.placeholder).bytes
        }
        return (record, notices)
    }

    // MARK: Exchanges

    /// Runs one exchange for a record, with the device's counter locked and the record reloaded.
    func exchange(
        _ id: String,
        _ device: CaptureDeviceRecord,
        _ control: TransferControl,
        _ body: (CaptureExchange, CaptureRecord) async throws(CaptureError) -> CaptureOutcome
    ) async throws(CaptureError) -> CaptureOutcome {
        let counter: CounterFile
        do throws(CaptureError) {
            counter = try await lock(device.deviceID)
        } catch {
            return CaptureOutcome(record: try record(id), error: error)
        }
        defer { counter.release() }
        let record = try record(id)
        if record.state == .accepted { return CaptureOutcome(record: record, isKnown: true) }
        if let outcome = try record.superseded(in: dependencies.library, at: dependencies.now()) { return outcome }
        if let error = try outdated(counter, of: device) { return CaptureOutcome(record: record, error: error) }
        let sender: CaptureSender
        do throws(CaptureError) {
            sender = try await self.sender(for: device, counter, control)
        } catch {
            return try unsigned(record, error)
        }
        let exchange = CaptureExchange(
            sender: sender,
            library: dependencies.library,
            clock: dependencies.now,
            control: control
        )
        var outcome: CaptureOutcome
        if let other = try await exchange.outcome(ofTwinOf: record) {
            outcome = other
        } else {
            outcome = try await body(exchange, record)
            if outcome.error?.code == .duplicate,
                let other = try outcome.record.superseded(in: dependencies.library, at: dependencies.now())
            {
                outcome = other
            }
        }
        outcome.error?.keyProvider = device.keySource.provider
        return outcome
    }

    private func sender(
        for device: CaptureDeviceRecord,
        _ counter: CounterFile,
        _ control: TransferControl
    ) async throws(CaptureError) -> CaptureSender {
        let key = try await control.canceling { [directory = dependencies.directory] () throws(CaptureError) in
            try await DeviceKey(directory: directory).signer(for: device)
        }
        let signer = StoppableSigner(signer: key, control: control)
        return CaptureSender(client: client, device: CaptureDevice(device, profile, signer), counter: counter)
    }

    /// Queries the server for an accepted record, since it may have lost the capture, for example in a restore from a
    /// backup. Returns nil if the server has lost the capture: the record is then unsent. `error` in the outcome is the
    /// reason why the server did not confirm the capture. Uses one counter.
    func confirm(_ accepted: CaptureRecord, _ control: TransferControl) async -> CaptureOutcome? {
        var provider: String?
        do throws(CaptureError) {
            let device = try device()
            provider = device.keySource.provider
            let counter = try await lock(device.deviceID)
            defer { counter.release() }
            guard let record = try stored(accepted.id), record.state == .accepted else { return nil }
            if let error = try outdated(counter, of: device) { throw error }
            let sender = try await sender(for: device, counter, control)
            guard try await isLost(record, sender, control) else {
                return CaptureOutcome(record: record, isKnown: true)
            }
            try keep(record.lost(at: dependencies.now()))
            return nil
        } catch {
            var outcome = CaptureOutcome(record: accepted, error: error, isKnown: true)
            outcome.error?.keyProvider = provider
            return outcome
        }
    }

    private func isLost(
        _ record: CaptureRecord,
        _ sender: CaptureSender,
        _ control: TransferControl
    ) async throws(CaptureError) -> Bool {
        guard let id = record.serverCaptureID, let digest = SHA256Digest(hex: record.mediaHash) else {
            throw CaptureError(.recordUnusable, detail: "the record has no ID or no hash", value: record.id)
        }
        let remote: RemoteCapture
        do throws(CaptureError) {
            remote = try await sender.remote(id, at: dependencies.now(), control: control)
        } catch {
            if error.code == .captureNotFound { return true }
            // A capture from the device that this one replaced: the server has it, but shows it only to that device.
            if error.serverCode == "FORBIDDEN", record.deviceID != sender.device.id { return false }
            throw error
        }
        if case .failed(let reason) = Self.compare(remote, record, digest) {
            throw CaptureError(.unexpectedResponse, detail: reason)
        }
        return false
    }

    /// Returns an error if the counter is below the counter of a stored capture: the counter was restored from a
    /// backup, or its file is missing. The server would refuse anything signed with this counter, so nothing is sent.
    private func outdated(
        _ counter: CounterFile,
        of device: CaptureDeviceRecord
    ) throws(CaptureError) -> CaptureError? {
        let known = try CaptureError.stored(dependencies.library.lastCounter(of: device.deviceID))
        guard let known, counter.last < known else { return nil }
        return CaptureError(
            .counterOutdated,
            detail: "it is at \(counter.last), but a capture was signed with \(known)"
        ).with(\.keyProvider, device.keySource.provider)
    }

    /// Records that the key could not be opened. This is not a signing failure: nothing was to be signed yet, and the
    /// key may be available again at the next attempt.
    private func unsigned(_ record: CaptureRecord, _ error: CaptureError) throws(CaptureError) -> CaptureOutcome {
        var record = record
        guard record.state.isUnsent, error.code != .cancelled else {
            return CaptureOutcome(record: record, error: error)
        }
        // The server may have an earlier submission, for which this body is the evidence.
        if record.submissions == 0 { (record.state, record.body) = (.pending, nil) }
        record.errorCode = error.code.rawValue
        record.errorDetail = error.detail
        record.updatedAt = dependencies.now()
        try keep(record)
        return CaptureOutcome(record: record, error: error)
    }
}

extension CaptureRecord {
    /// Reports the options that were not sent, and those that only the earlier submission of the same media disclosed.
    func notSent(after earlier: CaptureRecord) -> [CaptureNotice] {
        let differences = differences(from: earlier)
        let unsent = differences.filter { !$0.isOmitted }.map(\.option)
        let disclosed = differences.filter(\.isOmitted).map(\.option)
        var notices: [CaptureNotice] = []
        if !unsent.isEmpty { notices.append(.optionsNotSent(unsent)) }
        if !disclosed.isEmpty { notices.append(.disclosedEarlier(disclosed)) }
        return notices
    }

    /// The options that differ, and whether this record omits their data.
    private func differences(
        from earlier: CaptureRecord
    ) -> [(option: CaptureNotice.Option, isOmitted: Bool)] {
        let comparisons: [(option: CaptureNotice.Option, isEqual: Bool, isOmitted: Bool)]
        if let mine = payload(in: body ?? unsignedBody),
            let theirs = earlier.payload(in: earlier.body ?? earlier.unsignedBody)
        {
            let (metadata, others) = (mine.metadata, theirs.metadata)
            comparisons = [
                (.depth, mine.depthAnalysis == theirs.depthAnalysis, mine.depthAnalysis.status == .unavailable),
                // If the time is not disclosed, `captured_at` is the time of the submission.
                (.time, metadata.timestamp == others.timestamp, metadata.timestamp == nil),
                (.location, metadata.location == others.location, metadata.location == nil),
                (.deviceModel, metadata.deviceModel == others.deviceModel, metadata.deviceModel == nil),
                (.video, mine.video == theirs.video, mine.video == nil),
                (.privacyLevels, mine.flags == theirs.flags, false),
            ]
        } else {
            // A full upload has no body; its analysis and settings are stored instead.
            comparisons = [
                (.depth, analysis == earlier.analysis, false), (.privacyLevels, settings == earlier.settings, false),
            ]
        }
        return comparisons.filter { !$0.isEqual }.map { ($0.option, $0.isOmitted) }
    }

    /// The payload in a body of this record; nil for a full upload.
    private func payload(in bytes: [UInt8]?) -> HashOnlyPayload? {
        guard mode == .hashOnly, let profile = CaptureProfile(rawValue: profile),
            let body = bytes.flatMap(HashOnlyBody.init(bytes:))
        else { return nil }
        return try? HashOnlyPayload.reading(body, profile: profile).payload
    }

    /// Whether this record is unsent and has the same payload as another record; the time is ignored if it is the
    /// submission time.
    fileprivate func hasSameDisclosure(as other: CaptureRecord) -> Bool {
        guard state.isUnsent, signingFailures < CaptureSession.signingLimit,
            (mode, profile, mediaType) == (other.mode, other.profile, other.mediaType), isObserved == other.isObserved,
            hasDepth == other.hasDepth, settings == other.settings, analysis == other.analysis,
            let mine = payload(in: unsignedBody), var theirs = payload(in: other.unsignedBody)
        else { return false }
        if mine.flags.timestampLevel == .none { theirs.capturedAt = mine.capturedAt }
        return mine == theirs
    }
}

extension CaptureSession {
    /// Plans the submission: reads the file, but writes nothing and does not use a counter or key.
    ///
    /// - Returns: The body with a placeholder for the assertion, and the data that becomes public.
    /// - Throws: `CaptureError`, as `capture` does before it writes.
    public func preview(_ request: CaptureRequest) async throws(CaptureError) -> CapturePreview {
        let input = try await CaptureInput.read(request, profile: profile, isPreview: true)
        let digest = try await digest(of: request, input)
        let (payload, notices) = payload(of: input, digest, request)
        let records = try records(ofMedia: digest.hex).filter { $0.server == server }
        let submitted = records.first { $0.mode != nil && ($0.state == .accepted || $0.state.mayBeOnServer) }
        return CapturePreview(
            payload: payload,
            body: try payload.body(for: profile, assertion: Assertion.placeholder),
            notices: notices,
            analysisMilliseconds: input.analysisMilliseconds,
            mediaBytes: input.file?.status.size,
            earlierID: (submitted ?? records.first)?.id,
            isSubmitted: submitted != nil,
            timeSource: input.facts.timeSource
        )
    }

    private func digest(of request: CaptureRequest, _ input: CaptureInput) async throws(CaptureError) -> SHA256Digest {
        if case .digest(let digest) = request.subject { return digest }
        guard let file = input.file else { throw CaptureError(.internalError) }
        return try await SHA256Digest.of(file)
    }
}

extension CaptureSession {
    /// Recovers from crashed processes: finishes or discards drafts in the vault, and changes `submitted` records
    /// without an owner to `unknown_outcome`. Called at the start of every command.
    ///
    /// - Throws: `CaptureError` `.storeUnusable`, `.vaultUnusable`.
    public func adopt() async throws(CaptureError) {
        let library = dependencies.library
        try vault.adopt { id in try library.capture(id) != nil }
        for record in try all() where record.state == .submitted {
            try await adopt(record)
        }
    }

    /// A process that submits a record locks its device's counter, so an unlocked counter means that there is no owner.
    private func adopt(_ record: CaptureRecord) async throws(CaptureError) {
        guard let device = record.deviceID else { return try abandon(record.id) }
        let counter: CounterFile
        do throws(CaptureError) {
            counter = try await lock(device, timeout: .zero)
        } catch {
            if error.code == .busy { return }
            throw error
        }
        defer { counter.release() }
        try abandon(record.id)
    }

    /// Reloads the record, since its owner may just have finished it.
    private func abandon(_ id: String) throws(CaptureError) {
        guard var record = try stored(id), record.state == .submitted else { return }
        record.state = .unknownOutcome
        record.errorCode = OutcomeCode.unknownOutcome.rawValue
        record.errorDetail = "the program exited before it received the response"
        record.httpStatus = nil
        record.updatedAt = dependencies.now()
        try keep(record)
    }
}

/// A planned submission.
public struct CapturePreview: Sendable {
    public var payload: HashOnlyPayload
    /// Identical to the body to be sent, except for the assertion.
    public var body: HashOnlyBody
    public var notices: [CaptureNotice]
    public var analysisMilliseconds: Int64
    /// Length of the media; nil for a digest.
    public var mediaBytes: Int64?
    /// ID of another record of the same media, if any.
    public var earlierID: String?
    /// Whether that record was accepted or has an unknown outcome: unless the server has lost it, it is not submitted
    /// again.
    public var isSubmitted = false
    /// The source of the time; nil if unknown.
    public var timeSource: CaptureTimeSource?
}

/// A notice for the user about a capture; the caller writes the message.
public enum CaptureNotice: Sendable, Equatable {
    /// A part of a submission.
    public enum Option: String, Sendable, CaseIterable {
        /// The depth analysis.
        case depth
        case time
        case location
        case deviceModel = "device_model"
        /// Chain, frames and duration of a video.
        case video
        case privacyLevels = "privacy_levels"
    }

    /// No depth map was specified.
    case noDepth
    /// The depth map could not be analyzed (smaller than 3×3, or no valid sample).
    case depthUnavailable
    /// The depth analysis shows a flat scene, such as a print or a screen.
    case sceneNotReal
    /// `reference` records this as suspicious.
    case recordedAsSuspicious
    /// `reference` itself labels all hash-only evidence `ios` and `lidar` (trap 23).
    case labeledByServer
    /// `captured_at` becomes public, with this value.
    case capturedAtIsPublic(String)
    /// The capture time is unknown: the time of submission is used.
    case captureTimeUnknown
    /// The camera's clock has no zone: only its day is disclosed, although the level is exact.
    case timeWithoutZone
    /// The media was submitted earlier; these differing options were not sent.
    case optionsNotSent([Option])
    /// The media was submitted earlier, and that submission disclosed these options, which this one would have omitted.
    case disclosedEarlier([Option])
    /// The server accepted the media in an earlier submission whose outcome is not stored, for example because the data
    /// directory was restored from a backup. The server has the data in that submission, which may differ from the data
    /// in this record.
    case acceptedEarlier
    /// The server publishes the coordinates with this many decimals.
    case coordinatesArePublic(decimals: Int)
    /// The location is known, but the profile does not support the coarse form.
    case coarseLocationOmitted
    /// The location is known, but too few places are near it to determine its country.
    case placeUnknown
    /// The location is known, but its country is uncertain, since a border is near. The array is empty if the places
    /// must not be disclosed, for example in a log.
    case nearBorder([PlaceCandidate])
    /// A video's depth members are computed from its keyframes (hash-only contract, M2).
    case depthFromKeyframes
    /// The media was not observed on this machine.
    case notObserved
    /// Seconds by which the server's clock differs (positive: this machine is behind).
    case clockDiffers(seconds: Int64)
}

/// The result of an operation on a capture.
public struct CaptureOutcome: Sendable {
    public var record: CaptureRecord
    public var notices: [CaptureNotice] = []
    /// The reason why the capture was not accepted.
    public var error: CaptureError?
    /// Whether the record already existed and nothing had to be sent.
    public var isKnown: Bool = false
    /// The source of the time, if this run read the media; nil if unknown.
    public var timeSource: CaptureTimeSource?
    /// Whether only `RetryChoice.resend` can resolve an unknown outcome: another device has submitted the capture, and
    /// the server shows it only to that device.
    public var needsResend = false
}
