internal import Foundation
internal import MediaCore
internal import MediaCrypto
internal import MediaFiles
public import MediaTransport

/// The pages of a server's media listing, one after the other (gighive contract section 7). A listing that changes
/// while it is read may repeat an entry or miss one, which `GigHiveClient.media(matching:)` detects and corrects.
struct ListingPages {
    let client: GigHiveClient
    var view = ListingPage.View.event
    /// Applied by the server, which matches substrings.
    var filters: [(name: String, value: String)] = []
    let control: TransferControl
    /// The next page; nil after the last one.
    var number: Int64? = 1

    /// The next page; nil after the last.
    mutating func next() async throws(GigHiveError) -> ListingPage? {
        guard let number else { return nil }
        let page = try await client.listing(page: number, view: view, filters: filters, control: control)
        self.number = number >= page.pageCount || page.entries.isEmpty ? nil : number + 1
        return page
    }
}

/// The rows of a listing of several pages, by their hashes. Releases that sort by date alone may repeat a row on
/// another page and omit another.
struct ListingRows {
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
            hashes.insert([row, ordinal].hashValue)
        }
    }
}

extension GigHiveClient {
    /// Maximum number of times that a listing of several pages is read until it is complete.
    static let listingPasses = 4

    /// The files on the server that match, in the order of the listing.
    ///
    /// Files without an event are included unless the query selects by event. Values that only `GET /api/uploads/<id>`
    /// reports are requested for the remaining files if a filter needs them; no filter needs size or MIME type.
    /// `control.abandon()` cancels the request in flight.
    ///
    /// - Throws: `GigHiveError`: `.filterUnavailable` if the server does not report a value that a filter needs,
    ///   `.unexpectedResponse` if the listing stays incomplete.
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

    /// A file with all its events, from the listing; without events if it is not listed.
    public func media(including asset: ServerMedia) async throws(GigHiveError) -> ServerMedia {
        let listed = try await rows(.event, MediaQuery(), TransferControl()).first { $0.fileID == asset.fileID }
        return listed?.adding(asset) ?? asset
    }

    /// Applies the filters that need more than the listing. Releases that report upload times (D1, D2) do not report
    /// readable names; once that is known, no further files are queried for their names.
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

    /// All pages of a view. Releases that sort by date alone may repeat a row on another page and omit another, so
    /// reading is repeated until as many rows have been seen as the server counts.
    private func rows(
        _ view: ListingPage.View,
        _ query: MediaQuery,
        _ control: TransferControl
    ) async throws(GigHiveError) -> [ServerMedia] {
        var collection = MediaCollection()
        for _ in 0..<Self.listingPasses {
            var pages = ListingPages(client: self, view: view, filters: query.serverFilters, control: control)
            var total: Int64?
            while let page = try await pages.next() {
                collection.add(page)
                total = page.total
            }
            guard let total, collection.rowCount < total else { return collection.media }
        }
        throw .incompleteListing
    }
}

extension GigHiveError {
    /// The pages of a listing were read several times and have fewer rows than the server counts.
    static var incompleteListing: GigHiveError {
        GigHiveError(
            .unexpectedResponse,
            detail: "incomplete listing: fewer files than the server reports",
            isRetryable: true
        )
    }
}

private struct MediaCollection {
    private var rows = ListingRows()
    private var positions: [Int64: Int] = [:]
    private(set) var media: [ServerMedia] = []

    var rowCount: Int { rows.count }

    mutating func add(_ page: ListingPage) {
        rows.add(page)
        for entry in page.entries {
            guard let fileID = entry.fileID else { continue }
            if let position = positions[fileID] {
                media[position].add(entry)
            } else if let file = ServerMedia(entry) {
                positions[fileID] = media.count
                media.append(file)
            }
        }
    }
}

/// A selection of files on a server. Every value that is set must match; date, organization, type and label in
/// the same event.
public struct MediaQuery: Sendable, Equatable {
    /// `YYYY-MM-DD`.
    public var eventDate: String?
    /// The whole name of the organization, ignoring whitespace and case.
    public var orgName: String?
    /// `band`, `wedding`, …
    public var eventType: String?
    /// The whole label, compared like `orgName`.
    public var label: String?
    /// The served name (`<sha256>.<ext>`), the readable name that the server generated, or the name of the original
    /// file, which no server stores: see `guessesFileName`.
    public var fileName: String?
    /// 64 lowercase hexadecimal characters.
    public var checksumSHA256: String?
    /// `YYYY-MM-DD`, or `YYYY-MM-DD HH:MM:SS`, in the server's time zone: stored then or later.
    public var since: String?
    /// `audio` or `video`.
    public var fileType: String?

    /// Creates a query that matches everything.
    public init() {}

    /// Whether everything matches.
    public var isEmpty: Bool { self == MediaQuery() }

    /// Whether `fileName` is not a served name. It then also matches files whose label is the name without
    /// its extension, the default label, and files whose readable name was derived from such a label.
    /// Several files may match.
    public var guessesFileName: Bool { fileName.map { !Self.isServedName($0) } ?? false }

    /// Whether a file must belong to an event to match.
    var choosesByEvent: Bool { eventDate != nil || orgName != nil || eventType != nil || label != nil }

    /// The filters that the server applies. The server matches substrings, so these filters find all matches and more
    /// (gighive contract section 7).
    var serverFilters: [(name: String, value: String)] {
        [
            ("date", eventDate), ("org_name", orgName.flatMap(StoredText.searchTerm)),
            ("item_label", label.flatMap(StoredText.searchTerm)), ("file_type", fileType),
        ].compactMap { name, value in value.map { (name, $0) } }
    }

    /// A listed file with its matching events; nil if it cannot match.
    func narrowed(_ media: ServerMedia) -> ServerMedia? {
        if let fileType, media.fileType != fileType {
            return nil
        }
        if let checksumSHA256, let known = media.checksumSHA256, known != checksumSHA256 {
            return nil
        }
        if let fileName, Self.isServedName(fileName), let known = media.fileName, known != fileName {
            return nil
        }
        guard choosesByEvent else { return media }
        var media = media
        media.events = media.events.filter(includes)
        return media.events.isEmpty ? nil : media
    }

    /// Whether an event of a file matches date, organization, type and label. A type that the server does not list does
    /// not rule the event out.
    public func includes(_ event: ServerMedia.Event) -> Bool {
        (eventDate == nil || event.date == eventDate)
            && isSame(event.orgName, orgName) && isSame(event.label, label)
            && (eventType == nil || event.eventType == nil || isSame(event.eventType, eventType))
    }

    private func isSame(_ stored: String?, _ wanted: String?) -> Bool {
        guard let wanted else { return true }
        return stored.map { StoredText.isSame($0, wanted) } ?? false
    }

    /// Whether a file that passed `narrowed` requires `GET /api/uploads/<id>` to be matched.
    func needsDetails(of media: ServerMedia, reportsSourceNames: Bool = true) -> Bool {
        (since != nil && media.createdAt == nil) || (checksumSHA256 != nil && media.checksumSHA256 == nil)
            || (reportsSourceNames && fileName.map { $0 != media.fileName && !hasLabel($0, media) } ?? false)
    }

    /// Applies the filters that `narrowed` could not. Throws `.filterUnavailable` if the server does
    /// not report a value.
    func matches(_ media: ServerMedia) throws(GigHiveError) -> Bool {
        if eventType != nil, media.events.contains(where: { $0.eventType == nil }) {
            throw Self.unavailable("event_type", "the server does not report event types")
        }
        if let checksumSHA256 {
            guard let known = media.checksumSHA256 else {
                throw Self.unavailable("sha256", "the server does not report checksums")
            }
            guard known == checksumSHA256 else { return false }
        }
        if let fileName, fileName != media.fileName, !hasLabel(fileName, media) {
            // Releases D1 and D2 report only served names.
            guard let sourceName = media.sourceName, Self.isSourceName(sourceName, of: fileName) else { return false }
        }
        if let since {
            guard let createdAt = media.createdAt else {
                throw Self.unavailable("since", "the server does not report upload times")
            }
            guard createdAt >= since else { return false }
        }
        return true
    }

    // MARK: File names

    /// Whether an event of the file has the label that an upload of `fileName` has by default.
    private func hasLabel(_ fileName: String, _ media: ServerMedia) -> Bool {
        guard guessesFileName else { return false }
        let stem = fileName.nameParts.stem
        return media.events.contains { $0.label.map { StoredText.isSame($0, stem) } ?? false }
    }

    /// Whether the readable name of a file is `fileName`, or was derived from its stem as the label:
    /// `band20260301_my-clip.mp4` for `My Clip.mp4`.
    private static func isSourceName(_ sourceName: String, of fileName: String) -> Bool {
        guard sourceName != fileName else { return true }
        let (stem, pathExtension) = fileName.nameParts
        let slug = StoredText.slug(stem)
        // Other characters are not part of the readable name, so many labels share one.
        guard !isServedName(fileName), !slug.isEmpty, stem.allSatisfy(\.isASCII) else { return false }
        let suffix = pathExtension.isEmpty ? "" : "." + pathExtension.lowercased()
        return sourceName.lowercased().hasSuffix("_" + slug + suffix)
    }

    /// `<sha256>.<ext>`.
    private static func isServedName(_ name: String) -> Bool {
        SHA256Text.lowerCased(String(name.prefix { $0 != "." })) != nil
    }

    private static func unavailable(_ field: String, _ detail: String) -> GigHiveError {
        GigHiveError(.filterUnavailable, detail: detail).with(\.field, field)
    }
}

/// A file on a server, with the events that it belongs to: from the listing, which has the events, or from
/// `GET /api/uploads/<id>`, which has the other details. Values that a release does not report are nil.
public struct ServerMedia: Sendable, Equatable {
    /// One event of a file.
    public struct Event: Sendable, Hashable {
        /// `YYYY-MM-DD`.
        public var date: String?
        /// The organization, as the server stores it.
        public var orgName: String?
        /// The label of the file in this event.
        public var label: String?
        /// `band`, `wedding`, …
        public var eventType: String?
    }

    /// Assigned by the server.
    public var fileID: Int64
    /// The events, in the order of the listing; only matching ones if the query selects by event.
    public var events: [Event] = []
    /// The served name, `<sha256>.<ext>`.
    public var fileName: String?
    /// `audio` or `video`.
    public var fileType: String?
    /// 64 lowercase hexadecimal characters.
    public var checksumSHA256: String?
    /// Length in seconds; nil if the server could not measure it, or does not report it.
    public var durationSeconds: Int64?
    /// When the media was recorded, as the server found it in the file, without a time zone.
    public var mediaCreatedAt: String?
    public var path: String?
    /// When it was stored, `YYYY-MM-DD HH:MM:SS` in the server's time zone.
    public var createdAt: String?
    /// Length in bytes; not in the listing.
    public var sizeBytes: Int64?
    /// As declared or sniffed during the upload, for example `video/mp4`; not in the listing.
    public var mimeType: String?
    /// The readable name that the server derived from event and label (`source_relpath`), not the name of the uploaded
    /// file; not in the listing.
    public var sourceName: String?
    /// D1 and D2: the session (event) that the file was first stored for; not in the listing.
    var sessionID: Int64?
    /// D1 and D2: its number in that session; not in the listing.
    var sequence: Int64?

    package init(fileID: Int64) {
        self.fileID = fileID
    }

    /// The file that a listing entry describes; nil for an entry without an ID.
    init?(_ entry: ListingPage.Entry) {
        guard let fileID = entry.fileID else { return nil }
        self.init(fileID: fileID)
        fileName = entry.fileName
        fileType = entry.fileType
        checksumSHA256 = entry.checksumSHA256
        durationSeconds = entry.durationSeconds
        mediaCreatedAt = entry.mediaCreatedAt
        path = entry.url
        createdAt = entry.createdAt
        add(entry)
    }

    /// Adds the event of another entry of the same file.
    mutating func add(_ entry: ListingPage.Entry) {
        // The view by asset has neither date nor organization nor title.
        guard entry.date != nil || entry.orgName != nil || entry.title != nil else { return }
        let event = Event(date: entry.date, orgName: entry.orgName, label: entry.title, eventType: entry.eventType)
        if !events.contains(event) {
            events.append(event)
        }
    }

    /// Adds the values from `GET /api/uploads/<id>` (gighive contract 2.5).
    public func adding(_ asset: ServerMedia) -> ServerMedia {
        var media = self
        media.fileName = asset.fileName ?? fileName
        media.fileType = asset.fileType ?? fileType
        media.checksumSHA256 = asset.checksumSHA256 ?? checksumSHA256
        media.durationSeconds = asset.durationSeconds ?? durationSeconds
        media.createdAt = asset.createdAt ?? createdAt
        media.sizeBytes = asset.sizeBytes
        media.mimeType = asset.mimeType
        media.sourceName = asset.sourceName
        return media
    }
}

/// The name under which a server serves a file: `/<kind>/<sha256>.<extension>`. The extension is not always the local
/// file's: some servers derive it from the media type, and use `bin` for most types (gighive-d4 contract 4.6).
struct ServedName: Sendable, Equatable {
    /// `audio` or `video`; nil if unknown.
    var kind: String?
    /// Without the dot; nil if unknown.
    var pathExtension: String?
}

extension ServedName {
    /// Uses the first of `names` that is a digest with an extension.
    init(kind: String?, names: [String?]) {
        self.kind = kind
        pathExtension = names.lazy.compactMap { $0.flatMap(Self.pathExtension) }.first
    }

    /// The extension of a served name or path; nil for any other text.
    private static func pathExtension(of path: String) -> String? {
        // Works on bytes without creating substrings, because each response to an upload has a path.
        var path = path
        return path.withUTF8 { bytes in
            let isSlash = { (byte: UInt8) in byte == UInt8(ascii: "/") }
            guard let last = bytes.lastIndex(where: { !isSlash($0) }) else { return nil }
            let start = bytes[...last].lastIndex(where: isSlash).map { $0 + 1 } ?? 0
            // After the 64 digits of a digest.
            let dot = start + 64
            guard dot < last, bytes[dot] == UInt8(ascii: "."), (1...8).contains(last - dot),
                bytes[start..<dot].allSatisfy(HexText.isDigit),
                bytes[(dot + 1)...last].allSatisfy(TextFields.isAlphanumeric)
            else { return nil }
            return String(decoding: bytes[(dot + 1)...last], as: UTF8.self)
        }
    }
}

extension ListingPage.Entry {
    var servedName: ServedName { ServedName(kind: fileType, names: [url, fileName]) }
}

extension ServerMedia {
    var servedName: ServedName { ServedName(kind: fileType, names: [fileName]) }
}

/// Compares names with the forms that servers store: whitespace collapsed, characters composed, and on some releases
/// everything in plain lowercase ASCII (gighive contract section 7, trap T27).
enum StoredText {
    /// Whether a stored name equals `wanted`, ignoring whitespace, case and invisible characters. Names that the
    /// server's database treats as equal (`folded`) can coexist as labels, so a deletion must distinguish them.
    static func isSame(_ stored: String, _ wanted: String) -> Bool {
        visible(stored) == visible(wanted) || stored == simplified(wanted)
    }

    private static func visible(_ text: String) -> String {
        var visible = String.UnicodeScalarView()
        for scalar in collapsed(text).lowercased().unicodeScalars where !scalar.properties.isDefaultIgnorableCodePoint {
            visible.append(scalar)
        }
        return String(visible)
    }

    /// Whitespace collapsed, without case and accents, as the database compares names (`utf8mb4_unicode_ci`).
    static func folded(_ text: String) -> String {
        // ASCII gives the same result without Unicode tables, which is faster: this runs for every upload, to determine
        // its event.
        if TerminalText.isPrintableASCII(text) {
            return text.split(separator: " ").joined(separator: " ").lowercased()
        }
        let folded = collapsed(text.precomposedStringWithCompatibilityMapping)
            .folding(options: [.caseInsensitive, .diacriticInsensitive, .widthInsensitive], locale: nil)
        var weighed = String.UnicodeScalarView()
        for scalar in folded.unicodeScalars where !scalar.properties.isDefaultIgnorableCodePoint {
            switch scalar.value {
            // Katakana are compared as hiragana.
            case 0x30A1...0x30F6: weighed.append(Unicode.Scalar(scalar.value - 0x60) ?? scalar)
            // All characters beyond the basic plane have the same weight.
            case 0x10000...: weighed.append("\u{FFFD}")
            default: weighed.append(scalar)
            }
        }
        return String(weighed)
    }

    /// The form in which late D2 releases store a name: in lower case, without apostrophes, transliterated.
    static func simplified(_ text: String) -> String {
        var plain = String.UnicodeScalarView()
        for scalar in text.lowercased().unicodeScalars {
            switch scalar {
            case "'", "`", "\u{2018}", "\u{2019}", "\u{2032}": continue
            case "\u{2013}", "\u{2014}": plain.append("-")
            default: plain.append(scalar)
            }
        }
        let transform = StringTransform("Any-Latin; Latin-ASCII")
        return collapsed(String(plain).applyingTransform(transform, reverse: false) ?? String(plain))
    }

    /// The longest run of ASCII letters and digits in `wanted`, for the server's substring filters: every stored form
    /// contains it, and it has no meaning in the syntax of filters. nil if it is shorter than three characters.
    static func searchTerm(_ wanted: String) -> String? {
        let runs = wanted.precomposedStringWithCanonicalMapping.split { !($0.isASCII && ($0.isLetter || $0.isNumber)) }
        guard let longest = runs.max(by: { $0.count < $1.count }), longest.count >= 3 else { return nil }
        return String(longest)
    }

    /// The form of a label in readable names: in lower case, with a hyphen for every run of characters that are not
    /// ASCII letters or digits (gighive contract, trap T16).
    static func slug(_ label: String) -> String {
        label.lowercased().split { !($0.isASCII && ($0.isLetter || $0.isNumber)) }.joined(separator: "-")
    }

    private static func collapsed(_ text: String) -> String {
        text.precomposedStringWithCanonicalMapping.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }
}
