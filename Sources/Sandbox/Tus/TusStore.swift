import Foundation
import GRDB
import Synchronization

/// The uploads of the tus endpoint: facts in the database, bytes in a file each, whose size is the offset (as in tusd).
///
/// Both survive a restart of the sandbox.
final class TusStore: Sendable {
    let folder: DataFolder
    private let queue: DatabaseQueue
    private let locked = Mutex<Set<String>>([])

    init(_ catalog: Catalog) {
        folder = catalog.folder
        queue = catalog.queue
    }

    // MARK: Locks

    /// Takes tusd's lock of an upload; it never waits.
    func lock(_ id: String) throws(TusError) {
        guard locked.withLock({ $0.insert(id).inserted }) else { throw .locked }
    }

    func unlock(_ id: String) {
        locked.withLock { _ = $0.remove(id) }
    }

    // MARK: Facts

    func insert(_ upload: TusUpload) throws {
        try queue.write { db in
            try db.execute(
                sql: "INSERT INTO tus_upload (id, length, metadata, is_partial, parts) VALUES (?, ?, ?, ?, ?)",
                arguments: [
                    upload.id, upload.length, upload.metadata.header, upload.isPartial,
                    upload.parts.joined(separator: " "),
                ]
            )
        }
        let descriptor = open(folder.uploadPath(upload.id), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SystemError(call: "open", code: errno) }
        close(descriptor)
    }

    /// Everything known of an id, finished and finalized ones included.
    func find(_ id: String) throws -> TusUpload? {
        try queue.read { db in
            try Row.fetchOne(db, sql: "SELECT * FROM tus_upload WHERE id = ?", arguments: [id])
        }
        .map { TusUpload($0, offset: size(ofUpload: id)) }
    }

    /// All uploads, oldest first.
    func all() throws -> [TusUpload] {
        try queue.read { db in try Row.fetchAll(db, sql: "SELECT * FROM tus_upload ORDER BY rowid") }
            .map { TusUpload($0, offset: size(ofUpload: $0["id"])) }
    }

    /// The upload as tusd sees it: not any more when its bytes are gone.
    func upload(_ id: String) throws -> TusUpload {
        guard let upload = try find(id) else { throw TusError.notFound }
        guard !upload.isExpired else { throw TusError.gone }
        guard upload.offset != nil else { throw TusError.notFound }
        return upload
    }

    func declareLength(_ length: Int, of id: String) throws {
        try change("length = ?", [length], id)
    }

    /// Notes the moment at which the hook starts.
    func finish(_ id: String) throws {
        try change("finished_at = ?", [Date().timeIntervalSince1970], id)
    }

    /// When the last byte of an unfinished upload came, seconds since 1970.
    func lastTouched(_ id: String) -> Double? {
        status(ofUpload: id).map { Double($0.st_mtim.tv_sec) + Double($0.st_mtim.tv_nsec) / 1e9 }
    }

    /// Removes the bytes; what is known of a finished upload stays, as its hook record does.
    func terminate(_ id: String) throws {
        unlink(folder.uploadPath(id))
        try queue.write { db in
            try db.execute(sql: "DELETE FROM tus_upload WHERE id = ? AND finished_at IS NULL", arguments: [id])
        }
    }

    /// Removes every trace.
    func forget(_ id: String) throws {
        unlink(folder.uploadPath(id))
        try queue.write { db in try db.execute(sql: "DELETE FROM tus_upload WHERE id = ?", arguments: [id]) }
    }

    /// Removes the bytes and remembers why.
    func expire(_ id: String) throws {
        unlink(folder.uploadPath(id))
        try change("is_expired = ?", [true], id)
    }

    // MARK: Answers of finalize

    /// What a finalize answered, without the token; nil when none succeeded.
    func answer(_ id: String) throws -> JSONObject? {
        let data = try queue.read { db in
            try Data.fetchOne(db, sql: "SELECT answer FROM tus_upload WHERE id = ?", arguments: [id])
        }
        return try data.map { try JSONDecoder().decode(JSONObject.self, from: $0) }
    }

    func remember(_ answer: JSONObject, of id: String) throws {
        try change("answer = ?", [try JSONEncoder().encode(answer)], id)
    }

    // MARK: Bytes

    private func change(_ assignment: String, _ values: StatementArguments, _ id: String) throws {
        try queue.write { db in
            try db.execute(sql: "UPDATE tus_upload SET \(assignment) WHERE id = ?", arguments: values + [id])
        }
    }

    private func size(ofUpload id: String) -> Int? {
        status(ofUpload: id).map { Int($0.st_size) }
    }

    private func status(ofUpload id: String) -> stat? {
        var status = stat()
        return stat(folder.uploadPath(id), &status) == 0 ? status : nil
    }
}
