public import Foundation
import GRDB
internal import MediaCore
public import MediaSystem
import Outcomes

/// IDs of uploads become parts of file names.
enum UploadID {
    /// - Throws: `StoreError` for a string that is not a plain name of at most 40 lowercase letters, digits and
    ///   hyphens.
    static func check(_ text: String, path: String) throws(StoreError) {
        let isPlain = text.utf8.allSatisfy { byte in
            (0x61...0x7a).contains(byte) || (0x30...0x39).contains(byte) || byte == 0x2d
        }
        guard !text.isEmpty, text.utf8.count <= 40, isPlain else {
            throw StoreError(.other, path: path, detail: "\"\(text)\" is not an upload ID")
        }
    }
}

/// The state of an upload in the journal.
public enum UploadState: String, Sendable, CaseIterable, Codable {
    /// Planned; nothing was sent.
    case planned
    /// Bytes may have been sent. After a crash, such an upload must not be treated as unsent.
    case sending
    /// Every byte is sent; the response is pending.
    case sent
    /// The server responded with success; the token is being stored.
    case finalized
    /// On the server, and the whole response is stored.
    case done
    /// The server already had the bytes, in this event.
    case duplicate
    /// The server already had the bytes and has added them to this event.
    case linked
    /// The server has the bytes, but not in this event, and refused them.
    case refusedDuplicate = "refused_duplicate"
    /// Refused, or failed in a way that is known to leave nothing on the server.
    case failed
    /// Canceled before the last byte was sent.
    case cancelled
    /// The response was lost after the body was sent.
    case unknownOutcome = "unknown_outcome"
    /// On the server, but its token is lost.
    case tokenLost = "token_lost"

    /// Whether an upload in this state is changed only by a user's command.
    public var isFinal: Bool {
        switch self {
        case .planned, .sending, .sent, .finalized, .unknownOutcome: false
        case .done, .duplicate, .linked, .refusedDuplicate, .failed, .cancelled, .tokenLost: true
        }
    }

    /// Whether the server has confirmed that the event has the file.
    public var isStored: Bool {
        switch self {
        case .done, .duplicate, .linked, .tokenLost: true
        case .planned, .sending, .sent, .finalized, .refusedDuplicate, .failed, .cancelled, .unknownOutcome: false
        }
    }

    /// Whether an upload in this state can neither be resumed nor discarded: the server has no partial data of it.
    public var isFinished: Bool { isStored || self == .refusedDuplicate }
}

/// The transport of an upload's bytes.
public enum UploadTransport: String, Sendable, CaseIterable, Codable {
    /// One `multipart/form-data` request (gighive contract section 2).
    case multipart
    /// tus, then a finalize request (gighive contract section 4).
    case tus
}

/// One row of the upload journal.
public struct UploadRecord: Sendable, Equatable {
    /// `u-` and 16 characters of lowercase base 32; cannot be confused with a server's ID.
    public var uploadID: String
    /// The source as the user specified it, or its absolute path if the upload started in a different directory; bytes,
    /// because a path need not be UTF-8.
    public var path: [UInt8]
    /// Whether the path is relative to a directory that is unknown: releases up to 0.1.0 did not store it.
    package internal(set) var isDirectoryUnknown = false
    public var state: UploadState
    /// The token store's key.
    public var host: String
    /// The server's address.
    public var baseURL: String
    /// Event and label fields as sent, in order.
    public var fields: [UploadField]
    /// The identity of the file when the upload began; nil for a spooled standard input.
    public var identity: FileIdentity? {
        get { storedIdentity }
        set { storedIdentity = newValue }
    }
    public var sizeBytes: Int64
    /// SHA-256 of the bytes sent, once known.
    public var checksumSHA256: String?
    /// The ID on the server, once known.
    public var fileID: Int64?
    public var transport: UploadTransport
    /// Whether the file is sent with an event link instead of a login (gighive contract section 6).
    public var isGuest: Bool
    public var attempts = 0
    /// Status of the last response.
    public var httpStatus: Int?
    public var failureCode: String?
    /// When the upload was planned.
    public var createdAt: Date
    /// When the row last changed.
    public var updatedAt: Date

    var device: Int64?
    var inode: Int64?
    var fileSize: Int64?
    var modifiedNanoseconds: Int64?
    var changedNanoseconds: Int64?

    public init(
        uploadID: String,
        path: [UInt8],
        state: UploadState,
        host: String,
        baseURL: String,
        fields: [UploadField],
        identity: FileIdentity?,
        sizeBytes: Int64,
        checksumSHA256: String? = nil,
        fileID: Int64? = nil,
        transport: UploadTransport = .multipart,
        isGuest: Bool = false,
        createdAt: Date,
        updatedAt: Date
    ) {
        self.uploadID = uploadID
        self.path = path
        self.state = state
        self.host = host
        self.baseURL = baseURL
        self.fields = fields
        self.sizeBytes = sizeBytes
        self.checksumSHA256 = checksumSHA256
        self.fileID = fileID
        self.transport = transport
        self.isGuest = isGuest
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.identity = identity
    }
}

/// A name and a value in an upload's form.
public struct UploadField: Sendable, Equatable, Codable {
    /// The form's field name.
    public var name: String
    /// The field's value as sent.
    public var value: String

    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// The changes to a journal row.
public struct UploadChange: Sendable, Equatable {
    public var state: UploadState?
    /// SHA-256 of the bytes sent.
    public var checksumSHA256: String?
    /// The ID on the server.
    public var fileID: Int64?
    public var attempts: Int?
    /// Status of the last response.
    public var httpStatus: Int?
    public var failureCode: String?
    /// Whether to clear the failure of an earlier run, its code and HTTP status, because the upload is resumed.
    public var clearsFailure: Bool
    /// Other fields, as corrected by the user.
    public var fields: [UploadField]?
    public var transport: UploadTransport?
    /// When the row changed; nil for now.
    public var updatedAt: Date?

    public init(
        state: UploadState? = nil,
        checksumSHA256: String? = nil,
        fileID: Int64? = nil,
        attempts: Int? = nil,
        httpStatus: Int? = nil,
        failureCode: String? = nil,
        clearsFailure: Bool = false,
        fields: [UploadField]? = nil,
        transport: UploadTransport? = nil,
        updatedAt: Date? = nil
    ) {
        self.state = state
        self.checksumSHA256 = checksumSHA256
        self.fileID = fileID
        self.attempts = attempts
        self.httpStatus = httpStatus
        self.failureCode = failureCode
        self.clearsFailure = clearsFailure
        self.fields = fields
        self.transport = transport
        self.updatedAt = updatedAt
    }
}

extension UploadRecord {
    /// The `failureCode` of a guest upload that was hidden by this machine.
    package static let hidden = "hidden"
    /// The `failureCode` of a guest upload whose file was deleted on the server by this machine.
    package static let deleted = "deleted"
    /// The `failureCode` of a rejected guest upload that was discarded by this machine. The server keeps its file.
    package static let discarded = "discarded"
}

extension UploadRecord: Storable, IdentityColumns {
    static let table = "uploads"

    enum CodingKeys: String, CodingKey {
        case path, state, host, fields, device, inode, transport, attempts
        case uploadID = "upload_id"
        case baseURL = "base_url"
        case fileSize = "file_size"
        case modifiedNanoseconds = "modified_ns"
        case changedNanoseconds = "changed_ns"
        case sizeBytes = "size_bytes"
        case checksumSHA256 = "checksum_sha256"
        case fileID = "file_id"
        case isGuest = "is_guest"
        case httpStatus = "http_status"
        case failureCode = "failure_code"
        case createdAt = "created_at"
        case updatedAt = "updated_at"
    }

    mutating func complete(from row: Row) {
        failureCode = failureCode.map(OutcomeTable.current)
        // Standard input has only a name.
        guard identity != nil else { return }
        isDirectoryUnknown = path.first != UInt8(ascii: "/")
        path = JournalPath.shown(path)
    }
}

/// The path of a file in the journal: relative paths are stored with their directory, as `DIRECTORY/./PATH`, so the
/// upload can be resumed from a different directory, and the part that the user specified is still known.
enum JournalPath {
    private static let separator = Array("/./".utf8)

    static func stored(_ path: [UInt8]) -> [UInt8] {
        guard path.first != UInt8(ascii: "/"), let directory = CurrentDirectory.path else { return path }
        return directory + separator + path
    }

    /// The path from the current directory, if it is the stored one, otherwise the absolute path.
    static func shown(_ stored: [UInt8]) -> [UInt8] {
        guard stored.first == UInt8(ascii: "/"), let separator = stored.firstRange(of: separator) else { return stored }
        let (directory, path) = (stored[..<separator.lowerBound], stored[separator.upperBound...])
        guard !directory.elementsEqual(CurrentDirectory.path ?? []) else { return Array(path) }
        return Array(directory) + [UInt8(ascii: "/")] + path
    }

    /// The forms in which a row may have a path: as specified, as stored, and relative to the current directory.
    static func forms(_ path: [UInt8]) -> [[UInt8]] {
        guard path.first == UInt8(ascii: "/"), let directory = CurrentDirectory.path else {
            return [path, stored(path)]
        }
        let isBelow = path.starts(with: directory + [UInt8(ascii: "/")])
        return [path, isBelow ? directory + separator + path.dropFirst(directory.count + 1) : path]
    }
}

/// Statements on the table `uploads`.
enum UploadRow {
    /// Parameters: the host, or NULL for every host.
    static func isIn(_ states: Set<UploadState>) -> String {
        "state IN (\(names(of: states))) AND (?1 IS NULL OR host = ?1)"
    }

    /// Parameters: inode, device, host, size and the two times.
    static let isFile = """
        inode = ? AND device = ? AND host = ? AND file_size = ? AND modified_ns = ? AND changed_ns = ?
        """

    /// The parameters are those of `isFile`.
    static let anyOfFile = "SELECT rowid FROM uploads WHERE \(isFile) LIMIT 1"

    /// Parameters: host, size, path, inode, device and an alternative form of the path.
    static let isUnfinishedOverTus = """
        transport = 'tus' AND state IN (\(names(of: [.planned, .sending, .sent, .failed, .cancelled])))
            AND host = ?1 AND file_size = ?2 AND (path IN (?3, ?6) OR (inode = ?4 AND device = ?5))
        """

    /// Parameters: host and checksum.
    static let hasChecksum = "host = ? AND checksum_sha256 = ?"

    /// Rows of files on the server that were not deleted by this machine. Takes the host, or NULL for every host.
    static let isKept = """
        \(isIn([.done, .linked, .tokenLost, .finalized])) AND file_id IS NOT NULL
            AND failure_code IS NOT '\(UploadRecord.deleted)'
            AND NOT EXISTS (
                SELECT 1 FROM tombstones WHERE tombstones.host = uploads.host AND tombstones.file_id = uploads.file_id
                    AND tombstones.checksum_sha256 = uploads.checksum_sha256
            )
        """

    static func names(of states: some Sequence<UploadState>) -> String {
        states.map { "'\($0.rawValue)'" }.sorted().joined(separator: ", ")
    }

    /// Newest first.
    static func newest(_ condition: String) -> String { "\(condition) ORDER BY created_at DESC, rowid DESC" }

    static func insert(_ record: UploadRecord, _ db: Database) throws {
        let hasDirectory = record.identity != nil && !record.isDirectoryUnknown
        let path = hasDirectory ? JournalPath.stored(record.path) : record.path
        try RawStatement(
            db,
            """
            INSERT INTO uploads (upload_id, path, state, host, base_url, fields, device, inode, file_size, modified_ns,
                changed_ns, size_bytes, checksum_sha256, file_id, attempts, http_status, failure_code, created_at,
                updated_at, transport, is_guest)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """
        ).run([
            .text(record.uploadID), .blob(path), .text(record.state.rawValue), .text(record.host),
            .text(record.baseURL), .text(json(record.fields)), RawValue(record.device), RawValue(record.inode),
            RawValue(record.fileSize), RawValue(record.modifiedNanoseconds), RawValue(record.changedNanoseconds),
            .integer(record.sizeBytes), RawValue(record.checksumSHA256), RawValue(record.fileID),
            RawValue(record.attempts), RawValue(record.httpStatus), RawValue(record.failureCode),
            .integer(record.createdAt.milliseconds), .integer(record.updatedAt.milliseconds),
            .text(record.transport.rawValue), RawValue(record.isGuest),
        ])
    }

    /// - Returns: false if there is no such row.
    static func update(_ uploadID: String, _ change: UploadChange, at now: Date, _ db: Database) throws -> Bool {
        try RawStatement(
            db,
            """
            UPDATE uploads SET state = coalesce(?, state), checksum_sha256 = coalesce(?, checksum_sha256),
                file_id = coalesce(?, file_id), attempts = coalesce(?, attempts),
                http_status = coalesce(?, iif(?, NULL, http_status)),
                failure_code = coalesce(?, iif(?, NULL, failure_code)),
                fields = coalesce(?, fields), transport = coalesce(?, transport), updated_at = ?
            WHERE upload_id = ?
            """
        ).run([
            RawValue(change.state?.rawValue), RawValue(change.checksumSHA256), RawValue(change.fileID),
            RawValue(change.attempts), RawValue(change.httpStatus), RawValue(change.clearsFailure),
            RawValue(change.failureCode), RawValue(change.clearsFailure), RawValue(change.fields.map(json)),
            RawValue(change.transport?.rawValue), .integer((change.updatedAt ?? now).milliseconds), .text(uploadID),
        ]) == 1
    }

    static func missing(_ uploadID: String, _ path: String) -> StoreError {
        StoreError(.other, path: path, detail: "no upload \(uploadID) in the journal")
    }

    static func fetch(
        _ db: Database,
        where condition: String,
        _ arguments: [(any DatabaseValueConvertible)?]
    ) throws -> [UploadRecord] {
        try Stored.values(db, where: newest(condition), StatementArguments(arguments))
    }

    /// The form that `JSONEncoder` would write, which takes longer than the rest of an insertion.
    static func json(_ fields: [UploadField]) -> String {
        var json = [UInt8(ascii: "[")]
        json.reserveCapacity(256)
        for (index, field) in fields.enumerated() {
            json += (index == 0 ? "{\"name\":" : ",{\"name\":").utf8
            JSONText.append(field.name, isForTerminals: false, to: &json)
            json += ",\"value\":".utf8
            JSONText.append(field.value, isForTerminals: false, to: &json)
            json.append(UInt8(ascii: "}"))
        }
        json.append(UInt8(ascii: "]"))
        return String(decoding: json, as: UTF8.self)
    }
}
