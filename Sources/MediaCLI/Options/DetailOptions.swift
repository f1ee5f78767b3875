internal import ArgumentParser
internal import GigHive

/// What is told about the files of an upload.
struct DetailOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Day of the event, today by default.", valueName: "yyyy-mm-dd"))
    var eventDate: String?

    @Option(help: ArgumentHelp("Band, couple or organisation, \"Band\" by default.", valueName: "name"))
    var orgName: String?

    @Option(help: ArgumentHelp("Kind of event: band, wedding or other; band by default.", valueName: "type"))
    var eventType: String?

    @Option(help: ArgumentHelp("Title; the file's name without its extension by default.", valueName: "text"))
    var label: String?

    @Option(help: ArgumentHelp("Names, separated by commas.", valueName: "names"))
    var participants: String?

    @Option(help: ArgumentHelp("Key words, separated by commas.", valueName: "words"))
    var keywords: String?

    @Option(help: ArgumentHelp("Place of the event.", valueName: "text"))
    var location: String?

    @Option(help: ArgumentHelp("Rating of the event, a whole number from 0 to 9.", valueName: "n"))
    var rating: String?

    @Option(help: ArgumentHelp("Notes on the event.", valueName: "text"))
    var notes: String?

    /// Everything told about one file, checked. The stem of `fileName` is the label when none was given, `today` the
    /// date.
    func details(fileName: String, today: String, settings: Settings) throws(GigHiveError) -> UploadDetails {
        try UploadDetails.validated(
            eventDate: eventDate ?? today,
            orgName: settings.orgName.value,
            eventType: settings.eventType.value,
            label: label ?? Self.stem(of: fileName),
            participants: participants,
            keywords: keywords,
            location: location,
            rating: rating,
            notes: notes
        )
    }

    /// A file name without its last extension; `.hidden` and `name.` keep theirs.
    static func stem(of fileName: String) -> String {
        guard let dot = fileName.lastIndex(of: "."), dot != fileName.startIndex,
            fileName.index(after: dot) != fileName.endIndex
        else { return fileName }
        return String(fileName[..<dot])
    }
}
