import Foundation
import GRDB
import Glibc
internal import MediaCore
import MediaSystem

/// A row of `tokens.sqlite` that was recognized by the number and types of its values.
enum SalvagedRow {
    case token(TokenEntry, isTrusted: Bool)
    case upload(UploadRecord)
    case tus(uploadID: String, parts: String, finalID: String?, finalizeStartedAt: Int64?)
    case receipt(uploadID: String, GuestReceipt, state: String?, stateAt: Int64?)
    case storedFile(StoredFile, createdAt: Int64)
    case tombstone(Tombstone)

    /// - Returns: nil for a row of an index, of another table, or with values that no version writes.
    init?(_ row: StoredRow) {
        let values = row.values
        let found: SalvagedRow? =
            switch (values.count, row.rowID) {
            case (15, let rowID?): Self.token(values, rowID, row.isTrusted)
            case (19, _?), (21, _?): Self.upload(values)
            case (4, _?): Self.tus(values)
            case (3, _?), (5, _?): Self.receipt(values)
            case (14, nil): Self.storedFile(values)
            case (4, nil): Self.tombstone(values)
            default: nil
            }
        guard let found else { return nil }
        self = found
    }

    private static func isTime(_ value: Int64) -> Bool { Date.validMilliseconds.contains(value) }

    /// 1970 for an invalid time: the row is still useful, and must not replace another.
    private static func time(_ value: Int64) -> Date { Date(milliseconds: isTime(value) ? value : 0) }

    private static func isChecksum(_ text: String) -> Bool { text.isEmpty || SHA256Text.isLowerCase(text) }

    private static func isUploadID(_ text: String) -> Bool {
        text.hasPrefix("u-") && text.utf8.count <= 40 && text.utf8.allSatisfy { 0x21...0x7E ~= $0 }
    }

    private static func optional(_ value: RecordValue) -> String?? { value.isNull ? .some(nil) : value.text.map { $0 } }

    private static func number(_ value: RecordValue) -> Int64?? { value.isNull ? .some(nil) : value.integer.map { $0 } }

    private static func token(_ values: [RecordValue], _ rowID: Int64, _ isTrusted: Bool) -> SalvagedRow? {
        // The row number is stored as null in its column.
        guard values[0].isNull, let host = values[1].text, !host.isEmpty, let fileID = values[2].integer, fileID > 0,
            let token = values[3].text.flatMap(DeleteToken.init), let createdAt = values[4].integer,
            let eventDate = values[5].text, let orgName = values[6].text, let eventType = values[7].text,
            let label = optional(values[8]), let fileName = values[9].text, let fileType = values[10].text,
            let checksum = values[11].text, isChecksum(checksum), let size = values[12].integer, size >= 0,
            let baseURL = values[13].text, baseURL.contains("://"), let superseded = values[14].integer,
            superseded == 0 || superseded == 1
        else { return nil }
        let entry = TokenEntry(
            rowID: rowID,
            host: host,
            fileID: fileID,
            token: token,
            createdAt: time(createdAt),
            eventDate: eventDate,
            orgName: orgName,
            eventType: eventType,
            label: label,
            fileName: fileName,
            fileType: fileType,
            checksumSHA256: checksum,
            sizeBytes: size,
            baseURL: baseURL,
            isSuperseded: superseded == 1
        )
        return .token(entry, isTrusted: isTrusted)
    }

    private static func upload(_ values: [RecordValue]) -> SalvagedRow? {
        guard let uploadID = values[0].text, isUploadID(uploadID), case .blob(let path) = values[1],
            let state = values[2].text.flatMap(UploadState.init), let host = values[3].text, !host.isEmpty,
            let baseURL = values[4].text, let json = values[5].text,
            let fields = try? ColumnJSON.decoder.decode([UploadField].self, from: Data(json.utf8)),
            let size = values[11].integer, let checksum = optional(values[12]), let fileID = number(values[13]),
            let attempts = values[14].integer, let status = number(values[15]), let failure = optional(values[16]),
            let createdAt = values[17].integer, let updatedAt = values[18].integer
        else { return nil }
        // Rows written by 0.1.0 may lack these columns.
        let name = values.count == 21 ? values[19].text : UploadTransport.multipart.rawValue
        guard let transport = name.flatMap(UploadTransport.init) else { return nil }
        var record = UploadRecord(
            uploadID: uploadID,
            path: path,
            state: state,
            host: host,
            baseURL: baseURL,
            fields: fields,
            identity: nil,
            sizeBytes: size,
            checksumSHA256: checksum,
            fileID: fileID,
            transport: transport,
            isGuest: values.count == 21 && values[20].integer == 1,
            createdAt: time(createdAt),
            updatedAt: time(updatedAt)
        )
        record.attempts = Int(clamping: attempts)
        record.httpStatus = status.map { Int(clamping: $0) }
        record.failureCode = failure
        // Releases up to 0.1.0 stored relative paths without their directory.
        record.isDirectoryUnknown = path.first != UInt8(ascii: "/")
        let numbers = values[6...10].map(\.integer)
        if !numbers.contains(nil) {
            (record.device, record.inode, record.fileSize) = (numbers[0], numbers[1], numbers[2])
            (record.modifiedNanoseconds, record.changedNanoseconds) = (numbers[3], numbers[4])
        }
        return .upload(record)
    }

    private static func tus(_ values: [RecordValue]) -> SalvagedRow? {
        guard let uploadID = values[0].text, isUploadID(uploadID), let parts = values[1].text,
            TusRow.isReadable(parts), let finalID = optional(values[2]), let startedAt = number(values[3])
        else { return nil }
        return .tus(uploadID: uploadID, parts: parts, finalID: finalID, finalizeStartedAt: startedAt)
    }

    private static func receipt(_ values: [RecordValue]) -> SalvagedRow? {
        guard let uploadID = values[0].text, isUploadID(uploadID), let nonce = values[1].text, !nonce.isEmpty,
            let jobID = values[2].integer
        else { return nil }
        let receipt = GuestReceipt(nonce: nonce, jobID: jobID)
        guard values.count == 5 else { return .receipt(uploadID: uploadID, receipt, state: nil, stateAt: nil) }
        guard let state = optional(values[3]), let stateAt = number(values[4]) else { return nil }
        return .receipt(uploadID: uploadID, receipt, state: state, stateAt: stateAt)
    }

    private static func storedFile(_ values: [RecordValue]) -> SalvagedRow? {
        guard let host = values[0].text, !host.isEmpty, let fileID = values[1].integer, fileID > 0,
            let checksum = values[2].text, isChecksum(checksum), let date = values[3].text, let org = values[4].text,
            let createdAt = values[13].integer, isTime(createdAt)
        else { return nil }
        var facts = StoredFacts()
        facts.eventDate = date
        facts.orgName = org
        facts.eventID = values[5].integer
        facts.eventType = values[6].text
        facts.label = values[7].text
        facts.position = values[8].integer
        facts.mimeType = values[9].text
        facts.durationSeconds = values[10].integer
        facts.participants = values[11].text
        facts.keywords = values[12].text
        let file = StoredFile(host: host, fileID: fileID, checksumSHA256: checksum, facts: facts)
        return .storedFile(file, createdAt: createdAt)
    }

    private static func tombstone(_ values: [RecordValue]) -> SalvagedRow? {
        // An entry of the index of tokens has a row number in place of the time.
        guard let key = TokenKey(values), isTime(key.last), key.last > TokenKey.largestRowID else { return nil }
        return .tombstone(
            Tombstone(host: key.host, fileID: key.fileID, checksumSHA256: key.checksumSHA256, createdAt: key.last)
        )
    }
}

/// Four values that both the index of tokens and the tombstones have: host, ID, checksum, and a row number or a time.
struct TokenKey {
    /// Larger than any row number; as a time, it is in 1973.
    static let largestRowID: Int64 = 100_000_000_000

    var host: String
    var fileID: Int64
    var checksumSHA256: String
    var last: Int64

    init?(_ values: [RecordValue]) {
        guard values.count == 4, let host = values[0].text, !host.isEmpty, let fileID = values[1].integer, fileID > 0,
            let checksum = values[2].text, checksum.isEmpty || SHA256Text.isLowerCase(checksum),
            let last = values[3].integer, last > 0
        else { return nil }
        self.host = host
        self.fileID = fileID
        checksumSHA256 = checksum
        self.last = last
    }
}

/// Stores salvaged rows that are missing, and newer states of uploads. Never removes or replaces an existing token.
struct SalvageSink {
    /// Whether the store had no rows before, so nothing can be lost by adding rows.
    let isFresh: Bool
    private(set) var tokens = 0
    private(set) var uploads = 0
    /// Tokens of files that have since been deleted.
    private(set) var buried = 0
    /// Uploads that are finished according to their rows, which are stored after all tokens.
    private var finished: [UploadRecord] = []

    init(isFresh: Bool) {
        self.isFresh = isFresh
    }

    /// Stores all rows of a file and returns their number, and the number of tokens among them.
    mutating func store(all source: DatabaseBytes, _ db: Database) throws -> (rows: Int, tokens: Int) {
        var (rows, tokens) = (0, 0)
        // The tus state of an upload may precede the upload's row.
        for isSecondPass in [false, true] {
            try source.forEachRow { row in
                guard let found = SalvagedRow(row) else { return }
                if case .tus = found { guard isSecondPass else { return } } else if isSecondPass { return }
                rows += 1
                if case .token = found { tokens += 1 }
                try store(found, db)
            }
        }
        return (rows, tokens)
    }

    mutating func store(_ row: SalvagedRow, _ db: Database) throws {
        switch row {
        case .token(let entry, let isTrusted): try store(entry, isTrusted: isTrusted, db)
        case .upload(let record) where record.state == .done && !isFresh: finished.append(record)
        case .upload(let record): try store(record, db)
        case .tus(let uploadID, let parts, let finalID, let startedAt):
            let sql = """
                INSERT INTO tus_uploads (upload_id, parts, final_tus_id, finalize_started_at)
                SELECT ?1, ?2, ?3, ?4 WHERE EXISTS (SELECT 1 FROM uploads WHERE upload_id = ?1)
                ON CONFLICT DO NOTHING
                """
            try db.cachedStatement(sql: sql).execute(arguments: [uploadID, parts, finalID, startedAt])
        case .receipt(let uploadID, let receipt, let state, let stateAt):
            let sql = """
                INSERT INTO guest_receipts (upload_id, nonce, job_id, state, state_at) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT DO NOTHING
                """
            try db.cachedStatement(sql: sql)
                .execute(arguments: [uploadID, receipt.nonce, receipt.jobID, state, stateAt])
        case .storedFile(let file, let createdAt): try StoredFileRow.insert(file, createdAt: createdAt, db)
        case .tombstone(let stone):
            let sql = """
                INSERT INTO tombstones (host, file_id, checksum_sha256, created_at)
                SELECT ?1, ?2, ?3, ?4 WHERE ?5 OR NOT EXISTS (
                    SELECT 1 FROM tokens WHERE host = ?1 AND file_id = ?2 AND checksum_sha256 = ?3)
                ON CONFLICT DO NOTHING
                """
            try db.cachedStatement(sql: sql)
                .execute(arguments: [stone.host, stone.fileID, stone.checksumSHA256, stone.createdAt, isFresh])
        }
    }

    private mutating func store(_ entry: TokenEntry, isTrusted: Bool, _ db: Database) throws {
        guard try !TokenRow.isBuried(entry, db) else {
            buried += 1
            return
        }
        guard try isTrusted || !TokenRow.hasKey(of: entry, db) else { return }
        if try TokenRow.upsert(entry, db, keepingRowID: isFresh) { tokens += 1 }
    }

    /// The newest state of an upload is the one to keep.
    private mutating func store(_ record: UploadRecord, _ db: Database) throws {
        let known = try Int64.fetchOne(
            db.cachedStatement(sql: "SELECT updated_at FROM uploads WHERE upload_id = ?"),
            arguments: [record.uploadID]
        )
        if let known {
            guard known < record.updatedAt.milliseconds else { return }
            let change = UploadChange(
                state: record.state,
                checksumSHA256: record.checksumSHA256,
                fileID: record.fileID,
                attempts: record.attempts,
                httpStatus: record.httpStatus,
                failureCode: record.failureCode,
                updatedAt: record.updatedAt
            )
            _ = try UploadRow.update(record.uploadID, change, at: record.updatedAt, db)
        } else {
            try UploadRow.insert(record, db)
            uploads += 1
        }
    }

    /// Whether the token of an upload is stored, or was removed.
    private func hasToken(of record: UploadRecord, _ db: Database) throws -> Bool {
        let sql = """
            SELECT 1 FROM tokens WHERE host = ?1 AND file_id = ?2
            UNION ALL SELECT 1 FROM tombstones WHERE host = ?1 AND file_id = ?2
            """
        let arguments: StatementArguments = [record.host, record.fileID]
        return try Row.fetchOne(db.cachedStatement(sql: sql), arguments: arguments) != nil
    }

    /// Stores the finished uploads, and removes the tokens whose tombstones were found after them: rows are found in no
    /// particular order.
    ///
    /// If the token of an upload in the journal was lost with another part of the transaction that finished the upload,
    /// its row is left unchanged: the response may still be on disk, and is adopted only for an unfinished upload.
    mutating func finish(_ db: Database) throws {
        for record in finished {
            let isKnown = try Stored<UploadRecord>.exists(db, key: record.uploadID)
            if try !isKnown || record.isGuest || hasToken(of: record, db) { try store(record, db) }
        }
        guard isFresh else { return }
        try db.execute(
            sql: """
                DELETE FROM tokens WHERE EXISTS (
                    SELECT 1 FROM tombstones AS stone
                    WHERE stone.host = tokens.host AND stone.file_id = tokens.file_id
                        AND stone.checksum_sha256 = tokens.checksum_sha256
                        AND tokens.created_at < stone.created_at + 1000
                )
                """
        )
        buried += db.changesCount
        tokens -= db.changesCount
    }
}

/// The transactions that SQLite would drop from a damaged write-ahead log: the transactions after the first damaged
/// frame. After a power loss, this is at most one transaction that was never reported, and storing its tokens does no
/// harm.
struct LogSalvage {
    private let rows: [SalvagedRow]
    private let path: String

    /// Reads the log before SQLite does; nil if nothing would be lost.
    init?(in directory: DataDirectory) throws(StoreError) {
        path = directory.file(StoreSchema.tokens.fileName)
        guard let status = try FileStatus(at: path + "-wal"), status.isRegularFile, status.isOwnedByUser,
            status.size > Int64(LogFrames.headerSize)
        else { return nil }
        let descriptor = open(path + "-wal", O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        // If the log cannot be opened, SQLite cannot open the database either, and its error is more precise.
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let pageSize = 4096
        let frames = LogFrames(descriptor, size: status.size, pageSize: pageSize)
        guard frames.restHasCommit else { return nil }
        var rows: [SalvagedRow] = []
        for frame in frames.rest.reversed() {
            guard let bytes = try? FileBytes.read(descriptor, at: frame.offset, count: pageSize) else { continue }
            let page = DatabasePage(bytes: bytes, number: frame.page) { _ in nil }
            rows += page.rows().compactMap { SalvagedRow($0) }
        }
        guard !rows.isEmpty else { return nil }
        self.rows = rows
    }

    /// Stores the rows that the database lacks, and returns warnings for the user.
    func restore(to connection: StoreConnection) throws(StoreError) -> [String] {
        let added = try connection.write { db in
            var sink = SalvageSink(isFresh: false)
            for row in rows { try sink.store(row, db) }
            try sink.finish(db)
            return sink.tokens
        }
        guard added > 0 else { return [] }
        let tokens = added == 1 ? "1 delete token" : "\(added) delete tokens"
        return ["the log of \"\(path)\" was damaged; \(tokens) restored from the intact part"]
    }
}
