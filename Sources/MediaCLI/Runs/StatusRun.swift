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
        for record in try store.store.uploads(states: open, host: host) {
            guard isAsking, !unreachable.contains(record.baseURL) else {
                rows.append(JournalRow(record: record))
                continue
            }
            do {
                let uploader = try await uploader(record.baseURL)
                rows.append(JournalRow(record: record, result: await uploader.resolve(record)))
            } catch {
                unreachable.insert(record.baseURL)
                let reason = ErrorCatalogue.diagnosis(of: error).message
                console.warning("cannot ask \(ErrorCatalogue.clean(record.baseURL)): \(reason)")
                rows.append(JournalRow(record: record))
            }
        }
        return rows
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
