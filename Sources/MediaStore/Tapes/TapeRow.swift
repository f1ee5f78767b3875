import Foundation
import GRDB

/// Rows of the table `tapes`.
///
/// A setting or state that only a later version knows is read as the one that asks for least, so that one such row hides
/// neither its tape nor the others; it stays in the row until that very setting is changed.
enum TapeRow {
    /// In the order in which `tape` reads them.
    static let columns = [
        "id", "title", "created_at", "updated_at", "received_first_content", "orientation", "scale_mode", "transition",
        "transition_ms", "association", "association_reason",
    ].map { "tapes.\($0)" }.joined(separator: ", ")

    static func fetch(_ db: Database, where condition: String, _ arguments: StatementArguments) throws -> [TapeRecord] {
        try Row.fetchAll(
            db.cachedStatement(sql: "SELECT \(columns) FROM tapes WHERE \(condition)"),
            arguments: arguments
        ).map(tape)
    }

    static func fetch(_ db: Database, id: String) throws -> TapeRecord? { try fetch(db, where: "id = ?", [id]).first }

    static func exists(_ db: Database, id: String) throws -> Bool {
        try Bool.fetchOne(
            db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM tapes WHERE id = ?)"),
            arguments: [id]
        ) ?? false
    }

    static func touch(_ db: Database, id: String, _ now: Date) throws {
        try db.cachedStatement(sql: "UPDATE tapes SET updated_at = ? WHERE id = ?")
            .execute(arguments: [now.milliseconds, id])
    }

    static func stored(_ tape: TapeRecord) -> StoredColumns {
        StoredColumns([
            "id": tape.id, "title": tape.title, "created_at": tape.createdAt.milliseconds,
            "updated_at": tape.updatedAt.milliseconds, "received_first_content": tape.hasReceivedFirstContent,
            "orientation": tape.orientation.rawValue, "scale_mode": tape.scaleMode.rawValue,
            "transition": tape.transition.rawValue, "transition_ms": tape.transitionMilliseconds,
            "association": tape.association.rawValue, "association_reason": tape.reason?.rawValue,
        ])
    }

    static func tape(_ row: Row) -> TapeRecord {
        var tape = TapeRecord(id: row[0], title: row[1], createdAt: Date(milliseconds: row[2]))
        tape.updatedAt = Date(milliseconds: row[3])
        tape.hasReceivedFirstContent = row[4]
        tape.orientation = TapeRecord.Orientation(rawValue: row[5]) ?? tape.orientation
        tape.scaleMode = TapeRecord.ScaleMode(rawValue: row[6]) ?? tape.scaleMode
        tape.transition = TapeRecord.Transition(rawValue: row[7]) ?? tape.transition
        tape.transitionMilliseconds = row[8]
        if let association = TapeRecord.Association(rawValue: row[9]) {
            tape.association = association
            tape.reason = reason(row[10])
        } else {
            tape.association = .pending
            tape.reason = .internalError
        }
        return tape
    }

    /// A reason that is not known here is still a reason.
    static func reason(_ text: String?) -> AssociationReason? {
        text.map { AssociationReason(rawValue: $0) ?? .internalError }
    }
}
