internal import Foundation
internal import MediaTransport

/// What a server has, by digest: one paged listing a run, made when it is first needed.
///
/// It is the view by event, because identical bytes count as sent only for an event that holds them (gighive contract
/// section 3), and the view by asset names no event. An asset that belongs to no event is missing here.
actor ServerInventory {
    /// A file on the server.
    struct Stored: Sendable, Equatable {
        var fileID: Int64
        /// Where it is served.
        var served: ServedName
        /// Whether it is listed in the event.
        var isInEvent: Bool
        /// Whether other events list it too. D1 and D2 list a file in every event that has a file with the same label.
        var isInSeveralEvents = false

        /// Whether the event certainly has it.
        var isOnlyInEvent: Bool { isInEvent && !isInSeveralEvents }
    }

    /// What the listing says of a digest.
    enum Finding: Sendable, Equatable {
        case stored(Stored)
        case absent
        /// The server gives this user no listing.
        case unavailable
    }

    private enum State {
        case unasked
        case asking(Task<GigHiveError?, Never>)
        case listed
        case unavailable
    }

    /// Questions that are cheaper asked singly than with the listing.
    private var singleQuestions = 2
    private let client: GigHiveClient
    private var state = State.unasked
    private var index = InventoryIndex()
    /// Why there is no listing.
    private(set) var refusal: GigHiveError?
    /// When the listing in `index` was started.
    private var listedAt: ContinuousClock.Instant?

    init(_ client: GigHiveClient) {
        self.client = client
    }

    /// Whether the next question is one of many, so that the listing pays.
    func isWorthListing() -> Bool {
        if case .listed = state {
            return true
        }
        singleQuestions -= 1
        return singleQuestions < 0
    }

    /// Looks for a file.
    ///
    /// - Parameters:
    ///   - checksum: SHA-256, 64 hexadecimal characters.
    ///   - event: For `Stored.isInEvent`.
    ///   - moment: A listing that was begun before it is made again unless it has the file in the event; nil for any
    ///     listing of this run.
    ///   - control: A stop cancels the listing.
    /// - Returns: What the listing contains. Without `moment`, a server that is unavailable has no listing for this call.
    /// - Throws: `GigHiveError` when the network failed; the next call retries.
    func find(
        _ checksum: String,
        in event: InventoryEvent,
        since moment: ContinuousClock.Instant? = nil,
        control: TransferControl
    ) async throws(GigHiveError) -> Finding {
        // A query before an upload is brief; one that decides what is reported is not.
        let isBrief = moment == nil
        while true {
            switch state {
            case .listed where isOlder(than: moment) && index.find(checksum, in: event)?.isInEvent != true:
                state = .unasked
            case .listed:
                return index.find(checksum, in: event).map { .stored($0) } ?? .absent
            case .unavailable:
                return .unavailable
            case .unasked:
                state = .asking(Task { await list(control, isBrief: isBrief) })
            case .asking(let task):
                let error = await task.value
                if control.isStopRequested {
                    throw GigHiveError(.cancelled)
                }
                if let error, error.code == .serverUnavailable {
                    // It was a brief query, perhaps of another upload.
                    guard !isBrief else { return .unavailable }
                    continue
                }
                // Another upload's stop breaks its listing off, not ours.
                if let error, error.code != .cancelled {
                    throw error
                }
            }
        }
    }

    private func isOlder(than moment: ContinuousClock.Instant?) -> Bool {
        guard let moment, let listedAt else { return false }
        return listedAt < moment
    }

    /// - Returns: Why the network did not bring it.
    private func list(_ control: TransferControl, isBrief: Bool) async -> GigHiveError? {
        let began = ContinuousClock.now
        let outcome = await control.abandoning { [client] inner -> Result<InventoryIndex, GigHiveError> in
            do throws(GigHiveError) {
                guard isBrief else { return .success(try await InventoryIndex.fetch(client, control: inner)) }
                return .success(
                    try await client.briefly(inner) { (client) async throws(GigHiveError) in
                        try await InventoryIndex.fetch(client, control: inner)
                    }
                )
            } catch {
                return .failure(error)
            }
        }
        switch outcome {
        case .success(let index):
            self.index = index
            listedAt = began
            state = .listed
        case .failure(let error) where error.transport != nil || error.code == .cancelled,
            .failure(let error) where isBrief && error.code == .serverUnavailable:
            state = .unasked
            return error
        case .failure(let error):
            state = .unavailable
            refusal = error
        }
        return nil
    }
}
