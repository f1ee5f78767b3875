import GRDB

/// Reads photos, within one transaction.
struct PhotoReader {
    private static let columns = """
        photos.id, digest, photos.name, size, taken_us, taken_text, uploaded_us, uploaded_text, width, height, \
        device_id, origins.name, platform
        """
    /// `CROSS JOIN`: photos are scanned, and the origin of each is looked up, never the other way around.
    private static let tables = "CROSS JOIN origins ON origins.number = photos.origin"

    private let statement: RawStatement

    /// Scans an index, or the table if `index` is empty. The values for the condition's parameters are passed to
    /// `read`; `ending` specifies order and limit.
    init(_ db: Database, index: String, where condition: String, ending: String = "") throws {
        let source = index.isEmpty ? "photos" : "photos INDEXED BY \(index)"
        let sql = "SELECT \(Self.columns) FROM \(source) \(Self.tables) WHERE \(condition) \(ending)"
        statement = try RawStatement(db, sql)
    }

    func read(_ values: [RawValue]) throws -> [PhotoRecord] { try statement.map(values) { _ in photo() } }

    private func photo() -> PhotoRecord {
        PhotoRecord(
            id: packedText(0),
            sha256: packedText(1),
            originalFilename: statement.text(2),
            fileSize: statement.integer(3),
            takenAt: time(4),
            uploadedAt: time(6),
            originDevice: statement.optionalText(10).map { id in
                PhotoDevice(id: id, name: statement.text(11), platform: statement.text(12))
            },
            width: statement.optionalInteger(8).map { Int($0) },
            height: statement.optionalInteger(9).map { Int($0) }
        )
    }

    private func packedText(_ column: Int32) -> String {
        statement.isBlob(column) ? PhotoCoding.text(Array(statement.bytes(column))) : statement.text(column)
    }

    private func time(_ column: Int32) -> PhotoTime {
        let microseconds = statement.integer(column)
        let text = statement.optionalText(column + 1) ?? PhotoCoding.time(microseconds)
        return PhotoTime(text: text, microseconds: microseconds)
    }
}

/// Selects photos.
public struct PhotoFilter: Sendable, Equatable {
    /// Origin of a photo.
    public enum Origin: Sendable, Equatable {
        case any
        case device(String)
        /// Any device but this one; all devices if nil.
        case otherThan(String?)
        /// No device.
        case legacy
    }

    public var origin: Origin
    /// Only those uploaded at or after this time.
    public var uploadedSince: PhotoTime?
    /// Select only photos that are gone, instead of those that are not.
    public var isGone: Bool

    /// Creates a filter; by default for all photos that are not gone.
    public init(origin: Origin = .any, uploadedSince: PhotoTime? = nil, isGone: Bool = false) {
        self.origin = origin
        self.uploadedSince = uploadedSince
        self.isGone = isGone
    }
}

/// Statements on the table `photos`. A parameter has the same number in all statements.
enum PhotoSQL {
    /// The values of the parameters 1 to 12.
    static func values(of photo: PhotoRecord, server: Int64, origin: Int64) -> [RawValue] {
        [
            .integer(server), .integer(photo.uploadedAt.microseconds), PhotoCoding.id(photo.id),
            PhotoCoding.digest(photo.sha256), .text(photo.originalFilename), .integer(photo.fileSize),
            .integer(photo.takenAt.microseconds), PhotoCoding.text(photo.takenAt), PhotoCoding.text(photo.uploadedAt),
            RawValue(photo.width), RawValue(photo.height), .integer(origin),
        ]
    }

    private static let isSame = """
        digest = ?4 AND name = ?5 AND size = ?6 AND taken_us = ?7 AND taken_text IS ?8 AND uploaded_text IS ?9 \
        AND width IS ?10 AND height IS ?11
        """

    static let findByUpload = """
        SELECT number, origin, is_gone, \(isSame) FROM photos INDEXED BY photos_by_upload
        WHERE server = ?1 AND uploaded_us = ?2 AND id = ?3
        """

    static let findByID = """
        SELECT number, origin, is_gone, \(isSame) AND uploaded_us = ?2 FROM photos INDEXED BY photos_by_id
        WHERE server = ?1 AND id = ?3
        """

    static let insert = """
        INSERT INTO photos (server, uploaded_us, id, digest, name, size, taken_us, taken_text, uploaded_text,
            width, height, origin)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
        ON CONFLICT (server, uploaded_us, id) DO NOTHING
        """

    private static let assignments = """
        digest = ?4, name = ?5, size = ?6, taken_us = ?7, taken_text = ?8, uploaded_text = ?9, width = ?10, \
        height = ?11, origin = ?12, is_gone = 0
        """

    static let update = "UPDATE photos SET \(assignments) WHERE number = ?13"
    /// Also sets `uploaded_us`, a column of the index `photos_by_upload`.
    static let move = "UPDATE photos SET uploaded_us = ?2, \(assignments) WHERE number = ?13"
}
