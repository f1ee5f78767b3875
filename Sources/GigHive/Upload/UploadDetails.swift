internal import Foundation
public import MediaStore

/// What is told about a file besides its bytes (gighive contract 2.1). Made by `UploadDetails.validated`, so a value of
/// this type holds nothing that the server would refuse only after the whole body.
public struct UploadDetails: Sendable, Equatable {
    /// `YYYY-MM-DD`, a real calendar date.
    public var eventDate: String
    /// First half of the event's key, with the date; at most 128 Unicode scalars.
    public var orgName: String
    /// `band`, `wedding` or `other`.
    public var eventType: String
    /// Title; 1 to 255 Unicode scalars after trimming and NFC.
    public var label: String
    /// Comma-separated names.
    public var participants: String?
    /// Comma-separated key words.
    public var keywords: String?
    /// Place of the event.
    public var location: String?
    /// Whole number from 0 to 9.
    public var rating: String?
    /// Free text.
    public var notes: String?

    /// Checks and normalises: trims, composes (NFC), leaves out what is blank (trap T6).
    ///
    /// Lengths are counted in Unicode scalars, as the server's database does (trap T7). Control characters (C0, DEL, C1)
    /// are refused; only `notes` may hold line breaks and tabs. Blank is what has nothing but white space (Unicode's
    /// `White_Space`) and characters without width.
    ///
    /// - Throws: `GigHiveError` with code `.invalidDetail`, naming the field, the value and the rule.
    public static func validated(
        eventDate: String,
        orgName: String,
        eventType: String = "band",
        label: String,
        participants: String? = nil,
        keywords: String? = nil,
        location: String? = nil,
        rating: String? = nil,
        notes: String? = nil
    ) throws(GigHiveError) -> UploadDetails {
        UploadDetails(
            eventDate: try DetailRule("event_date").date(eventDate),
            orgName: try DetailRule("org_name").required(orgName, limit: 128),
            eventType: try DetailRule("event_type").choice(eventType, of: ["band", "wedding", "other"]),
            label: try DetailRule("label").required(label, limit: 255),
            participants: try DetailRule("participants").names(participants, limit: 255),
            keywords: try DetailRule("keywords").optional(keywords),
            location: try DetailRule("location").limited(location, limit: 255),
            rating: try DetailRule("rating").rating(rating),
            notes: try DetailRule("notes", allowsLineBreaks: true).optional(notes)
        )
    }

    /// The same for a guest: the event's fields are the server's, and the label's limit is 255 UTF-8 bytes (gighive contract
    /// section 6).
    ///
    /// - Throws: `GigHiveError` with code `.invalidDetail` for a longer label.
    public func forGuest(of event: GuestAccess.Event) throws(GigHiveError) -> UploadDetails {
        try DetailRule("label").checkBytes(label, limit: 255)
        var details = self
        details.eventDate = event.eventDate
        details.orgName = event.orgName
        details.eventType = event.eventType
        return details
    }

    /// The form's fields in the order they are sent; what is unset is left out.
    public var fields: [UploadField] {
        let optional = [
            ("participants", participants), ("keywords", keywords), ("location", location), ("rating", rating),
            ("notes", notes),
        ]
        return [
            UploadField("event_date", eventDate), UploadField("org_name", orgName),
            UploadField("event_type", eventType), UploadField("label", label),
        ] + optional.compactMap { name, value in value.map { UploadField(name, $0) } }
    }
}

extension UploadDetails {
    /// What a journal row says; nil when the row lacks what every upload has.
    init?(_ fields: [UploadField]) {
        let value = { (name: String) in fields.first { $0.name == name }?.value }
        guard let eventDate = value("event_date"), let orgName = value("org_name"),
            let eventType = value("event_type"), let label = value("label")
        else { return nil }
        self.init(
            eventDate: eventDate,
            orgName: orgName,
            eventType: eventType,
            label: label,
            participants: value("participants"),
            keywords: value("keywords"),
            location: value("location"),
            rating: value("rating"),
            notes: value("notes")
        )
    }
}
