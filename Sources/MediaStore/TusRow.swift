import Foundation
import GRDB

/// Rows of the table `tus_uploads`. The parts are one JSON text: they are always read and written together.
enum TusRow {
    /// Whether a row of `uploads` ended without a file on the server, while a tus server holds bytes of it. Takes the time
    /// now as the second argument.
    static let isResumable = """
        state IN (\(UploadRow.names(of: [.failed, .cancelled]))) AND EXISTS (
            SELECT 1 FROM tus_uploads, json_each(tus_uploads.parts) AS part
            WHERE tus_uploads.upload_id = uploads.upload_id AND json_extract(part.value, '$.tusID') IS NOT NULL
                AND coalesce(json_extract(part.value, '$.expiresAt') > ?2, TRUE))
        """

    static func upsert(_ record: TusRecord, _ db: Database) throws {
        let parts = String(decoding: try encoder.encode(record.parts), as: UTF8.self)
        try db.cachedStatement(
            sql: """
                INSERT INTO tus_uploads (upload_id, parts, final_tus_id, finalize_started_at) VALUES (?, ?, ?, ?)
                ON CONFLICT (upload_id) DO UPDATE SET parts = excluded.parts, final_tus_id = excluded.final_tus_id,
                    finalize_started_at = excluded.finalize_started_at
                """
        ).execute(arguments: [
            record.uploadID, parts, record.finalTusID, record.finalizeStartedAt?.milliseconds,
        ])
    }

    static func fetch(_ uploadID: String, _ db: Database) throws -> TusRecord? {
        let row = try Row.fetchOne(
            db,
            sql: "SELECT parts, final_tus_id, finalize_started_at FROM tus_uploads WHERE upload_id = ?",
            arguments: [uploadID]
        )
        return try row.map { row in
            TusRecord(
                uploadID: uploadID,
                parts: try parts(row[0], of: uploadID),
                finalTusID: row[1],
                finalizeStartedAt: (row[2] as Int64?).map(Date.init(milliseconds:))
            )
        }
    }

    /// Whether a text holds parts that `fetch` can read.
    static func isReadable(_ parts: String) -> Bool {
        (try? decoder.decode([TusRecord.Part].self, from: Data(parts.utf8))) != nil
    }

    private static func parts(_ json: Data, of uploadID: String) throws -> [TusRecord.Part] {
        do {
            return try decoder.decode([TusRecord.Part].self, from: json)
        } catch {
            throw StoreError(.corrupt, path: "tokens.sqlite", detail: "upload \(uploadID) has unreadable tus parts")
        }
    }

    // Times as in the columns: whole milliseconds, which come back exactly.
    private static var encoder: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .custom { date, encoder in
            var container = encoder.singleValueContainer()
            try container.encode(date.milliseconds)
        }
        return encoder
    }

    private static var decoder: JSONDecoder {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .custom { decoder in
            Date(milliseconds: try decoder.singleValueContainer().decode(Int64.self))
        }
        return decoder
    }
}
