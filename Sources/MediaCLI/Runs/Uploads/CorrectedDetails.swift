internal import GigHive
internal import MediaStore

/// The details of an upload of the journal, with some replaced.
struct CorrectedDetails {
    /// All of them; nil when nothing is replaced.
    let details: UploadDetails?

    /// - Throws: `GigHiveError` with code `.invalidDetail`.
    init(_ corrections: [String: String], of record: UploadRecord) throws(GigHiveError) {
        guard !corrections.isEmpty else {
            details = nil
            return
        }
        let kept = Dictionary(record.fields.map { ($0.name, $0.value) }) { $1 }
        let fields = kept.merging(corrections) { $1 }
        details = try UploadDetails.validated(
            eventDate: fields["event_date"] ?? "",
            orgName: fields["org_name"] ?? "",
            eventType: fields["event_type"] ?? "",
            label: fields["label"] ?? "",
            participants: fields["participants"],
            keywords: fields["keywords"],
            location: fields["location"],
            rating: fields["rating"],
            notes: fields["notes"]
        )
    }
}
