internal import ArgumentParser
internal import Foundation
internal import GigHive
internal import MediaTransport

/// Options for uploads with an event link instead of a login.
struct GuestOptions: ParsableArguments {
    @Option("Read the event link from this file; - for standard input.", value: .file)
    var eventLinkFile: String?

    @Option(
        "The event link, or \"ask\" to be prompted. Other users of this machine can see a link given here.",
        value: "link|ask"
    )
    var eventLink: String?

    @Option("Read the token of an event link from this file; requires --server.", value: .file)
    var uploadTokenFile: String?

    @Flag(help: "Accept the organizer's terms, shown on the event link's page.")
    var acceptTerms = false

    @Option("Name shown to the organizer (maximum: 100 bytes of UTF-8).", value: "name")
    var displayName: String?

    var isGuest: Bool { eventLinkFile != nil || eventLink != nil || uploadTokenFile != nil }

    func validate() throws {
        guard [eventLinkFile, eventLink, uploadTokenFile].count(where: { $0 != nil }) <= 1 else {
            throw ValidationError("Specify only one of --event-link-file, --event-link and --upload-token-file.")
        }
        guard isGuest || (!acceptTerms && displayName == nil) else {
            throw ValidationError("--accept-terms and --display-name require an event link: --event-link-file FILE.")
        }
        try require(displayName?.utf8.count ?? 0 <= 100, "--display-name must not exceed 100 bytes of UTF-8.")
    }
}

/// The event of an event link, and a client without a login for its server.
struct GuestSession: Sendable {
    let client: GigHiveClient
    let access: GuestAccess

    /// Reads the link, fetches the event from its server and, if `needsTerms` is true, prompts for acceptance of the
    /// terms, which is required for uploads.
    ///
    /// - Throws: `UserFacingError` if the link cannot be read or the terms are not accepted; `GigHiveError` if the
    ///   server rejects the link; `CredentialError` if the link's secret would be sent unencrypted.
    static func open(
        _ options: GuestOptions,
        settings: SettingsSession,
        servers: ServerSession,
        needsTerms: Bool
    ) async throws -> GuestSession {
        let console = settings.console
        let text = try await link(options, settings)
        guard let token = EventToken(text) else {
            throw UserFacingError.usage(
                "not an event link",
                hint: "event links have the form https://HOST/upload/TOKEN; the token is 43 letters, digits, - or _"
            )
        }
        let server = try server(ofLink: text, settings: settings)
        // The link is part of this command, so the network options apply to its server.
        settings.trusts.name(server.origin)
        try settings.refuseClearText(server.origin, .uploadsURL)
        let client = await servers.anonymousClient(for: server)
        let access = try await client.guestAccess(token, displayName: options.displayName)
        console.note("uploading as a \(ErrorCatalog.clean(access.description))")
        guard needsTerms else { return GuestSession(client: client, access: access) }
        try await accept(options, settings, at: server)
        return GuestSession(client: client, access: access.acceptingTerms())
    }

    // MARK: Event link

    private static func link(_ options: GuestOptions, _ settings: SettingsSession) async throws -> String {
        let console = settings.console
        if let link = options.eventLink, link != "ask" {
            console.warning(
                "other users of this machine can see an event link on the command line; use --event-link-file"
            )
            return link
        }
        if options.eventLink != nil {
            guard settings.prompter.isAllowed else {
                throw UserFacingError.usage(
                    "not a terminal; cannot prompt for the event link",
                    hint: "store it in a file and use --event-link-file FILE"
                )
            }
            return try await console.context.interruption.canceling { try await PasswordPrompt.prompt("Event link: ") }
        }
        let (name, flag) =
            options.eventLinkFile.map { ($0, "--event-link-file") } ?? (
                options.uploadTokenFile ?? "", "--upload-token-file"
            )
        return try await text(of: name, flag: flag, settings)
    }

    private static func text(of name: String, flag: String, _ settings: SettingsSession) async throws -> String {
        if name != "-", SmallFile.isReadableByOthers(name) {
            settings.console.warning(SmallFile.readableWarning(ErrorCatalog.quoted(name)))
        }
        do {
            return name == "-"
                ? try await SmallFile.text(comingThrough: settings.console.context.standardInput)
                : try await SmallFile.text(comingThrough: name)
        } catch let failure {
            let file = name == "-" ? "standard input" : ErrorCatalog.quoted(name)
            throw UserFacingError.usage("\(flag): cannot read \(file): \(failure.reason)", hint: failure.hint)
        }
    }

    /// The server in the link, otherwise the configured server. The secret in a link is never sent to a different
    /// server.
    private static func server(ofLink text: String, settings: SettingsSession) throws -> ServerURL {
        guard let address = EventToken.server(ofLink: text) else { return try settings.requireServer() }
        let server = try ServerURL(address)
        guard settings.flags[.server] != nil else { return server }
        let named = try settings.requireServer()
        guard named.origin == server.origin else {
            throw UserFacingError.usage(
                "the event link is for \(ErrorCatalog.clean("\(server.origin)")), not for --server",
                hint: "omit --server, or specify only the last part of the link with --upload-token-file FILE"
            )
        }
        return named
    }

    // MARK: Terms

    private static func accept(
        _ options: GuestOptions,
        _ settings: SettingsSession,
        at server: ServerURL
    ) async throws {
        guard !options.acceptTerms else { return }
        guard settings.prompter.isAllowed else { throw GigHiveError(.termsNotAccepted) }
        let isAccepted = await settings.console.context.interruption.prompting {
            // The link is a secret, so its page is printed without the token.
            settings.console.announce([
                "The terms are on the page of the event link: \(ErrorCatalog.clean("\(server)"))/upload/TOKEN",
                "(\(tokenPlace(options)))",
            ])
            return await settings.prompter.confirm("Do you accept the organizer's terms?")
        }
        guard isAccepted else {
            throw UserFacingError(
                .termsNotAccepted,
                "the organizer's terms were not accepted; nothing was sent",
                exitCode: .failure
            )
        }
    }

    /// Location of the secret that the printed address omits.
    private static func tokenPlace(_ options: GuestOptions) -> String {
        func file(_ name: String) -> String { name == "-" ? "standard input" : ErrorCatalog.quoted(name) }
        if let name = options.eventLinkFile { return "the whole link is in \(file(name))" }
        if let name = options.uploadTokenFile { return "TOKEN is in \(file(name))" }
        return "the whole link is the one you entered"
    }
}
