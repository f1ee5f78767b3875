internal import Foundation
internal import GigHive
internal import MediaCore
internal import MediaStore
internal import MediaTransport

/// Settles uploads that did not end, by asking their servers.
struct StatusRun: Sendable {
    let console: Console
    let settings: SettingsSession
    let store: StoreSession
    let servers: ServerSession
    /// Whether servers are asked.
    let isAsking: Bool

    /// Journal rows that have not ended, that can go on, or that an organizer decides about, newest first, each settled
    /// as far as possible.
    ///
    /// - Throws: `StoreError`, `GigHiveError` when the store fails.
    func rows(host: String?) async throws -> [JournalRow] {
        var rows: [JournalRow] = []
        var unreachable: Set<String> = []
        let records = try records(host: host)
        console.record(.start, ["items": JSONValue(records.count), "dry_run": .bool(!isAsking)])
        try console.requireOutput()
        let standings = records.contains(where: \.isHeldForGuest) ? try store.store.guestStandings() : [:]
        for record in records {
            var row = try await row(of: record, standings, &unreachable)
            // Counted like `uploads resume`, after the server was queried.
            row.isResumable = try JournalSelection.isResumable(record.uploadID, in: store)
            rows.append(row)
        }
        return rows
    }

    private func row(
        of record: UploadRecord,
        _ standings: [String: GuestStanding],
        _ unreachable: inout Set<String>
    ) async throws -> JournalRow {
        if let standing = try knownStanding(of: record) {
            return JournalRow(record: record, standing: standing)
        }
        guard isAsking, !unreachable.contains(record.baseURL) else { return unasked(record, standings) }
        do {
            return try await asked(record)
        } catch let error as CredentialError where error.exitCode == ExitCode.interrupt.rawValue {
            throw error
        } catch {
            unreachable.insert(record.baseURL)
            let diagnosis = ErrorCatalogue.diagnosis(of: error)
            console.warning(
                "cannot query \(ErrorCatalogue.clean(record.baseURL)): \(diagnosis.message)",
                hint: diagnosis.hint
            )
            return unasked(record, standings)
        }
    }

    /// A row without a response from its server; for a guest upload, with the last known state.
    private func unasked(_ record: UploadRecord, _ standings: [String: GuestStanding]) -> JournalRow {
        JournalRow(
            record: record,
            standing: record.isHeldForGuest ? .guest(nil) : .settled,
            lastKnown: record.isHeldForGuest ? standings[record.uploadID] : nil
        )
    }

    private func records(host: String?) throws -> [UploadRecord] {
        let open = Set(UploadState.allCases.filter { !$0.isFinal })
        let halted = try store.store.uploads(states: [.failed, .cancelled], host: host)
            .filter { try Uploader.isResumable($0, in: store.store) }
        let guests = try store.store.guestUploads(host: host).filter(\.isHeldForGuest)
        return (try store.store.uploads(states: open, host: host) + halted + guests)
            .sorted { $0.createdAt > $1.createdAt }
    }

    /// What needs no question: an upload over tus of which the server cannot have made a file yet.
    private func knownStanding(of record: UploadRecord) throws -> JournalRow.Standing? {
        guard record.transport == .tus, try Uploader.isResumable(record, in: store.store) else { return nil }
        let tus = try store.store.tusRecord(record.uploadID)
        guard tus?.finalizeStartedAt == nil else { return nil }
        guard try !JournalSelection.isBeingSent(record, in: store) else { return .running }
        // A server that counts chunks has stored the file if its last chunk has arrived.
        guard tus?.mayBeStored != true else { return nil }
        return .resumable(sentBytes: tus?.provenBytes ?? 0)
    }

    private func asked(_ record: UploadRecord) async throws -> JournalRow {
        guard record.isHeldForGuest, let receipt = try store.store.guestReceipt(record.uploadID) else {
            let uploader =
                record.isGuest
                ? uploader(await servers.anonymousClient(for: try ServerURL(record.baseURL)))
                : uploader(
                    try await servers.client(
                        for: try ServerURL(record.baseURL),
                        retryCommand: "mediactl uploads status --host \(record.host)"
                    )
                )
            return JournalRow(record: record, result: await resolve(record, uploader))
        }
        let client = try await servers.guestClient(for: try ServerURL(record.baseURL))
        let state = try await client.guestStatus(receipt)?.state
        let standing = state.map { GuestStanding(state: GuestState($0).rawValue, notedAt: console.context.now()) }
        if let standing { try store.store.note(standing, of: record.uploadID) }
        return JournalRow(record: record, standing: .guest(state), lastKnown: standing)
    }

    /// Asks, and says so: the server may be asked for minutes.
    private func resolve(_ record: UploadRecord, _ uploader: Uploader) async -> UploadResult {
        let path = ErrorCatalogue.quoted(record.path)
        console.note(
            "checking whether \(ErrorCatalogue.clean(record.baseURL)) has \(path), for up to "
                + Formats.clock(limit(for: record))
        )
        let began = console.context.elapsed()
        let ticker = Task {
            while !Task.isCancelled {
                try await Task.sleep(for: .seconds(10))
                console.note("still checking \(path) (\(Formats.clock(console.context.elapsed() - began)))")
            }
        }
        defer { ticker.cancel() }
        return await uploader.resolve(record)
    }

    /// What is left of the time in which a lost upload may still appear on the server.
    private func limit(for record: UploadRecord) -> Duration {
        let quiet = Duration.seconds(max(0, console.context.now().timeIntervalSince(record.updatedAt)))
        return max(.zero, settings.settings.settleTimeout.value - quiet)
    }

    private func uploader(_ client: GigHiveClient) -> Uploader {
        Uploader(
            client: client,
            store: store.store,
            directory: store.directory,
            options: settings.uploadOptions()
        )
    }
}

extension UploadRecord {
    /// `failureCode` of a guest's upload that was hidden from here.
    static let hidden = "hidden"

    /// Whether it is a guest upload that is stored on the server.
    var isStoredForGuest: Bool { isGuest && state.isFinal && fileID != nil }

    /// Whether it was not hidden from here.
    var isHeldForGuest: Bool { isStoredForGuest && failureCode != Self.hidden }
}

extension TusRecord {
    /// Bytes that the server is known to have: those before the newest proof of each part. None of a part that starts over,
    /// because its chunk size is unknown (gighive-d4 contract section 10).
    fileprivate var provenBytes: Int64 {
        parts.reduce(0) { $0 + ($1.needsChunkSize ? 0 : $1.proofs.last?.offset ?? 0) }
    }
}
