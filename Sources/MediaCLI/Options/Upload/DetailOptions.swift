internal import ArgumentParser

/// What is told about the files of an upload.
struct DetailOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Date of the event (default: today).", valueName: "yyyy-mm-dd"))
    var eventDate: String?

    @Option(help: ArgumentHelp("Band, couple or organization (default: \"Band\").", valueName: "name"))
    var orgName: String?

    @Option(help: ArgumentHelp("Event type: band, wedding or other (default: band).", valueName: "type"))
    var eventType: String?

    @Option(
        help: ArgumentHelp(
            """
            Title (default: the file name without extension). {stem}, {name}, {ext}, {parent}, {date} and {n} are \
            replaced, {n:3} as 007; "Auto {date}" is the label that the phone app uses.
            """,
            valueName: "text"
        )
    )
    var label: String?

    @Option(help: ArgumentHelp("Names, comma-separated.", valueName: "names"))
    var participants: String?

    @Option(help: ArgumentHelp("Keywords, comma-separated.", valueName: "words"))
    var keywords: String?

    @Option(help: ArgumentHelp("Location of the event.", valueName: "text"))
    var location: String?

    @Option(help: ArgumentHelp("Rating of the event, from 0 to 9.", valueName: "n"))
    var rating: String?

    @Option(help: ArgumentHelp("Notes on the event.", valueName: "text"))
    var notes: String?

    /// The flags that were given, by the names of the fields.
    var given: [String: String] {
        let all: [String: String?] = [
            "event_date": eventDate, "org_name": orgName, "event_type": eventType, "label": label,
            "participants": participants, "keywords": keywords, "location": location, "rating": rating, "notes": notes,
        ]
        return all.compactMapValues { $0 }
    }

    /// A file name without its last extension; `.hidden` and `name.` keep theirs.
    static func stem(of fileName: String) -> String {
        guard let dot = fileName.lastIndex(of: "."), dot != fileName.startIndex,
            fileName.index(after: dot) != fileName.endIndex
        else { return fileName }
        return String(fileName[..<dot])
    }
}
