import Foundation
import GRDB
import MediaSystem
import TestSupport

@testable import MediaStore

/// A separate data directory for one test.
struct StoreFixture {
    let temporary: TemporaryDirectory
    let directory: DataDirectory

    init() throws {
        temporary = try TemporaryDirectory()
        directory = try DataDirectory.open(temporary.file("data"))
    }

    var databasePath: String { directory.file("tokens.sqlite") }

    func store() throws -> TokenStore { try TokenStore(in: directory) }

    /// Another program's view of the database, without any of the store's code.
    func rawDatabase(_ path: String? = nil) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        return try DatabaseQueue(path: path ?? databasePath, configuration: configuration)
    }

    /// Changes the database as another program would.
    func execute(_ sql: String, _ arguments: StatementArguments = [], at path: String? = nil) throws {
        let database = try rawDatabase(path)
        try database.write { try $0.execute(sql: sql, arguments: arguments) }
        try database.close()
    }

    /// Names in the data directory.
    func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
    }

    func write(_ bytes: [UInt8], to path: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path))
    }

    func bytes(_ path: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    }

    /// Commits in the write-ahead log: frames whose second header word, the database's size after a commit, is not 0
    /// (sqlite.org/fileformat2.html, section 4.1).
    func commitCount(_ log: String? = nil) throws -> Int {
        let bytes = try bytes(log ?? databasePath + "-wal")
        return stride(from: 32, to: bytes.count, by: 24 + 4096).count { frame in
            bytes[frame + 4..<frame + 8].contains { $0 != 0 }
        }
    }
}

extension StoreConnection {
    /// A setting of this connection, read back.
    func setting(_ name: String) throws -> String? {
        try read { try String.fetchOne($0, sql: "PRAGMA \(name)") }
    }
}

/// The four permission digits.
func permissions(_ path: String) throws -> Int {
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    return (attributes[.posixPermissions] as? NSNumber)?.intValue ?? -1
}

/// The kind of a thrown `StoreError`; nil on success.
func storeErrorKind(_ body: () throws -> Void) throws -> StoreError.Kind? {
    do {
        try body()
        return nil
    } catch let error as StoreError {
        return error.kind
    }
}

/// An entry whose token is the digit repeated 64 times.
func sampleEntry(
    host: String = "gighive.app",
    fileID: Int64 = 18,
    digit: Character = "a",
    at seconds: Double = 1_780_000_000,
    checksum: String = String(repeating: "c", count: 64)
) throws -> TokenEntry {
    TokenEntry(
        host: host,
        fileID: fileID,
        token: try sampleToken(digit),
        createdAt: Date(timeIntervalSince1970: seconds),
        eventDate: "2026-05-01",
        orgName: "Ørg",
        eventType: "wedding",
        label: "First dance",
        fileName: "a b.mp4",
        fileType: "video",
        checksumSHA256: checksum,
        sizeBytes: 6_442_450_944,
        baseURL: "https://gighive.app/sub"
    )
}

func sampleToken(_ digit: Character) throws -> DeleteToken {
    guard let token = DeleteToken(String(repeating: digit, count: 64)) else { throw CocoaError(.coderInvalidValue) }
    return token
}

let sampleReceipt = GuestReceipt(nonce: "abcdefghijklmnopqrstuvwxyzABCDEF", jobID: 5)

func sampleRecord(
    _ uploadID: String = TokenStore.newUploadID(),
    state: UploadState = .planned,
    host: String = "gighive.app",
    identity: FileIdentity? = nil,
    at seconds: Double = 1_780_000_000
) -> UploadRecord {
    UploadRecord(
        uploadID: uploadID,
        path: Array("clips/a.mp4".utf8),
        state: state,
        host: host,
        baseURL: "https://gighive.app",
        fields: [UploadField("event_date", "2026-05-01"), UploadField("org_name", "Ørg \"quoted\"")],
        identity: identity,
        sizeBytes: 12,
        createdAt: Date(timeIntervalSince1970: seconds),
        updatedAt: Date(timeIntervalSince1970: seconds)
    )
}

extension TokenStore {
    /// Adds an entry, and returns whether it was added.
    func add(_ entry: TokenEntry) throws(StoreError) -> Bool {
        try add([entry]).allSatisfy { $0 == .added || $0 == .conflicting }
    }

    func storedFiles(host: String?) throws(StoreError) -> [StoredFile] {
        try connection.read { try StoredFileRow.fetch($0, where: "?1 IS NULL OR host = ?1", [host]) }
    }
}
