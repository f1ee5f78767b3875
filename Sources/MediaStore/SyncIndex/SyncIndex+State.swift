import Foundation
import GRDB

extension SyncIndex {
    /// What is known of a server; nil when it was never synchronised.
    public func state(of server: String) throws(StoreError) -> SyncState? {
        try read { db in
            let row = try Row.fetchOne(
                db,
                sql: """
                    SELECT account, complete_at, full_at, EXISTS (SELECT 1 FROM runs WHERE server = servers.number),
                        watermark_us, watermark_text, total_count
                    FROM servers WHERE address = ?
                    """,
                arguments: [server]
            )
            return row.map { row in
                SyncState(
                    account: row[0],
                    lastCompleteAt: (row[1] as Int64?).map(Date.init(milliseconds:)),
                    lastFullAt: (row[2] as Int64?).map(Date.init(milliseconds:)),
                    hasUnfinishedRun: row[3],
                    watermark: PhotoTime(row, at: 4),
                    totalCount: row[6]
                )
            }
        }
    }

    /// Photos by origin, without those that are gone. Takes no time: they are counted while they are stored.
    ///
    /// - Parameters:
    ///   - server: Address of the server.
    ///   - device: The id of this machine's device; nil when it has none, and all devices are others.
    /// - Returns: The counts; all 0 when the server is not known.
    /// - Throws: `StoreError`.
    public func counts(of server: String, device: String?) throws(StoreError) -> PhotoCounts {
        try read { db in
            let rows = try Row.fetchCursor(
                db,
                sql: """
                    SELECT device_id, present, gone FROM origins
                    WHERE server = (SELECT number FROM servers WHERE address = ?)
                    """,
                arguments: [server]
            )
            var counts = PhotoCounts()
            while let row = try rows.next() {
                let id: String? = row[0]
                switch id {
                case nil: counts.legacy += row[1]
                case device: counts.thisDevice += row[1]
                default: counts.otherDevices += row[1]
                }
                counts.gone += row[2]
            }
            return counts
        }
    }

    /// Forgets all that is known of a server.
    public func forget(_ server: String) throws(StoreError) {
        try write { db in
            if let number = try ServerRow.number(of: server, db) { try ServerRow.remove(number, db) }
        }
    }
}
