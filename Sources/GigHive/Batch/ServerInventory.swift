internal import Foundation
internal import MediaCore
internal import MediaStore
internal import MediaTransport

/// The files of a server by digest: one paged listing per run, read when first needed.
///
/// Uses the view by event: identical bytes count as uploaded only for an event that has them (gighive contract section
/// 3), and the view by asset does not report events. Assets without an event are not included.
actor ServerInventory {
    struct Stored: Sendable, Equatable {
        var fileID: Int64
        var served: ServedName
        /// Whether the listing has the file in the event.
        var isInEvent: Bool
        /// Whether other events list it too. D1 and D2 list a file in every event that has a file with the same label.
        var isInSeveralEvents = false

        /// Whether the file is known to be in the event, and not just in another one with the same label.
        var isOnlyInEvent: Bool { isInEvent && !isInSeveralEvents }
    }

    enum Finding: Sendable, Equatable {
        case stored(Stored)
        case absent
        /// The server provides no listing for this user.
        case unavailable
    }

    private enum State {
        case notListed
        case listing(Task<GigHiveError?, Never>)
        case listed
        case unavailable
    }

    /// Number of individual queries that are cheaper than the listing.
    private var singleQueries = 2
    private let client: GigHiveClient
    private var state = State.notListed
    private var index = InventoryIndex()
    /// Why there is no listing.
    private(set) var refusal: GigHiveError?
    /// When the listing in `index` was started.
    private var listedAt: ContinuousClock.Instant?

    init(_ client: GigHiveClient) {
        self.client = client
    }

    /// Whether the next query is one of many, so that the listing pays off.
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
                return index.find(checksum, in: event).map { .stored($0) } ?? .absent
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
                    // It was a brief query, perhaps one for another upload.
                    guard !isBrief else { return .unavailable }
                    continue
                }
                // Another upload's stop cancels its listing, not ours.
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
        let outcome = await control.abandoning { [client] inner in
            await Result(awaiting: { () async throws(GigHiveError) in
                guard isBrief else { return try await InventoryIndex.fetch(client, control: inner) }
                return try await client.briefly(inner) { (client) async throws(GigHiveError) in
                    try await InventoryIndex.fetch(client, control: inner)
                }
            })
        }
        switch outcome {
        case .success(let index):
            self.index = index
            listedAt = began
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

/// A compact media listing: half of each digest, its ID, and the events.
struct InventoryIndex: Sendable {
    /// The first half of a digest. Only files crafted for that purpose could share it.
    private struct Key: Hashable {
        var high: UInt64
        var low: UInt64

        init?(_ checksum: some StringProtocol) {
            guard checksum.utf8.count == 64, let high = UInt64(checksum.prefix(16), radix: 16),
                let low = UInt64(checksum.dropFirst(16).prefix(16), radix: 16)
            else { return nil }
            self.high = high
            self.low = low
        }
    }

    private struct Asset {
        var fileID: Int64
        /// The first event that it was listed for; others are in `moreEvents`.
        var event: Int32
        /// An index into `kinds`.
        var kind: UInt8
        /// An index into `pathExtensions`; 0 if unknown.
        var pathExtension: UInt16
        var isInSeveralEvents = false
    }

    private static let kinds: [String?] = [nil, "audio", "video"]

    private struct Link: Hashable {
        var asset: Key
        var event: Int32
    }

    private var assets: [Key: Asset] = [:]
    private var moreEvents: Set<Link> = []
    private var events: [InventoryEvent: Int32] = [:]
    private var pathExtensions: [String] = [""]

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
            guard let total, rows.count < total else { break }
        }
        return index
    }

    /// The rows of a listing of several pages, by their hashes. Releases that sort by date alone may repeat a row on
    /// another page and omit another.
    private struct ListingRows {
        private var hashes: Set<Int> = []

        var count: Int { hashes.count }

        mutating func add(_ page: ListingPage) {
            // Equal rows on one page are distinct rows.
            var ordinals: [Int: Int] = [:]
            for entry in page.entries {
                var hasher = Hasher()
                hasher.combine(entry.fileID)
                for text in [entry.fileName, entry.date, entry.orgName, entry.title] { hasher.combine(text) }
                let row = hasher.finalize()
                let ordinal = ordinals[row, default: 0]
                ordinals[row] = ordinal + 1
                var numbered = Hasher()
                numbered.combine(row)
                numbered.combine(ordinal)
                hashes.insert(numbered.finalize())
            }
        }
    }

    /// Adds an entry; ignores one without ID or digest.
    mutating func add(_ entry: ListingPage.Entry) {
        guard let fileID = entry.fileID, let key = entry.checksumSHA256.flatMap({ Key($0) }) else { return }
        let event = number(of: InventoryEvent(date: entry.date ?? "", orgName: entry.orgName ?? ""))
        guard let known = assets[key], known.fileID == fileID else {
            assets[key] = Asset(
                fileID: fileID,
                event: event,
                kind: UInt8(Self.kinds.firstIndex(of: entry.fileType) ?? 0),
                pathExtension: number(ofExtension: entry.servedName.pathExtension)
            )
            return
        }
        if known.event != event {
            moreEvents.insert(Link(asset: key, event: event))
            assets[key]?.isInSeveralEvents = true
        }
    }

    func find(_ checksum: String, in event: InventoryEvent) -> ServerInventory.Stored? {
        guard let key = Key(checksum), let asset = assets[key] else { return nil }
        let isInEvent = [event, event.simplified, .unknown].contains { event in
            events[event].map { asset.event == $0 || moreEvents.contains(Link(asset: key, event: $0)) } ?? false
        }
        return ServerInventory.Stored(
            fileID: asset.fileID,
            served: ServedName(
                kind: Self.kinds[Int(asset.kind)],
                pathExtension: asset.pathExtension == 0 ? nil : pathExtensions[Int(asset.pathExtension)]
            ),
            isInEvent: isInEvent,
            isInSeveralEvents: asset.isInSeveralEvents
        )
    }

    /// There are few extensions; any after the first thousand are ignored.
    private mutating func number(ofExtension text: String?) -> UInt16 {
        guard let text else { return 0 }
        if let known = pathExtensions.firstIndex(of: text) { return UInt16(known) }
        guard pathExtensions.count < 1000 else { return 0 }
        pathExtensions.append(text)
        return UInt16(pathExtensions.count - 1)
    }

    private mutating func number(of event: InventoryEvent) -> Int32 {
        if let number = events[event] {
            return number
        }
        let number = Int32(clamping: events.count)
        events[event] = number
        return number
    }
}

/// The key of an event: date and organization, compared as the server compares them (gighive
/// contract 2.1 and section 7).
struct InventoryEvent: Hashable, Sendable {
    private let date: String
    /// As the database compares it.
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

    init(_ event: GuestAccess.Event) {
        self.init(date: event.eventDate, orgName: event.orgName)
    }

    init(_ fields: [UploadField]) {
        self.init(date: fields["event_date"] ?? "", orgName: fields["org_name"] ?? "")
    }

    /// The same event, as late D2 releases list it.
    var simplified: InventoryEvent { InventoryEvent(date: date, orgName: StoredText.simplified(givenName)) }

    static func == (left: InventoryEvent, right: InventoryEvent) -> Bool {
        left.date == right.date && left.orgName == right.orgName
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(date)
        hasher.combine(orgName)
    }
}
