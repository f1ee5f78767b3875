internal import Foundation
internal import MediaCore
internal import MediaStore
internal import MediaTransport

/// Queries a server for a file by its digest: stored files are named `<sha256>.<ext>` (gighive contract section 7).
/// This resolves uploads whose response was lost or contradictory (docs/architecture.md).
struct OutcomeInquiry: Sendable {
    struct Schedule: Sendable {
        /// Pauses between checks; the last one repeats.
        var pauses = RetryPolicy.outcomeQuery.delays
        /// Number of checks once a response has shown that the server has finished: one, and one more in case the
        /// listing did not have the row yet.
        var finishedChecks = 2
        /// Consecutive checks without a web server at the address, after which the inquiry ends.
        var unreachableChecks = 3
        /// Maximum time that a request in the last check waits, for a server that limits the rate of requests.
        var lastWait = Duration.seconds(10)
        /// Limit for the last check.
        var lastCheck = Duration.seconds(30)

        func pause(after checks: Int) -> Duration { pauses.prefix(checks).last ?? .zero }
    }

    /// The location of the bytes on the server.
    enum Placement: Sendable, Equatable {
        /// In the event of the upload.
        case event
        /// In other events only.
        case otherEvent
        /// In no event at all: the server failed between storing the file and adding it to its event (trap T7).
        case noEvent
        /// The media are served with the length of the upload; the listing cannot be read.
        case unlisted
    }

    struct Copy: Sendable, Equatable {
        /// The ID on the server; nil if the file is served and this user cannot read the listing.
        var fileID: Int64?
        var served: ServedName
        var placement: Placement
    }

    enum Finding: Sendable {
        /// On the server.
        case present(Copy)
        /// Neither the event nor the server's list of files has the file.
        case absent
        /// The server did not show whether it has the file.
        case noResponse(GigHiveError)
        /// The user stopped the inquiry.
        case stopped

        /// Whether there is no HTTP server at the address, so waiting for the file is pointless.
        fileprivate var findsNoServer: Bool {
            guard case .noResponse(let error) = self else { return false }
            return switch error.transport?.kind {
            case .cannotConnect, .unknownHost, .invalidResponse: true
            default: false
            }
        }
    }

    private(set) var client: GigHiveClient
    let schedule: Schedule
    /// SHA-256 of the bytes sent.
    let checksum: String
    let sizeBytes: Int64
    /// Extension of the file's name, in lower case.
    let pathExtension: String
    let event: InventoryEvent

    /// Checks until the file is found or the time is up, at least once. `limit` is the time for which the server may
    /// still be working on it; nil if it has finished. A stop stops the inquiry immediately.
    func run(for limit: Duration?, control: TransferControl) async -> Finding {
        let deadline = limit.map { ContinuousClock.now + $0 }
        // In a later process, the time may already be up.
        let hasFinished = limit.map { $0 <= .zero } ?? true
        var checks = 0
        var unreachableChecks = 0
        while !control.isStopRequested {
            checks += 1
            let remaining = deadline.map { $0 - .now } ?? .zero
            let isLast = deadline == nil ? checks >= schedule.finishedChecks : remaining <= .zero
            let finding = await check(within: remaining, isLast: isLast, isTimed: deadline != nil, hasFinished, control)
            unreachableChecks = finding.findsNoServer ? unreachableChecks + 1 : 0
            switch finding {
            case .present(let copy) where copy.placement == .event || isLast:
                return finding
            case .absent where isLast:
                return finding
            case .noResponse(let error)
            where isLast || !error.isRetryable || unreachableChecks >= schedule.unreachableChecks
                || error.cooldown > max(.zero, remaining) + schedule.lastWait:
                return control.isStopRequested ? .stopped : finding
            case .present, .absent, .noResponse, .stopped:
                let pause = schedule.pause(after: checks)
                _ = await control.waitForStop(upTo: deadline == nil ? pause : min(pause, remaining))
            }
        }
        return .stopped
    }

    /// Checks once, as thoroughly as the last check of `run`.
    func checkOnce(control: TransferControl) async -> Finding {
        await waiting(atMost: schedule.lastWait).check(isLast: true, hasFinished: true, control: control.linked())
    }

    /// Whether the media are served with this extension. A brief query, used only to decide whether the listing is
    /// read. Returns true even if this user may not see the media; false if the server is unavailable. Throws if the
    /// network failed.
    func isServed(control: TransferControl) async throws(GigHiveError) -> Bool {
        do {
            return try await client.briefly(control) { (client) async throws(GigHiveError) in
                var brief = self
                brief.client = client
                return try await brief.servedKind(control: control) != nil
            }
        } catch  where error.isOutage {
            return false
        } catch  where error.transport == nil && error.code != .cancelled {
            return true
        }
    }

    // MARK: One check

    private func waiting(atMost limit: Duration) -> OutcomeInquiry {
        var inquiry = self
        inquiry.client.maximumWait = limit
        return inquiry
    }

    /// Checks once, with limits for the waits of its requests and, if the inquiry is timed, for the whole check.
    private func check(
        within remaining: Duration,
        isLast: Bool,
        isTimed: Bool,
        _ hasFinished: Bool,
        _ control: TransferControl
    ) async -> Finding {
        let inquiry = waiting(atMost: max(remaining, schedule.lastWait))
        let inner = control.linked()
        guard isTimed else {
            return await inquiry.check(isLast: isLast, hasFinished: hasFinished, control: inner)
        }
        let limit = Task {
            guard (try? await Task.sleep(for: max(remaining, schedule.lastCheck))) != nil else { return }
            inner.abandon()
        }
        defer { limit.cancel() }
        let finding = await inquiry.check(isLast: isLast, hasFinished: hasFinished, control: inner)
        guard case .noResponse(let error) = finding, error.code == .cancelled, !control.isStopRequested else {
            return finding
        }
        return .noResponse(GigHiveError(.networkTimeout, detail: "no response in time", isRetryable: true))
    }

    private static let contradiction = GigHiveError(
        .unexpectedResponse,
        detail: "the server serves the file but does not list it",
        isRetryable: true
    )

    /// Sends one HEAD for each kind of media, and reads the listing, page by page, if the file is served or if this
    /// check is the last.
    ///
    /// A server that has finished without listing the file has stored its bytes without a row.
    private func check(isLast: Bool, hasFinished: Bool, control: TransferControl) async -> Finding {
        let served: String?
        do throws(GigHiveError) {
            served = try await servedKind(control: control)
            guard served != nil || isLast else { return .absent }
        } catch {
            return .noResponse(error)
        }
        do throws(GigHiveError) {
            if var copy = try await listedCopy(control: control) {
                copy.served.kind = copy.served.kind ?? served
                return .present(copy)
            }
            return served == nil || hasFinished ? .absent : .noResponse(Self.contradiction)
        } catch {
            // A server that refuses the listing, or fails to return it, does not contradict the served file, whose name
            // is its digest and whose length is that of the upload.
            guard error.transport == nil, let served else { return .noResponse(error) }
            let name = ServedName(kind: served, pathExtension: pathExtension)
            return .present(Copy(fileID: nil, served: name, placement: .unlisted))
        }
    }

    /// The kind under which the media are served with the length of the upload. A file with a different length is not
    /// evidence: the server may still be writing it, or have kept part of it. Without a length, nothing shows that the
    /// response is about a file.
    private func servedKind(control: TransferControl) async throws(GigHiveError) -> String? {
        let name = pathExtension.isEmpty ? checksum : "\(checksum).\(PercentEncoding.encode(pathExtension))"
        for kind in ["video", "audio"] {
            let served = try await client.servedMedia("/\(kind)/\(name)", control: control)
            if served?.byteCount == sizeBytes { return kind }
        }
        return nil
    }

    /// The listing by event has the events; a file without an event is only in the listing by asset.
    private func listedCopy(control: TransferControl) async throws(GigHiveError) -> Copy? {
        if let copy = try await listedCopy(.event, control: control) {
            return copy
        }
        return try await listedCopy(.librarian, control: control)
    }

    private func listedCopy(_ view: ListingPage.View, control: TransferControl) async throws(GigHiveError) -> Copy? {
        var found: Copy?
        var pages = ListingPages(client: client, view: view, control: control)
        while let page = try await pages.next() {
            for entry in page.entries where entry.holds(checksumSHA256: checksum) {
                guard let fileID = entry.fileID else { continue }
                let placement: Placement =
                    view == .librarian ? .noEvent : entry.isIn(event) ? .event : .otherEvent
                found = Copy(fileID: fileID, served: entry.servedName, placement: placement)
                if placement != .otherEvent {
                    return found
                }
            }
        }
        return found
    }
}

extension GigHiveError {
    /// The time for which the server does not accept requests, if that is why nothing was sent.
    fileprivate var cooldown: Duration {
        if case .rateLimited(_, let rest)? = transport?.kind { rest } else { .zero }
    }
}

/// Resolves a row left by an exited process (docs/architecture.md: a row in `sending` is never simply "not sent").
struct UploadResolution {
    let uploader: Uploader
    /// Corrected details for a repeated finalize request; nil for the details in the row.
    let details: UploadDetails?
    let control: TransferControl
    let onEvent: @Sendable (UploadEvent) -> Void
    var recorder: UploadOutcomeRecorder
    private let started = ContinuousClock.now

    mutating func perform() async -> UploadResult {
        do {
            try await resolve()
        } catch {
            recorder.result.error = error
        }
        recorder.result.duration = .now - started
        return recorder.result
    }

    private mutating func resolve() async throws(GigHiveError) {
        let uploadID = recorder.record.uploadID
        let lock = try UploadOwnership.ofRow(recorder.record, in: uploader.directory)
        defer { lock.release() }
        // The response to the upload may be on disk, but not adopted yet.
        let rescued = try await adopt(uploadID)
        recorder.result.warnings += rescued.filter(\.isOfStoredToken)
        if recorder.record.transport == .tus && recorder.record.state != .finalized {
            try await resolveTus(uploadID)
        } else if !recorder.record.state.isFinal {
            try await query()
        }
        guard recorder.result.state == .tokenLost else {
            if recorder.result.state == .finalized {
                reportKeptToken()
            }
            return
        }
        // An invalid response may contain a token without an ID; the ID is known now.
        let queried = recorder
        let late = try await adopt(uploadID)
        guard recorder.record.state != .tokenLost else {
            recorder = queried
            return
        }
        if recorder.record.state == .finalized {
            reportKeptToken()
        }
        recorder.result.warnings += (rescued + late).filter(\.isOfStoredToken)
    }

    /// A tus upload that was never finalized is in no listing; it waits to be resumed. A finalize request that may be
    /// in flight is completed.
    private mutating func resolveTus(_ uploadID: String) async throws(GigHiveError) {
        guard try uploader.mayBeFinalizing(recorder.record) else { return }
        guard recorder.record.isGuest == (uploader.options.guest != nil) else {
            let record = recorder.record
            guard record.isGuest else {
                throw GigHiveError(.notResumable, detail: "it requires a login", path: record.path)
            }
            throw GigHiveError(.notResumable, path: record.path, value: record.uploadID).with(\.field, "event_link")
        }
        guard let tus = try GigHiveError.stored(uploader.store.tusRecord(uploadID)),
            let tusID = tus.finalTusID ?? (tus.mayBeStored ? tus.parts[0].tusID : nil),
            let details = details ?? UploadDetails(recorder.record.fields)
        else {
            throw GigHiveError(
                .notResumable,
                detail: "the journal does not have its upload ID",
                path: recorder.record.path
            )
        }
        if recorder.record.checksumSHA256 == nil, tus.mayBeStored, let whole = tus.parts[0].proofs.last {
            recorder.note(checksum: whole.digest)
        }
        var finalization = Finalization(
            tusID,
            details: details,
            startedAt: tus.finalizeStartedAt,
            journal: TusJournal(tus, store: uploader.store, now: uploader.now),
            uploader: uploader,
            recorder: recorder,
            control: control,
            onEvent: onEvent
        )
        let end = await finalization.run()
        recorder = finalization.recorder
        switch end {
        case .finished: break
        case .sendAgain(let error): recorder.end(.failed, error)
        case .dead(let error):
            let journal = TusJournal(tus, store: uploader.store, now: uploader.now)
            try await GigHiveError.storing(await journal.forget())
            recorder.end(.failed, error)
        }
    }

    /// The server's response was a success, and its token is only in the kept response.
    private mutating func reportKeptToken() {
        let uploadID = recorder.record.uploadID
        let kept = try? KeptResponses(store: uploader.store, directory: uploader.directory).list()
        recorder.result.error = GigHiveError(
            .tokenNotStored,
            detail: "the response contains a token but no ID"
        ).with(\.fileID, recorder.record.fileID)
            .with(\.rescuePath, kept?.first { $0.uploadID == uploadID && $0.hasToken }?.path)
    }

    /// Adopts stored responses, and reads the row again.
    private mutating func adopt(_ uploadID: String) async throws(GigHiveError) -> [UploadWarning] {
        let warnings = try await RescueAdoption.run(
            store: uploader.store,
            directory: uploader.directory,
            owning: uploadID
        )
        if let record = try GigHiveError.stored(uploader.store.upload(uploadID)) {
            recorder = UploadOutcomeRecorder(store: uploader.store, record: record)
        }
        return warnings
    }

    private mutating func query() async throws(GigHiveError) {
        let record = recorder.record
        guard let checksum = await checksum(of: record) else {
            recorder.end(
                .unknownOutcome,
                GigHiveError(
                    .unknownOutcome,
                    detail: "the digest of the upload is unknown, and the file was deleted or modified"
                        + (record.isDirectoryUnknown ? ", or is in another directory" : ""),
                    path: record.path,
                    value: record.isDirectoryUnknown ? nil : record.uploadID
                )
            )
            return
        }
        recorder.note(checksum: checksum)
        guard let details = UploadDetails(record.fields) else {
            recorder.end(
                .unknownOutcome,
                GigHiveError(
                    .unknownOutcome,
                    detail: "the journal does not have its details",
                    path: record.path,
                    value: record.uploadID
                )
            )
            return
        }
        let limit = uploader.processingTime(forBytes: record.sizeBytes, since: record.updatedAt)
        onEvent(.resolving(for: limit))
        let inquiry = uploader.inquiry(recorder, of: details, checksum: checksum)
        switch await inquiry.run(for: limit, control: control) {
        case .present(let copy) where copy.placement != .otherEvent:
            recorder.endAsPresent(copy, cause: nil)
        case .present where record.state == .finalized, .absent where record.state == .finalized:
            // The server has confirmed the file; a listing without it is no reason to give up its token.
            break
        case .present, .absent:
            let detail = "the upload was interrupted and its event does not have the file"
            let error = GigHiveError(.connectionLost, detail: detail, isRetryable: true, path: record.path)
                .with(\.details, details).with(\.server, record.baseURL)
            recorder.end(.failed, error)
        case .noResponse(let reason):
            recorder.end(.unknownOutcome, GigHiveError(.unknownOutcome).asUnknownOutcome(reason))
        case .stopped:
            recorder.end(
                .unknownOutcome,
                GigHiveError(
                    .unknownOutcome,
                    detail: "stopped while checking upload \(record.uploadID)",
                    isRetryable: true
                )
            )
        }
    }

    private func checksum(of record: UploadRecord) async -> String? {
        if let checksum = record.checksumSHA256 {
            return checksum
        }
        return await FileDigest.hex(path: record.path, identity: record.identity)
    }
}

extension UploadWarning {
    /// Whether the warning concerns a token that is now in the store.
    fileprivate var isOfStoredToken: Bool {
        if case .rescued = self { true } else { false }
    }
}
