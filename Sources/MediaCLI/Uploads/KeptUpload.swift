internal import Foundation
internal import GigHive
internal import MediaCore
internal import MediaFiles
internal import MediaStore

/// A file on a server that can be deleted from this machine with its delete token, or hidden as a guest.
struct KeptUpload: Sendable {
    var host: String
    var fileID: Int64
    var createdAt: Date
    var eventDate: String
    var orgName: String
    var eventType: String
    var label: String?
    var fileName: String
    var fileType: String?
    var checksumSHA256: String?
    var sizeBytes: Int64
    var server: String
    var isSuperseded: Bool
    /// nil for a guest upload without a token.
    var token: DeleteToken?
    /// nil if the journal was not read or does not contain the upload.
    var transport: UploadTransport?
    var isGuest = false
    /// The last known state of a guest upload; nil if its server was never queried.
    var guestState: GuestState?
    /// Time when the server reported the state.
    var guestStateAt: Date?
    /// The details that the server stored, one per event of the file, oldest first.
    var events: [StoredFacts] = []

    /// The details that the server stored for the event of this upload; nil if unknown.
    var stored: StoredFacts? { events.first { isOwn($0) } }

    /// The other events that the file is linked to.
    var otherEvents: [StoredFacts] { events.filter { !isOwn($0) } }

    private func isOwn(_ event: StoredFacts) -> Bool {
        (event.eventDate ?? "") == eventDate && (event.orgName ?? "") == orgName
    }

    /// Whether both uploads were for the same event.
    func isForEvent(of other: KeptUpload) -> Bool { eventDate == other.eventDate && orgName == other.orgName }

    /// The label, or the file name if there is no label.
    var title: String { label.flatMap { $0.isEmpty ? nil : $0 } ?? fileName }

    /// Creates an upload from an entry; `transports` has those of the entries that the journal contains.
    init(_ entry: TokenEntry, _ transports: [Int64: UploadTransport] = [:]) {
        host = entry.host
        fileID = entry.fileID
        createdAt = entry.createdAt
        eventDate = entry.eventDate
        orgName = entry.orgName
        eventType = entry.eventType
        label = entry.label
        fileName = entry.fileName
        fileType = entry.fileType
        checksumSHA256 = entry.checksumSHA256.isEmpty ? nil : entry.checksumSHA256
        sizeBytes = entry.sizeBytes
        server = entry.baseURL
        isSuperseded = entry.isSuperseded
        token = entry.token
        transport = entry.rowID.flatMap { transports[$0] }
    }

    /// A guest upload in the journal; nil if the server has not assigned an ID to it.
    init?(guest record: UploadRecord, _ standing: GuestStanding? = nil) {
        guard let fileID = record.fileID else { return nil }
        self.fileID = fileID
        host = record.host
        createdAt = record.createdAt
        eventDate = record.fields["event_date"] ?? ""
        orgName = record.fields["org_name"] ?? ""
        eventType = record.fields["event_type"] ?? ""
        label = record.fields["label"]
        fileName = record.path.fileName
        checksumSHA256 = record.checksumSHA256
        sizeBytes = record.sizeBytes
        server = record.baseURL
        isSuperseded = false
        transport = record.transport
        isGuest = true
        guestState = standing.flatMap { GuestState(rawValue: $0.state) }
        guestStateAt = guestState == nil ? nil : standing?.notedAt
        // Stores written by 0.1.0 record a hidden upload only in the journal.
        if record.failureCode == UploadRecord.hidden {
            guestState = .hidden
            guestStateAt = standing?.state == GuestState.hidden.rawValue ? standing?.notedAt : record.updatedAt
        }
    }

    /// Uses the details from the server, which may differ from those that were sent.
    mutating func take(_ files: [StoredFile]) {
        events = files.map(\.facts)
        guard isGuest, let stored = events.first else { return }
        eventDate = stored.eventDate ?? eventDate
        orgName = stored.orgName ?? orgName
        eventType = stored.eventType ?? eventType
        label = stored.label ?? label
    }
}

extension StoreSession {
    /// The uploads with an ID, including older entries, with their transport.
    func keptUploads(host: String?, fileID: Int64) throws -> [KeptUpload] {
        let guests = try GuestUploads(store.guestUploads(host: host, fileID: fileID), in: store)
        let entries = try store.tokens(fileID: fileID, host: host, includeSuperseded: true)
        let transports = try store.transports(of: entries)
        var uploads = entries.map { KeptUpload($0, transports) }
        for index in uploads.indices { guests.merge(into: &uploads[index]) }
        let keys = Set(uploads.map(FileKey.init))
        uploads += guests.uploads.filter { !keys.contains(FileKey($0)) }
        uploads.sort { $0.createdAt > $1.createdAt }
        for index in uploads.indices {
            let upload = uploads[index]
            let files = try store.storedFiles(
                host: upload.host,
                fileID: fileID,
                checksumSHA256: upload.checksumSHA256 ?? ""
            )
            if !files.isEmpty { uploads[index].take(files) }
        }
        return uploads
    }
}

/// All uploads that can be deleted from this machine and all guest uploads, newest first, one page at a time.
struct KeptUploadPages {
    private let store: TokenStore
    private let hasTransports: Bool
    private var tokens: TokenPages
    private let guests: GuestUploads
    /// Remaining guest uploads without a token, newest last.
    private var waiting: [KeptUpload]

    /// Reads all guest uploads at once, since there are few. For a table (`isTable`), the transports are not read,
    /// since it does not show them, and if there are no guest uploads, the details are read only for events other than
    /// the upload's.
    init(of store: TokenStore, host: String?, isTable: Bool) throws {
        self.store = store
        hasTransports = !isTable
        guests = try GuestUploads(store.guestUploads(host: host), in: store)
        let files: TokenPages.Files = isTable && guests.uploads.isEmpty ? .ofOtherEvents : .all
        tokens = TokenPages(of: store, host: host, files: files)
        var waiting: [KeptUpload] = []
        for var guest in guests.uploads {
            let checksum = guest.checksumSHA256 ?? ""
            let others = try store.tokens(fileID: guest.fileID, host: guest.host)
            guard !others.contains(where: { $0.checksumSHA256 == checksum }) else { continue }
            let files = try store.storedFiles(host: guest.host, fileID: guest.fileID, checksumSHA256: checksum)
            if !files.isEmpty { guest.take(files) }
            waiting.append(guest)
        }
        self.waiting = waiting.sorted { $0.createdAt > $1.createdAt }.reversed()
    }

    /// nil after the last page.
    mutating func next() throws -> [KeptUpload]? {
        guard let page = try tokens.next() else {
            defer { waiting = [] }
            return waiting.isEmpty ? nil : waiting.reversed()
        }
        let files = Dictionary(grouping: page.files) { FileKey($0) }
        let transports = hasTransports ? try store.transports(of: page.entries) : [:]
        var uploads: [KeptUpload] = []
        uploads.reserveCapacity(page.entries.count)
        for entry in page.entries {
            var upload = KeptUpload(entry, transports)
            guests.merge(into: &upload)
            if !files.isEmpty, let known = files[FileKey(upload)] { upload.take(known) }
            while let guest = waiting.last, guest.createdAt > upload.createdAt {
                uploads.append(guest)
                waiting.removeLast()
            }
            uploads.append(upload)
        }
        return uploads
    }
}

/// Guest uploads, with each file listed once. If a guest has also received a token, both belong to the same upload.
private struct GuestUploads {
    /// Newest first.
    var uploads: [KeptUpload] { keys.compactMap { known[$0]?.first } }

    private var keys: [FileKey] = []
    /// The uploads of a file, newest first.
    private var known: [FileKey: [KeptUpload]] = [:]
    /// Files that were also uploaded with a login, which makes their tokens usable.
    private var deletable: Set<FileKey> = []

    init(_ records: [UploadRecord], in store: TokenStore) throws {
        let records = records.filter(\.isStoredForGuest)
        let standings = records.isEmpty ? [:] : try store.guestStandings()
        for record in records {
            guard let guest = KeptUpload(guest: record, standings[record.uploadID]) else { continue }
            let key = FileKey(guest)
            if known[key] == nil { keys.append(key) }
            known[key, default: []].append(guest)
            if try store.hasLoginUpload(of: record) { deletable.insert(key) }
        }
    }

    /// Adds the state of the guest upload that a token came with: the one to the same event. Adds nothing if the file
    /// was also uploaded with a login, which makes the token usable.
    func merge(into upload: inout KeptUpload) {
        guard !known.isEmpty else { return }
        let key = FileKey(upload)
        let guest = known[key]?.first { $0.isForEvent(of: upload) }
        guard let guest, !deletable.contains(key) else { return }
        upload.isGuest = true
        upload.transport = guest.transport
        upload.guestState = guest.guestState
        upload.guestStateAt = guest.guestStateAt
    }
}

/// The identity of a stored file.
private struct FileKey: Hashable {
    let host: String
    let fileID: Int64
    let checksum: String

    init(_ file: StoredFile) {
        (host, fileID, checksum) = (file.host, file.fileID, file.checksumSHA256)
    }

    init(_ upload: KeptUpload) {
        (host, fileID, checksum) = (upload.host, upload.fileID, upload.checksumSHA256 ?? "")
    }
}

extension JSONRenderer {
    static func kept(_ upload: KeptUpload, isTokenShown: Bool) -> JSONObject {
        [
            "host": .string(upload.host), "file_id": .integer(upload.fileID),
            "created_at": .time(upload.createdAt), "event_date": .string(upload.eventDate),
            "org_name": .string(upload.orgName), "event_type": .string(upload.eventType),
            "label": JSONValue(upload.label), "file_name": .string(upload.fileName),
            "file_type": JSONValue(upload.fileType), "size_bytes": .integer(upload.sizeBytes),
            "checksum_sha256": JSONValue(upload.checksumSHA256), "server": .string(upload.server),
            "event_id": JSONValue(upload.stored?.eventID), "position": JSONValue(upload.stored?.position),
            "mime_type": JSONValue(upload.stored?.mimeType),
            "duration_seconds": JSONValue(upload.stored?.durationSeconds),
            "participants": JSONValue(upload.stored?.participants), "keywords": JSONValue(upload.stored?.keywords),
            "linked_events": .array(upload.otherEvents.map { .object(event($0)) }),
            "transport": JSONValue(upload.transport?.rawValue), "guest": .bool(upload.isGuest),
            "guest_state": JSONValue(upload.guestState?.rawValue),
            "guest_state_at": .time(upload.guestStateAt),
            "superseded": .bool(upload.isSuperseded),
            "delete_token": isTokenShown ? JSONValue(upload.token?.secret) : .null,
        ]
    }

    private static func event(_ facts: StoredFacts) -> JSONObject {
        [
            "event_id": JSONValue(facts.eventID), "event_date": JSONValue(facts.eventDate),
            "org_name": JSONValue(facts.orgName), "event_type": JSONValue(facts.eventType),
            "label": JSONValue(facts.label), "position": JSONValue(facts.position),
        ]
    }
}

extension TextRenderer {
    static func guestState(of upload: KeptUpload, now: Date) -> String {
        guard let state = upload.guestState, let time = upload.guestStateAt else { return "not checked" }
        return "\(state.rawValue), \(Formats.age(of: time, now: now))"
    }
}
