internal import Foundation
internal import GigHive
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

    /// Journal rows that are not final, newest first, each settled as far as possible.
    ///
    /// - Throws: `StoreError`.
    func rows(host: String?) async throws -> [JournalRow] {
        let open = Set(UploadState.allCases.filter { !$0.isFinal })
        var rows: [JournalRow] = []
        var unreachable: Set<String> = []
        let records = try store.store.uploads(states: open, host: host)
        console.record(.start, ["items": JSONValue(records.count), "dry_run": .bool(!isAsking)])
        try console.requireOutput()
        for record in records {
            guard isAsking, !unreachable.contains(record.baseURL) else {
                rows.append(JournalRow(record: record))
                continue
            }
            do {
                let uploader = try await uploader(record.baseURL)
                rows.append(JournalRow(record: record, result: await resolve(record, uploader)))
            } catch {
                unreachable.insert(record.baseURL)
                let reason = ErrorCatalogue.diagnosis(of: error).message
                console.warning("cannot ask \(ErrorCatalogue.clean(record.baseURL)): \(reason)")
                rows.append(JournalRow(record: record))
            }
        }
        return rows
    }

    /// Asks, and says so: the server may be asked for minutes.
    private func resolve(_ record: UploadRecord, _ uploader: Uploader) async -> UploadResult {
        let path = ErrorCatalogue.quoted(record.path)
        console.note(
            "asking \(ErrorCatalogue.clean(record.baseURL)) whether it has \(path), for up to "
                + Formats.clock(limit(for: record))
        )
        let began = console.context.elapsed()
        let ticker = Task {
            while !Task.isCancelled {
                try await Task.sleep(for: .seconds(10))
                console.note("still asking about \(path) (\(Formats.clock(console.context.elapsed() - began)))")
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

    private func uploader(_ address: String) async throws -> Uploader {
        Uploader(
            client: try await servers.client(for: try ServerURL(address)),
            store: store.store,
            directory: store.directory,
            options: UploadOptions(
                retry: settings.retryPolicy,
                timeouts: settings.timeouts,
                settleTime: settings.settings.settleTimeout.value
            )
        )
    }
}
