internal import MediaTransport

/// A media listing, kept small: half of each digest, its id, and the events.
struct InventoryIndex: Sendable {
    /// The first half of a digest. Two files that share it would have to be made for that purpose.
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
        var kind: MediaKind
        /// A number in `pathExtensions`; 0 if unknown.
        var pathExtension: UInt16
        var isInSeveralEvents = false
    }

    private enum MediaKind: UInt8 {
        case unknown, audio, video

        var text: String? {
            switch self {
            case .unknown: nil
            case .audio: "audio"
            case .video: "video"
            }
        }
    }

    private struct Link: Hashable {
        var asset: Key
        var event: Int32
    }

    private var assets: [Key: Asset] = [:]
    private var moreEvents: Set<Link> = []
    private var events: [InventoryEvent: Int32] = [:]
    private var pathExtensions: [String] = [""]

    /// Reads the whole listing, page by page.
    static func fetch(
        _ client: GigHiveClient,
        control: TransferControl
    ) async throws(GigHiveError) -> InventoryIndex {
        var index = InventoryIndex()
        var page: Int64 = 1
        while true {
            let listing = try await client.listing(page: page, view: .event, control: control)
            for entry in listing.entries {
                index.add(entry)
            }
            guard page < listing.pageCount, !listing.entries.isEmpty else { return index }
            page += 1
        }
    }

    /// Takes an entry in. One without id or digest says nothing here.
    mutating func add(_ entry: ListingPage.Entry) {
        guard let fileID = entry.fileID, let key = entry.checksumSHA256.flatMap({ Key($0) }) else { return }
        let event = number(of: InventoryEvent(date: entry.date ?? "", orgName: entry.orgName ?? ""))
        guard let known = assets[key], known.fileID == fileID else {
            let kind: MediaKind = entry.fileType == "audio" ? .audio : entry.fileType == "video" ? .video : .unknown
            assets[key] = Asset(
                fileID: fileID,
                event: event,
                kind: kind,
                pathExtension: number(ofExtension: entry.servedName.pathExtension)
            )
            return
        }
        if known.event != event {
            moreEvents.insert(Link(asset: key, event: event))
            assets[key]?.isInSeveralEvents = true
        }
    }

    /// Looks for a digest.
    func find(_ checksum: String, in event: InventoryEvent) -> ServerInventory.Stored? {
        guard let key = Key(checksum), let asset = assets[key] else { return nil }
        let isInEvent = [event, event.simplified, .unknown].contains { event in
            events[event].map { asset.event == $0 || moreEvents.contains(Link(asset: key, event: $0)) } ?? false
        }
        return ServerInventory.Stored(
            fileID: asset.fileID,
            served: ServedName(
                kind: asset.kind.text,
                pathExtension: asset.pathExtension == 0 ? nil : pathExtensions[Int(asset.pathExtension)]
            ),
            isInEvent: isInEvent,
            isInSeveralEvents: asset.isInSeveralEvents
        )
    }

    /// There are few; those after the first thousand are not remembered.
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
