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
            "The event link, or ask to enter it at a prompt. Other users of this machine can see a link given here.",
            valueName: "link|ask"
        )
    )
    var eventLink: String?

    @Option(
        help: ArgumentHelp("Read the token of an event link from this file; requires --server.", valueName: "file"),
        completion: .file()
    )
    var uploadTokenFile: String?

    @Flag(help: "Accept the organizer's terms, which are on the page of the event link.")
    var acceptTerms = false

    @Option(help: ArgumentHelp("Name shown to the organizer (maximum: 100 characters).", valueName: "name"))
    var displayName: String?

    /// Whether an event link is to be used.
    var isGuest: Bool { eventLinkFile != nil || eventLink != nil || uploadTokenFile != nil }

    func validate() throws {
        guard [eventLinkFile, eventLink, uploadTokenFile].count(where: { $0 != nil }) <= 1 else {
            throw ValidationError("Specify only one of --event-link-file, --event-link and --upload-token-file.")
        }
        guard isGuest || (!acceptTerms && displayName == nil) else {
            throw ValidationError("--accept-terms and --display-name require an event link: --event-link-file FILE.")
        }
        guard displayName?.unicodeScalars.count ?? 0 <= 100 else {
            throw ValidationError("--display-name must have at most 100 characters.")
        }
    }
}
