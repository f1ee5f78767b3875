import Foundation
import GRDB
import NIOCore
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

/// One upload of the tus endpoint.
struct TusUpload: Sendable {
    var id: String
    /// Nil until it is declared (creation-defer-length).
    var length: Int?
    var metadata: TusMetadata
    var isPartial = false
    /// Ids of which a final upload was put together; empty for others.
    var parts: [String] = []
    /// When its last byte was in place, seconds since 1970; the post-finish hook starts then.
    var finishedAt: Double?
    var isExpired = false
    /// Bytes on disk; nil when the file is gone.
    var offset: Int?

    var isFinal: Bool { !parts.isEmpty }
    var isComplete: Bool { length != nil && offset == length }

    init(id: String, length: Int?, metadata: TusMetadata) {
        self.id = id
        self.length = length
        self.metadata = metadata
    }

    init(_ row: Row, offset: Int?) {
        id = row["id"]
        length = row["length"]
        metadata = TusMetadata(row["metadata"])
        isPartial = row["is_partial"]
        parts = (row["parts"] as String).split(separator: " ").map(String.init)
        finishedAt = row["finished_at"]
        isExpired = row["is_expired"]
        self.offset = offset
    }
}

/// The bytes of a complete tus upload, for the catalog.
struct FinishedUpload: ReceivedFile {
    private static let pieceSize = 1 << 20

    let path: String
    let size: Int
    let checksum: String
    /// The first bytes, enough to sniff a type.
    let prefix: [UInt8]

    /// Reads the file, giving way to other requests between pieces.
    init(path: String) async throws {
        self.path = path
        guard let file = FileHandle(forReadingAtPath: path) else { throw SystemError(call: "open", code: ENOENT) }
        defer { try? file.close() }
        var digest = Digest()
        var size = 0
        var prefix: [UInt8] = []
        while let piece = try file.read(upToCount: Self.pieceSize), !piece.isEmpty {
            piece.withUnsafeBytes { digest.update($0) }
            if prefix.isEmpty { prefix = Array(piece.prefix(16)) }
            size += piece.count
            await Task.yield()
        }
        self.size = size
        self.prefix = prefix
        checksum = hexString(digest.finish())
    }

    func keep(at destination: String) throws {
        guard rename(path, destination) == 0 else { throw SystemError(call: "rename", code: errno) }
    }
}

/// The file of a tus upload, open for more bytes.
final class UploadBytes {
    private static let pieceSize = 1 << 20

    private let descriptor: CInt

    init(appendingTo path: String) throws {
        descriptor = open(path, O_WRONLY | O_APPEND | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError(call: "open", code: errno) }
    }

    deinit {
        close(descriptor)
    }

    func append(_ buffer: ByteBuffer) throws {
        try buffer.withUnsafeReadableBytes { try writeAll($0, to: descriptor) }
    }

    /// Appends a whole file, giving way to other requests between pieces.
    func append(fileAt path: String) async throws {
        guard let file = FileHandle(forReadingAtPath: path) else { throw SystemError(call: "open", code: ENOENT) }
        defer { try? file.close() }
        while let piece = try file.read(upToCount: Self.pieceSize), !piece.isEmpty {
            try piece.withUnsafeBytes { try writeAll($0, to: descriptor) }
            await Task.yield()
        }
    }
}

/// `Upload-Metadata`: keys with base64 values (tus 1.0.0, Creation).
struct TusMetadata: Sendable {
    private var pairs: [(key: String, value: Data)] = []

    /// Like tusd, skips what cannot be read; of equal keys the last counts.
    init(_ header: String) {
        for element in header.split(separator: ",") {
            let pieces = element.split(separator: " ", omittingEmptySubsequences: true)
            guard (1...2).contains(pieces.count), let value = Self.value(pieces) else { continue }
            pairs.removeAll { $0.key == pieces[0] }
            pairs.append((String(pieces[0]), value))
        }
    }

    private static func value(_ pieces: [Substring]) -> Data? {
        pieces.count < 2 ? Data() : Data(base64Encoded: String(pieces[1]))
    }

    /// The text of a key, nil when it is missing.
    subscript(key: String) -> String? {
        pairs.first { $0.key == key }.map { String(decoding: $0.value, as: UTF8.self) }
    }

    /// The header that says the same.
    var header: String {
        pairs.map { "\($0.key) \($0.value.base64EncodedString())" }.joined(separator: ",")
    }
}

/// `Upload-Checksum`: an algorithm and the digest in base64 (tus 1.0.0, Checksum).
struct TusChecksum {
    var algorithm: Digest.Algorithm
    var digest: [UInt8]

    init(_ header: String) throws(TusError) {
        let pieces = header.split(separator: " ")
        guard pieces.count == 2, let algorithm = Digest.Algorithm(rawValue: String(pieces[0])),
            let digest = Data(base64Encoded: String(pieces[1]))
        else { throw .invalidChecksum }
        self.algorithm = algorithm
        self.digest = Array(digest)
    }
}
