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
    /// Whole number up to 9.
    public var rating: String?
    /// Free text.
    public var notes: String?

    /// Checks and normalises: trims, composes (NFC), leaves out what is blank (trap T6).
    ///
    /// - Throws: `GigHiveError` with code `.invalidDetail`, naming the field, the value and the rule.
    public static func validated(
        eventDate: String, orgName: String, eventType: String, label: String, participants: String? = nil,
        keywords: String? = nil, location: String? = nil, rating: String? = nil, notes: String? = nil
    ) throws(GigHiveError) -> UploadDetails {
        UploadDetails(eventDate: eventDate, orgName: orgName, eventType: eventType, label: label)
    }
}
