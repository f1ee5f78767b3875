import GRDB

/// Reads photos, within one transaction.
struct PhotoReader {
    private static let columns = """
        photos.id, digest, photos.name, size, taken_us, taken_text, uploaded_us, uploaded_text, width, height, \
        device_id, origins.name, platform
        """
    /// `CROSS JOIN`: photos are gone through, and the origin of each is looked up, never the other way round.
    private static let tables = "CROSS JOIN origins ON origins.number = photos.origin"

    private let statement: RawStatement

    /// Goes through an index, or the table when it is empty. The parameters of the condition are bound in `read`; the ending
    /// is order and limit.
    init(_ db: Database, index: String, where condition: String, ending: String = "") throws {
        let source = index.isEmpty ? "photos" : "photos INDEXED BY \(index)"
        let sql = "SELECT \(Self.columns) FROM \(source) \(Self.tables) WHERE \(condition) \(ending)"
        statement = try RawStatement(db, sql)
    }

    /// `bind` binds the parameters to memory that lives until this returns.
    func read(_ bind: (RawStatement) -> Void) throws -> [PhotoRecord] {
        statement.reset()
        bind(statement)
        defer { statement.clear() }
        var photos: [PhotoRecord] = []
        while try statement.step() { photos.append(photo()) }
        return photos
    }

    private func photo() -> PhotoRecord {
        PhotoRecord(
            id: statement.isBlob(0) ? PhotoCoding.uuid(statement.bytes(0)) : statement.text(0),
            sha256: statement.isBlob(1) ? PhotoCoding.digest(statement.bytes(1)) : statement.text(1),
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

    private func time(_ column: Int32) -> PhotoTime {
        let microseconds = statement.integer(column)
        let text = statement.optionalText(column + 1) ?? PhotoCoding.time(microseconds)
        return PhotoTime(text: text, microseconds: microseconds)
    }
}
