internal import ArgumentParser

/// How somebody uploads who has an event link instead of a login.
struct GuestOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Read the event link from this file; - for standard input.",
            valueName: "file"
        ),
        completion: .file()
    )
    var eventLinkFile: String?

    @Option(
        help: ArgumentHelp(
            "The event link, or ask to be asked for it. Others on this machine can see a link given here.",
            valueName: "link|ask"
        )
    )
    var eventLink: String?

    @Option(
        help: ArgumentHelp("Read the token of an event link from this file; needs --server.", valueName: "file"),
        completion: .file()
    )
    var uploadTokenFile: String?

    @Flag(help: "Accept the organizer's terms, which are on the page of the event link.")
    var acceptTerms = false

    @Option(help: ArgumentHelp("Name shown to the organizer, at most 100 characters.", valueName: "name"))
    var displayName: String?

    /// Whether an event link is to be used.
    var isGuest: Bool { eventLinkFile != nil || eventLink != nil || uploadTokenFile != nil }

    func validate() throws {
        guard [eventLinkFile, eventLink, uploadTokenFile].count(where: { $0 != nil }) <= 1 else {
            throw ValidationError("Give one event link: --event-link-file, --event-link or --upload-token-file.")
        }
        guard isGuest || (!acceptTerms && displayName == nil) else {
            throw ValidationError("--accept-terms and --display-name go with an event link: --event-link-file FILE.")
        }
        guard displayName?.unicodeScalars.count ?? 0 <= 100 else {
            throw ValidationError("--display-name takes at most 100 characters.")
        }
    }
}
