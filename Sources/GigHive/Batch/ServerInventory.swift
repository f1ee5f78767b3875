internal import Foundation
internal import MediaCore
internal import MediaStore
internal import MediaTransport

/// The files on a server, by digest: one paged listing per run, read when first needed.
///
/// Uses the view by event: identical bytes count as uploaded only for an event that has them (gighive contract section
/// 3), and the view by asset does not report events. Assets without an event are not included.
actor ServerInventory {
    struct Stored: Sendable, Equatable {
        var fileID: Int64
        var served: ServedName
        /// Whether the listing has the file in the event.
        var isInEvent: Bool
        /// Whether other events also list the file. D1 and D2 list a file in every event that has a file with the same
        /// label.
        var isInSeveralEvents = false

        /// Whether the file is listed in this event only, and is therefore certainly in it.
        var isOnlyInEvent: Bool { isInEvent && !isInSeveralEvents }
    }

    enum Finding: Sendable, Equatable {
        case stored(Stored)
        case absent
        /// The server does not provide a listing for this user, or only an incomplete one that does not show the file in
        /// the event.
        case unavailable
    }

    private enum State {
        case notListed
        case listing(Task<GigHiveError?, Never>)
        case listed
        case unavailable
    }

    /// Number of further individual queries before the listing is cheaper.
    private var singleQueries = 2
    private let client: GigHiveClient
    private var state = State.notListed
    private var index = InventoryIndex()
    /// Why the listing is unavailable or incomplete.
    private(set) var refusal: GigHiveError?
    /// When the listing in `index` was started.
    private var listedAt: ContinuousClock.Instant?

    init(_ client: GigHiveClient) {
        self.client = client
    }

    /// Whether the next query is one of many, so the listing pays off.
    func isWorthListing() -> Bool {
        if case .listed = state {
            return true
        }
        singleQueries -= 1
        return singleQueries < 0
    }

    /// Looks for a file by its SHA-256 (64 hexadecimal characters). A listing begun before `moment` is repeated unless
    /// it has the file in the event; nil accepts any listing of this run. Without `moment`, an unavailable server
    /// counts as having no listing for this call.
    ///
    /// - Throws: `GigHiveError` if the network failed; the next call retries.
    func find(
        _ checksum: String,
        in event: InventoryEvent,
        since moment: ContinuousClock.Instant? = nil,
        control: TransferControl
    ) async throws(GigHiveError) -> Finding {
        // A query before an upload is brief; one that determines the result is not.
        let isBrief = moment == nil
        while true {
            switch state {
            case .listed where isOlder(than: moment) && index.find(checksum, in: event)?.isInEvent != true:
                state = .notListed
            case .listed:
                if let stored = index.find(checksum, in: event), stored.isInEvent || index.isComplete {
                    return .stored(stored)
                }
                return index.isComplete ? .absent : .unavailable
            case .unavailable:
                return .unavailable
            case .notListed:
                state = .listing(Task { await list(control, isBrief: isBrief) })
            case .listing(let task):
                let error = await task.value
                if control.isStopRequested {
                    throw GigHiveError(.cancelled)
                }
                if let error, error.isOutage {
                    // The failed query was brief, and perhaps for another upload.
                    guard !isBrief else { return .unavailable }
                    continue
                }
                // Stopping another upload cancels that upload's listing, not ours.
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

    /// - Returns: The error if the network failed.
    private func list(_ control: TransferControl, isBrief: Bool) async -> GigHiveError? {
        let began = ContinuousClock.now
        let inner = control.linked()
        let outcome = await Result(awaiting: { [client] () async throws(GigHiveError) in
            guard isBrief else { return try await InventoryIndex.fetch(client, control: inner) }
            return try await client.briefly(inner) { (client) async throws(GigHiveError) in
                try await InventoryIndex.fetch(client, control: inner)
            }
        })
        switch outcome {
        case .success(let index):
            self.index = index
            listedAt = began
            refusal = index.isComplete ? nil : .incompleteListing
            state = .listed
        case .failure(let error) where error.isOutage ? isBrief : error.transport != nil || error.code == .cancelled:
            state = .notListed
            return error
        case .failure(let error):
            state = .unavailable
            refusal = error
        }
        return nil
    }
}

/// The files in a media listing, by digest: their IDs, served names and events.
struct InventoryIndex: Sendable {
    private struct Asset {
        var fileID: Int64
        var served: ServedName
        /// The numbers of the events in which the file is listed.
        var events: [Int]
    }

    private var assets: [String: Asset] = [:]
    private var events: [InventoryEvent: Int] = [:]
    /// Whether as many rows were read as the server counts. Otherwise, a file or event that is not found may exist.
    private(set) var isComplete = true

    /// The whole listing, or only the events on a date.
    static func fetch(
        _ client: GigHiveClient,
        date: String? = nil,
        control: TransferControl
    ) async throws(GigHiveError) -> InventoryIndex {
        let filters = date.map { [(name: "date", value: $0)] } ?? []
        var index = InventoryIndex()
        var rows = ListingRows()
        for _ in 0..<GigHiveClient.listingPasses {
            var pages = ListingPages(client: client, filters: filters, control: control)
            var total: Int64?
            while let page = try await pages.next() {
                for entry in page.entries { index.add(entry) }
                if page.pageCount > 1 {
                    rows.add(page)
                    total = page.total
                }
            }
            index.isComplete = total.map { rows.count >= $0 } ?? true
            if index.isComplete { break }
        }
        return index
    }

    /// Adds an entry; ignores one without ID or digest.
    mutating func add(_ entry: ListingPage.Entry) {
        guard let fileID = entry.fileID, let checksum = entry.checksumSHA256 else { return }
        let key = InventoryEvent(date: entry.date ?? "", orgName: entry.orgName ?? "")
        let event = events[key] ?? events.count
        events[key] = event
        guard let known = assets[checksum], known.fileID == fileID else {
            var served = entry.servedName
            if served.kind != "audio", served.kind != "video" { served.kind = nil }
            assets[checksum] = Asset(fileID: fileID, served: served, events: [event])
            return
        }
        if !known.events.contains(event) { assets[checksum]?.events.append(event) }
    }

    func find(_ checksum: String, in event: InventoryEvent) -> ServerInventory.Stored? {
        guard let asset = assets[checksum.lowercased()] else { return nil }
        let numbers = [event, event.simplified, .unknown].compactMap { events[$0] }
        return ServerInventory.Stored(
            fileID: asset.fileID,
            served: asset.served,
            isInEvent: asset.events.contains { numbers.contains($0) },
            isInSeveralEvents: asset.events.count > 1
        )
    }
}

/// The key of an event: date and organization, compared as the server compares them (gighive
/// contract 2.1 and section 7).
struct InventoryEvent: Hashable, Sendable {
    private let date: String
    /// In the form in which the database compares names.
    private let orgName: String
    private let givenName: String

    /// The key of an entry without date and organization.
    static let unknown = InventoryEvent(date: "", orgName: "")

    init(date: String, orgName: String) {
        self.date = date
        self.orgName = StoredText.folded(orgName)
        givenName = orgName
    }

    init(_ details: UploadDetails) {
        self.init(date: details.eventDate, orgName: details.orgName)
    }

    init(_ fields: [UploadField]) {
        self.init(date: fields["event_date"] ?? "", orgName: fields["org_name"] ?? "")
    }

    /// This event as late D2 releases list it.
    var simplified: InventoryEvent { InventoryEvent(date: date, orgName: StoredText.simplified(givenName)) }

    static func == (left: InventoryEvent, right: InventoryEvent) -> Bool {
        left.date == right.date && left.orgName == right.orgName
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(date)
        hasher.combine(orgName)
    }
}
