public import MediaTransport

/// The media listing of a server, page by page (gighive contract section 7).
///
/// Each iteration sends the requests again. Pages are read one after the other; a listing that changes meanwhile may repeat
/// an entry or miss one, which `GigHiveClient.media(matching:)` detects and corrects.
public struct MediaListing: AsyncSequence, Sendable {
    /// A page.
    public typealias Element = ListingPage
    /// The error type of requests.
    public typealias Failure = GigHiveError

    private let client: GigHiveClient
    private let view: ListingPage.View
    private let query: MediaQuery
    private let control: TransferControl

    /// Makes a listing; nothing is sent yet.
    ///
    /// - Parameters:
    ///   - client: The server, with the login of any valid user.
    ///   - view: What an entry represents.
    ///   - query: What the server is asked to filter by. Its filters search for parts of names, so that pages may have
    ///     entries that do not match.
    ///   - control: `abandon()` cancels the request in flight.
    public init(
        _ client: GigHiveClient,
        view: ListingPage.View = .event,
        query: MediaQuery = MediaQuery(),
        control: TransferControl = TransferControl()
    ) {
        self.client = client
        self.view = view
        self.query = query
        self.control = control
    }

    /// Starts at the first page.
    public func makeAsyncIterator() -> Iterator { Iterator(listing: self) }

    /// Reads the pages.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let listing: MediaListing
        private var page: Int64 = 1
        private var isAtEnd = false

        fileprivate init(listing: MediaListing) {
            self.listing = listing
        }

        /// The next page; nil after the last.
        ///
        /// - Throws: `GigHiveError`.
        public mutating func next() async throws(GigHiveError) -> ListingPage? {
            try await next(isolation: nil)
        }

        /// The next page; nil after the last.
        ///
        /// - Throws: `GigHiveError`.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(GigHiveError) -> ListingPage? {
            guard !isAtEnd else { return nil }
            let result = try await listing.client.listing(
                page: page,
                view: listing.view,
                filters: listing.query.serverFilters,
                control: listing.control
            )
            isAtEnd = page >= result.pageCount || result.entries.isEmpty
            page += 1
            return result
        }
    }
}

extension GigHiveClient {
    /// Maximum number of times that a listing of several pages is read until it is complete.
    private static let listingPasses = 4

    /// The files on the server that match, in the order of the listing.
    ///
    /// Files that belong to no event are included unless the query chooses by event. What only
    /// `GET /api/uploads/<id>` reports is requested for the files that are left when a filter needs it; size and MIME type
    /// are not.
    ///
    /// - Parameters:
    ///   - query: Which files.
    ///   - control: `abandon()` cancels the request in flight.
    /// - Returns: One value for each file.
    /// - Throws: `GigHiveError`: `.filterUnavailable` when the server does not report what a filter needs,
    ///   `.unexpectedAnswer` when the listing stays incomplete.
    public func media(
        matching query: MediaQuery = MediaQuery(),
        control: TransferControl = TransferControl()
    ) async throws(GigHiveError) -> [ServerMedia] {
        var found = try await rows(.event, query, control)
        if !query.choosesByEvent {
            let known = Set(found.map(\.fileID))
            found += try await rows(.librarian, query, control).filter { !known.contains($0.fileID) }
        }
        var matching: [ServerMedia] = []
        var reportsSourceNames = true
        for media in found.compactMap({ query.narrowed($0) }) {
            if let match = try await confirmed(media, query, &reportsSourceNames) {
                matching.append(match)
            }
        }
        return matching
    }

    /// The details from `GET /api/uploads/<id>` for a listed file; nil if it no longer exists.
    ///
    /// - Throws: `GigHiveError`; `.unauthorized` for users who may only read the listing.
    public func details(of media: ServerMedia) async throws(GigHiveError) -> ServerMedia? {
        try await asset(media.fileID).map { media.adding($0) }
    }

    /// A file with all its events, from the listing; without events when the listing does not have it.
    ///
    /// - Throws: `GigHiveError`.
    public func media(including asset: Asset) async throws(GigHiveError) -> ServerMedia {
        let listed = try await rows(.event, MediaQuery(), TransferControl()).first { $0.fileID == asset.fileID }
        return (listed ?? ServerMedia(fileID: asset.fileID)).adding(asset)
    }

    /// Applies the filters that need more than the listing. Releases that report upload times (D1, D2) report no readable
    /// names; further files are then not requested for theirs.
    private func confirmed(
        _ media: ServerMedia,
        _ query: MediaQuery,
        _ reportsSourceNames: inout Bool
    ) async throws(GigHiveError) -> ServerMedia? {
        if query.needsDetails(of: media, reportsSourceNames: reportsSourceNames) {
            guard let detailed = try await details(of: media) else { return nil }
            if detailed.sourceName == nil, detailed.createdAt != nil {
                reportsSourceNames = false
            }
            return try query.matches(detailed) ? detailed : nil
        }
        return try query.matches(media) ? media : nil
    }

    /// All pages of a view. Releases that sort by date alone may repeat a row on another page and leave another out, so
    /// that reading is repeated until as many rows were seen as the server counts.
    private func rows(
        _ view: ListingPage.View,
        _ query: MediaQuery,
        _ control: TransferControl
    ) async throws(GigHiveError) -> [ServerMedia] {
        var collection = MediaCollection()
        for _ in 0..<Self.listingPasses {
            var pages = MediaListing(self, view: view, query: query, control: control).makeAsyncIterator()
            var total: Int64?
            while let page = try await pages.next() {
                collection.add(page)
                total = page.total
            }
            guard let total, collection.rowCount < total else { return collection.media }
        }
        throw GigHiveError(
            .unexpectedAnswer,
            detail: "incomplete listing: fewer files than the server reports",
            isRetryable: true
        )
    }
}

/// Rows of a listing, grouped by file.
private struct MediaCollection {
    private struct Row: Hashable {
        var fileID: Int64?
        var fileName: String?
        var event: ServerMedia.Event
        /// Equal rows of one page are different rows.
        var ordinal: Int
    }

    private var rows: Set<Row> = []
    private var positions: [Int64: Int] = [:]
    private(set) var media: [ServerMedia] = []

    var rowCount: Int { rows.count }

    mutating func add(_ page: ListingPage) {
        var ordinals: [Row: Int] = [:]
        for entry in page.entries {
            var row = Row(
                fileID: entry.fileID,
                fileName: entry.fileName,
                event: ServerMedia.Event(date: entry.date, orgName: entry.orgName, label: entry.title),
                ordinal: 0
            )
            let ordinal = ordinals[row, default: 0]
            ordinals[row] = ordinal + 1
            row.ordinal = ordinal
            guard rows.insert(row).inserted, let fileID = entry.fileID else { continue }
            if let position = positions[fileID] {
                media[position].add(entry)
            } else if let file = ServerMedia(entry) {
                positions[fileID] = media.count
                media.append(file)
            }
        }
    }
}
