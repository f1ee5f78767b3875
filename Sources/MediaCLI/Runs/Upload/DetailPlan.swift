internal import Foundation
internal import GigHive
internal import MediaFiles

/// Decides what is told about each file: what its manifest row says, then the flags, then the file itself, then the
/// settings. With an event link the server says most of it.
struct DetailPlan: Sendable {
    private let options: DetailOptions
    private let settings: Settings
    private let label: LabelTemplate?
    /// `YYYY-MM-DD`.
    private let today: String
    private let localDay: @Sendable (Int64) -> String
    private let guest: GuestAccess?
    private let isDateFromMedia: Bool

    /// - Parameters:
    ///   - options: The flags.
    ///   - settings: Defaults.
    ///   - today: The date when nothing else says one.
    ///   - isDateFromMedia: Whether the file's own time is the date.
    ///   - guest: The event of a guest.
    /// - Throws: `Diagnosis` for a label template that cannot be read.
    init(
        _ options: DetailOptions,
        settings: Settings,
        today: String,
        isDateFromMedia: Bool,
        guest: GuestAccess?
    ) throws {
        self.options = options
        self.settings = settings
        self.today = today
        self.guest = guest
        self.isDateFromMedia = isDateFromMedia
        localDay = { Formats.localDay(Date(timeIntervalSince1970: Double($0))) }
        do {
            label = try options.label.map { try LabelTemplate($0) }
        } catch let error as LabelTemplateError {
            throw Diagnosis.usage(
                "--label: \(ErrorCatalogue.quoted(error.template)): \(ErrorCatalogue.clean(error.reason))",
                hint: "places are {stem}, {name}, {ext}, {parent}, {date}, {n} and {n:3}; {{ and }} are braces"
            )
        }
    }

    /// What is told about a file, checked.
    ///
    /// - Throws: `GigHiveError` with code `.invalidDetail`.
    func details(of input: UploadInput) throws(GigHiveError) -> UploadDetails {
        let told = { (name: String, flag: String?) in
            input.prefersFlags ? flag ?? input.fields[name] : input.fields[name] ?? flag
        }
        let date = guest?.event.eventDate ?? eventDate(of: input)
        if let guest {
            return try UploadDetails.validated(
                eventDate: date,
                orgName: guest.event.orgName,
                eventType: guest.event.eventType,
                label: try short(title(of: input, date: date))
            )
        }
        return try UploadDetails.validated(
            eventDate: date,
            orgName: told("org_name", options.orgName) ?? settings.orgName.value,
            eventType: told("event_type", options.eventType) ?? settings.eventType.value,
            label: title(of: input, date: date),
            participants: told("participants", options.participants),
            keywords: told("keywords", options.keywords),
            location: told("location", options.location),
            rating: told("rating", options.rating),
            notes: told("notes", options.notes)
        )
    }

    private func eventDate(of input: UploadInput) -> String {
        if input.prefersFlags, let date = options.eventDate {
            return date
        }
        return input.fields["event_date"] ?? recordingDate(of: input) ?? options.eventDate ?? today
    }

    /// The local day of the recording, when that is asked for and the file tells it. A file that cannot be read is
    /// refused elsewhere, in better words.
    private func recordingDate(of input: UploadInput) -> String? {
        guard isDateFromMedia, case .file(let path) = input.source,
            let file = try? SourceFile(path: path)
        else { return nil }
        return MediaCreationTime.seconds(of: file).map(localDay)
    }

    private func title(of input: UploadInput, date: String) -> String {
        let templated = label?.label(
            .init(path: input.labelPath, eventDate: date, number: input.number)
        )
        let own = input.fields["label"]
        return (input.prefersFlags ? templated ?? own : own ?? templated)
            ?? DetailOptions.stem(of: input.labelPath.fileName)
    }

    /// A guest's label is counted in bytes (gighive contract section 6).
    private func short(_ label: String) throws(GigHiveError) -> String {
        guard label.utf8.count <= 255 else {
            throw GigHiveError(
                .invalidDetail,
                detail: "at most 255 bytes of UTF-8 are allowed with an event link",
                field: "label",
                value: label,
                limit: 255
            )
        }
        return label
    }
}

extension UploadInput {
    /// What the label, `{stem}` and the like are taken from: the path with a space for each control character, which file
    /// names may hold and labels may not.
    fileprivate var labelPath: [UInt8] {
        let path =
            switch source {
            case .file(let path): path
            case .standardInput(let name): Array(name.utf8)
            }
        let text = String(decoding: path, as: UTF8.self)
        let isControl = { (scalar: Unicode.Scalar) in scalar.properties.generalCategory == .control }
        guard text.unicodeScalars.contains(where: isControl) else { return path }
        return text.unicodeScalars.flatMap { Array(String(isControl($0) ? " " : $0).utf8) }
    }
}
