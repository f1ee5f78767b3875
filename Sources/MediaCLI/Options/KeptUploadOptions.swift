internal import ArgumentParser
internal import Foundation
internal import MediaStore

/// Filters for the stored uploads.
struct KeptUploadOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Only uploads to events on this date.", valueName: "yyyy-mm-dd"))
    var eventDate: String?

    @Option(help: ArgumentHelp("Only uploads to events whose organization contains this.", valueName: "text"))
    var orgName: String?

    @Option(help: ArgumentHelp("Only uploads to events of this type.", valueName: "type"))
    var eventType: String?

    @Option(help: ArgumentHelp("Only uploads whose label or file name contains this.", valueName: "text"))
    var label: String?

    @Option(
        help: ArgumentHelp(
            "Only uploads since this day (local midnight) or time: 2026-05-01, 2026-05-01T18:30:00Z.",
            valueName: "time"
        )
    )
    var since: String?

    @Option(help: ArgumentHelp("Maximum number of uploads to list, newest first.", valueName: "n"))
    var limit: Int?

    func validate() throws {
        guard limit.map({ $0 > 0 }) ?? true else { throw ValidationError("--limit must be a whole number, 1 or more.") }
    }

    /// Whether any filter is set.
    var isNarrowed: Bool { [eventDate, orgName, eventType, label, since].contains { $0 != nil } }

    /// The filters, ready for uploads that come in pages.
    ///
    /// - Throws: `Diagnosis` for a time that cannot be read.
    func selection() throws(Diagnosis) -> Selection {
        let since = try since.map { text throws(Diagnosis) in
            Date(timeIntervalSince1970: Double(try PointInTime.parse(text, flag: "--since").microseconds) / 1_000_000)
        }
        return Selection(options: self, since: since, rest: limit)
    }

    /// What the filters leave of uploads that come in pages.
    struct Selection {
        fileprivate let options: KeptUploadOptions
        fileprivate let since: Date?
        /// How many more uploads `--limit` allows.
        fileprivate var rest: Int?

        /// Whether no more uploads are wanted.
        var isComplete: Bool { rest == 0 }

        /// The matching uploads, in their order. A file matches if one of its events does.
        mutating func take(_ uploads: [KeptUpload]) -> [KeptUpload] {
            guard options.isNarrowed || rest != nil else { return uploads }
            let matching = uploads.filter { upload in
                since.map { upload.createdAt >= $0 } ?? true
                    && (upload.isIn(options) || upload.otherEvents.contains(where: options.isWanted))
            }
            let taken = rest.map { Array(matching.prefix($0)) } ?? matching
            rest = rest.map { $0 - taken.count }
            return taken
        }
    }

    fileprivate func isWanted(_ event: StoredFacts) -> Bool {
        matches(
            date: event.eventDate ?? "",
            organization: event.orgName ?? "",
            type: event.eventType ?? "",
            titles: [event.label ?? ""]
        )
    }

    /// Whether an event and its titles pass; text is compared without regard to case.
    fileprivate func matches(date: String, organization: String, type: String, titles: [String]) -> Bool {
        eventDate.map { date == $0 } ?? true && orgName.map { Self.contains($0, in: organization) } ?? true
            && eventType.map { $0.lowercased() == type.lowercased() } ?? true
            && label.map { text in titles.contains { Self.contains(text, in: $0) } } ?? true
    }

    private static func contains(_ part: String, in text: String) -> Bool {
        part.isEmpty || text.range(of: part, options: .caseInsensitive) != nil
    }
}

extension KeptUpload {
    fileprivate func isIn(_ options: KeptUploadOptions) -> Bool {
        options.matches(date: eventDate, organization: orgName, type: eventType, titles: [label ?? "", fileName])
    }
}
