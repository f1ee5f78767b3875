internal import MediaTransport

/// Asks a server whether it has a file, by the file's digest: stored files are named `<sha256>.<ext>` (gighive contract
/// section 7). This resolves uploads whose answer was lost (docs/architecture.md).
struct OutcomeInquiry: Sendable {
    /// How often the server is asked.
    struct Schedule: Sendable {
        /// Pauses between looks; the last one repeats.
        var pauses: [Duration] = [1, 2, 5, 10, 20, 30].map { .seconds($0) }
        /// Looks after an answer that shows that the server has finished: one, and one more in case a row was still on
        /// its way to the listing.
        var settledLooks = 2
        /// Looks in a row that found no web server at the address, after which no more are taken.
        var deadLooks = 3
    }

    /// What was found out.
    enum Finding: Sendable {
        /// On the server. The id is nil when the file is served but not listed.
        case present(fileID: Int64?, fileType: String?)
        /// Not on the server.
        case absent
        /// The server did not say.
        case unanswered(GigHiveError)
        /// The user gave up.
        case stopped
    }

    let client: GigHiveClient
    let schedule: Schedule
    /// SHA-256 of the bytes sent.
    let checksum: String
    /// Extension of the file's name, in lower case.
    let pathExtension: String

    /// Looks until the file is found or the time is up; at least once.
    ///
    /// - Parameters:
    ///   - limit: How long the server may still be working on it; nil when it has finished.
    ///   - control: A stop ends the inquiry at once.
    /// - Returns: What the last look showed.
    func run(for limit: Duration?, control: TransferControl) async -> Finding {
        let deadline = limit.map { ContinuousClock.now + $0 }
        var looks = 0
        var deadLooks = 0
        while !control.isStopRequested {
            looks += 1
            let remaining = deadline.map { $0 - .now } ?? .zero
            let isLast = deadline == nil ? looks >= schedule.settledLooks : remaining <= .zero
            let sighting = await control.abandoning { inner in await look(isLast: isLast, control: inner) }
            deadLooks = sighting.findsNoServer ? deadLooks + 1 : 0
            switch sighting {
            case .listed(let fileID, let fileType):
                return .present(fileID: fileID, fileType: fileType)
            case .served(let fileType) where isLast:
                return .present(fileID: nil, fileType: fileType)
            case .absent where isLast:
                return .absent
            case .unanswered(let error)
            where isLast || !error.isRetryable || deadLooks >= schedule.deadLooks:
                return control.isStopRequested ? .stopped : .unanswered(error)
            case .served, .absent, .unanswered:
                let pause = schedule.pauses[min(looks, schedule.pauses.count) - 1]
                _ = await control.waitForStop(upTo: deadline == nil ? pause : min(pause, remaining))
            }
        }
        return .stopped
    }

    /// Looks a single time, as thoroughly as a last look.
    func lookOnce(control: TransferControl) async -> Finding {
        switch await control.abandoning({ inner in await look(isLast: true, control: inner) }) {
        case .listed(let fileID, let fileType): .present(fileID: fileID, fileType: fileType)
        case .served(let fileType): .present(fileID: nil, fileType: fileType)
        case .absent: .absent
        case .unanswered(let error): .unanswered(error)
        }
    }

    /// Whether the media are served, under this extension.
    ///
    /// - Returns: true also when the server does not let this user see.
    /// - Throws: `GigHiveError` when the network failed.
    func isServed(control: TransferControl) async throws(GigHiveError) -> Bool {
        do {
            return try await servedKind(control: control) != nil
        } catch  where error.transport == nil {
            return true
        }
    }

    // MARK: One look

    private enum Sighting: Sendable {
        case listed(fileID: Int64, fileType: String?)
        /// The file is there, its row is not (yet).
        case served(fileType: String)
        case absent
        case unanswered(GigHiveError)

        /// Whether nothing at the address speaks HTTP, so that waiting for the file makes no sense.
        var findsNoServer: Bool {
            guard case .unanswered(let error) = self else { return false }
            return switch error.transport?.kind {
            case .cannotConnect, .unknownHost, .invalidAnswer: true
            default: false
            }
        }
    }

    /// One HEAD for each kind of media; the listing, page by page, when the file is served or when this look decides.
    private func look(isLast: Bool, control: TransferControl) async -> Sighting {
        do throws(GigHiveError) {
            let served = try await servedKind(control: control)
            guard served != nil || isLast else { return .absent }
            if let entry = try await listedEntry(control: control), let fileID = entry.fileID {
                return .listed(fileID: fileID, fileType: entry.fileType ?? served)
            }
            return served.map { .served(fileType: $0) } ?? .absent
        } catch {
            return .unanswered(error)
        }
    }

    private func servedKind(control: TransferControl) async throws(GigHiveError) -> String? {
        let name = pathExtension.isEmpty ? checksum : "\(checksum).\(PercentEncoding.encode(pathExtension))"
        for kind in ["video", "audio"] where try await client.isServed("/\(kind)/\(name)", control: control) {
            return kind
        }
        return nil
    }

    private func listedEntry(control: TransferControl) async throws(GigHiveError) -> ListingPage.Entry? {
        var page: Int64 = 1
        while true {
            // By asset: one that was stored before its event failed belongs to none (trap T7).
            let listing = try await client.listing(page: page, view: .librarian, control: control)
            let entry = listing.entries.first { $0.fileID != nil && $0.holds(checksumSHA256: checksum) }
            if let entry {
                return entry
            }
            guard page < listing.pageCount, !listing.entries.isEmpty else { return nil }
            page += 1
        }
    }
}

extension TransferControl {
    /// Runs requests under a control of their own, which is abandoned when a stop of this one is asked for: a question
    /// may always be broken off.
    func abandoning<Value: Sendable>(_ ask: (TransferControl) async -> Value) async -> Value {
        let inner = TransferControl()
        let watcher = Task {
            _ = await waitForStop()
            inner.abandon()
        }
        defer { watcher.cancel() }
        return await ask(inner)
    }
}
