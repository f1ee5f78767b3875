import Foundation
import GRDB

extension LibraryStore {
    /// The record of a capture; nil when there is none.
    ///
    /// - Throws: `StoreError`; `.corrupt` for a row that no version has written, here and below.
    public func capture(_ id: String) throws(StoreError) -> CaptureRecord? { try captures(where: "id = ?", [id]).first }

    /// The captures whose id begins with these characters, in either case, newest first.
    ///
    /// - Throws: `StoreError`.
    public func captures(idPrefix: String) throws(StoreError) -> [CaptureRecord] {
        try captures(where: "substr(id, 1, length(?1)) = ?1", [idPrefix.lowercased()])
    }

    /// The captures of a digest (64 lower-case hexadecimal characters), newest first.
    ///
    /// - Throws: `StoreError`.
    public func captures(ofMedia hash: String) throws(StoreError) -> [CaptureRecord] {
        try captures(where: "media_hash = ?", [hash])
    }

    /// All captures, newest first.
    ///
    /// - Throws: `StoreError`.
    public func captures() throws(StoreError) -> [CaptureRecord] { try captures(where: "true", []) }

    private func captures(
        where condition: String,
        _ arguments: StatementArguments
    ) throws(StoreError) -> [CaptureRecord] {
        try connection.readBeside { db in
            let statement = try db.cachedStatement(sql: CaptureRow.select(where: condition))
            return try Row.fetchAll(statement, arguments: arguments).map(CaptureRow.capture)
        }
    }

    /// Keeps a capture, in place of an earlier state of the same id; on the disk when this returns. Times are kept to the
    /// millisecond.
    ///
    /// - Throws: `StoreError`; `.other` for an id that is no UUID in lower case.
    public func keep(_ capture: CaptureRecord) throws(StoreError) {
        guard CaptureID.isValid(capture.id) else {
            throw StoreError(.other, path: connection.path, detail: "\"\(capture.id)\" is no id of a capture")
        }
        try connection.write { db in try CaptureRow.keep(capture, db) }
    }

    /// This machine at a server; nil when it is not registered there.
    ///
    /// - Throws: `StoreError`; `.corrupt` for a row that no version has written.
    public func captureDevice(for server: String) throws(StoreError) -> CaptureDeviceRecord? {
        try connection.readBeside { db in
            try Row.fetchOne(db, sql: CaptureDeviceRow.selectByServer, arguments: [server])
                .map(CaptureDeviceRow.device)
        }
    }

    /// Keeps a registration, in place of an earlier one at the same server; on the disk when this returns.
    ///
    /// - Throws: `StoreError`.
    public func keep(_ device: CaptureDeviceRecord) throws(StoreError) {
        try connection.write { db in try CaptureDeviceRow.keep(device, db) }
    }
}
