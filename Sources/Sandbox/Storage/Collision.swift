/// A unique key on which uploads that overlap can collide (gighive contract 3).
enum CollidingKey: String, Sendable, CaseIterable {
    /// Two uploads create the same event: nothing is stored, and the data of a tus upload is kept.
    case event
    /// D1 and D2: two files take the same number in an event. The bytes stay on disk and are served without a row.
    case sequence
    /// Another upload stores the same bytes between the look-up and the insert.
    case checksum
}

/// The error of MySQL for a row whose key exists, in the words of the recorded responses.
struct DuplicateEntry: Sendable, Equatable {
    /// MariaDB cuts longer values to this, the three dots included.
    private static let longestValue = 64

    var value: String
    var key: String

    /// Two uploads created the event.
    static func event(date: String, orgName: String, _ dialect: Dialect) -> DuplicateEntry {
        dialect >= .d3
            ? DuplicateEntry(value: "1-\(date)-\(orgName)", key: "uq_events_tenant_date_org")
            : DuplicateEntry(value: "\(date)-\(orgName)", key: "unique_session_date_org")
    }

    /// Two files took the number (D1, D2).
    static func sequence(_ number: Int, ofEvent event: Int) -> DuplicateEntry {
        DuplicateEntry(value: "\(event)-\(number)", key: "uq_files_session_seq")
    }

    /// Two uploads stored the bytes (D3).
    static func checksum(_ checksum: String) -> DuplicateEntry {
        DuplicateEntry(value: "1-\(checksum)", key: "uq_assets_tenant_checksum")
    }

    var message: String {
        let isLong = value.count > Self.longestValue
        let shown = isLong ? value.prefix(Self.longestValue - 3) + "..." : value[...]
        return "SQLSTATE[23000]: Integrity constraint violation: 1062 Duplicate entry '\(shown)' for key '\(key)'"
    }
}
