import Foundation

/// The text fields of an upload, checked (gighive contract 2.1).
struct UploadFields: Sendable {
    var label: String
    var eventDate: String
    var orgName: String
    var eventType: String?
    var participants: String
    var keywords: String
    var location: String
    var rating: String
    var notes: String

    enum Refusal: Sandbox.Refusal, Equatable {
        /// 400: the application's own check.
        case badRequest(String)
        /// 500: a database error.
        case database(String)

        var response: Response {
            switch self {
            case .badRequest(let message): .badRequest(message)
            case .database(let message): .serverError(message)
            }
        }
    }

    init(_ form: [String: String], dialect: Dialect, today: String = UploadFields.today()) throws(Refusal) {
        func text(_ name: String, default fallback: String = "") -> String {
            form[name]?.trimmingCharacters(in: .whitespacesAndNewlines) ?? fallback
        }
        label = text("label")
        guard !label.isEmpty else { throw .badRequest("Label is required") }
        eventDate = text("event_date", default: today)
        guard eventDate.wholeMatch(of: /[0-9]{4}-[0-9]{2}-[0-9]{2}/) != nil else {
            throw .badRequest("Invalid event_date format; expected YYYY-MM-DD")
        }
        let org = text("org_name", default: "Band")
        orgName = dialect >= .d3 ? OrganizationName.normalized(org) : org
        let type = text("event_type", default: "band")
        eventType = type.isEmpty ? nil : type
        participants = text("participants")
        keywords = text("keywords")
        location = text("location")
        rating = text("rating")
        notes = text("notes")
        try checkDatabaseTypes(dialect)
    }

    /// Checks for texts that the database refuses before it stores anything. A label that is too long is refused later
    /// (trap T7).
    private func checkDatabaseTypes(_ dialect: Dialect) throws(Refusal) {
        guard Self.isCalendarDate(eventDate) else {
            throw .database(
                "SQLSTATE[22007]: Invalid datetime format: 1292 Incorrect date value: '\(eventDate)' "
                    + "for column 'event_date' at row 1"
            )
        }
        guard orgName.unicodeScalars.count <= 128 else { throw .database(Self.tooLong("org_name")) }
        let types = ["band", "wedding"] + (dialect >= .d3 ? ["other"] : [])
        guard eventType.map(types.contains) ?? true else {
            throw .database("SQLSTATE[01000]: Warning: 1265 Data truncated for column 'event_type' at row 1")
        }
        guard rating.isEmpty || rating.wholeMatch(of: /[0-9]/) != nil else {
            throw .database(
                "SQLSTATE[22003]: Numeric value out of range: 1264 Out of range value for column 'rating' at row 1"
            )
        }
    }

    var participantNames: [String] {
        participants.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
    }

    /// MySQL's message for a text that does not fit its column.
    static func tooLong(_ column: String) -> String {
        "SQLSTATE[22001]: String data, right truncated: 1406 Data too long for column '\(column)' at row 1"
    }

    /// The server's date in its own time zone.
    static func today() -> String {
        var now = time(nil)
        var fields = tm()
        localtime_r(&now, &fields)
        return "\(fields.tm_year + 1900)-\(padded(fields.tm_mon + 1, 2))-\(padded(fields.tm_mday, 2))"
    }

    static func isCalendarDate(_ text: String) -> Bool {
        !text.hasPrefix("0000") && Timestamp(text + "T00:00:00Z") != nil
    }
}

/// How the releases store and compare the names of organizations (gighive contract T27).
enum OrganizationName {
    /// The name in the database: D1 as sent, D2 as a comparison form, D3 and D4 with single blanks.
    static func stored(_ name: String, _ dialect: Dialect) -> String {
        switch dialect {
        case .d1: name
        case .d2: comparisonForm(name)
        case .d3, .d4: normalized(name)
        }
    }

    static func normalized(_ text: String) -> String {
        text.split(whereSeparator: \.isWhitespace).joined(separator: " ").precomposedStringWithCanonicalMapping
    }

    /// Organizations and labels in D2: lowercase, no apostrophes, plain dashes, no accents.
    static func comparisonForm(_ text: String) -> String {
        var form = normalized(text).lowercased()
        form.removeAll { "'\u{2019}\u{2018}\u{60}\u{2032}".contains($0) }
        for (letter, plain) in [("\u{2013}", "-"), ("\u{2014}", "-"), ("ß", "ss"), ("æ", "ae"), ("ø", "o")] {
            form = form.replacing(letter, with: plain)
        }
        return normalized(form.folding(options: .diacriticInsensitive, locale: nil))
    }

    /// Equal for names that are equal in the database: its collation ignores case and accents.
    static func key(_ name: String) -> String {
        name.folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
    }
}
