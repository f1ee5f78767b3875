internal import ArgumentParser

/// `mediactl login`
struct LogIn: ContextCommand {
    static let schema = "mediactl.login/1"
    static let configuration = CommandConfiguration(
        commandName: "login",
        abstract: "Log in to an upload server or a photo server, and store the login.",
        discussion: """
            Upload server: --user logs in with an e-mail address and a password, from --password-stdin, \
            --password-file, MEDIACTL_PASSWORD, password_command, netrc, or a prompt. The password is not stored; the \
            server's token is, for this server only and until it expires. Some servers require no login, but a user \
            name and password with each command.
            Photo server: registers this machine with an API key issued by the server's administrator, from \
            --api-key-stdin, --api-key-file, MEDIACTL_API_KEY, or a prompt. --email logs in with a password instead. \
            This replaces the user's API key: every phone and program that uses it must log in again. Prompts for \
            confirmation; without a terminal, --yes is required.
            Without these options, the server determines what is required. Logins are readable only by you.

            Examples:
              mediactl login --server https://media.example.org --user ann@example.org
              mediactl login --server https://photos.example.org --api-key-file key.txt
              mediactl login --server https://photos.example.org --email ann@example.org
              mediactl login status
            """,
        subcommands: [LogInStatus.self]
    )

    @Option(help: ArgumentHelp("Name of this machine on the server (default: its host name).", valueName: "name"))
    var deviceName: String?

    @Flag(help: "Replace the user's API key without confirmation.")
    var yes = false

    @Flag(help: "Show what would be done, without doing it. An API key is still checked.")
    var dryRun = false

    @OptionGroup(title: "Upload server") var identity: UserOptions
    @OptionGroup(title: "Photo server, with a key") var key: KeyOptions
    @OptionGroup(title: "With a password") var mail: MailOptions
    @OptionGroup(title: "Connection options") var connection: PhotoConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    /// A login by e-mail address.
    struct MailOptions: ParsableArguments {
        @Option(
            help: ArgumentHelp(
                "Log in to a photo server with this address; replaces the API key.",
                valueName: "address"
            )
        )
        var email: String?

        @Flag(help: "Read the password from standard input.")
        var passwordStdin = false

        @Option(help: ArgumentHelp("Read the password from this file.", valueName: "file"), completion: .file())
        var passwordFile: String?
    }

    func validate() throws {
        if let deviceName, deviceName.allSatisfy(\.isWhitespace) {
            throw ValidationError("--device-name: an empty name.")
        }
        let hasKey = key.apiKeyStdin || key.apiKeyFile != nil
        if identity.user != nil {
            guard mail.email == nil else { throw ValidationError("--user cannot be combined with --email.") }
            guard !hasKey else {
                throw ValidationError("--user cannot be combined with --api-key-stdin or --api-key-file.")
            }
            guard deviceName == nil, !yes else {
                throw ValidationError("--device-name and --yes have no effect with --user.")
            }
        } else if let email = mail.email {
            guard email.contains("@") else { throw ValidationError("--email takes an address like ann@example.org.") }
            guard !hasKey else {
                throw ValidationError("--email cannot be combined with --api-key-stdin or --api-key-file.")
            }
        } else if mail.passwordStdin || mail.passwordFile != nil {
            throw ValidationError(
                "A password requires --user or --email. For an API key, use --api-key-stdin or --api-key-file."
            )
        }
        guard !mail.passwordStdin || mail.passwordFile == nil else {
            throw ValidationError("--password-stdin cannot be combined with --password-file.")
        }
    }

    func run(in console: Console) async throws -> ExitCode {
        var flags = LogInFlags(flags: connection.flags)
        flags.flags.user = identity.user
        let settings = try await SettingsSession.open(console, global: global, connection: flags)
        let credentials = CredentialFlags(
            passwordStdin: mail.passwordStdin,
            passwordFile: mail.passwordFile,
            noInput: global.noInput
        )
        let isOfPhotoServer =
            mail.email != nil || key.apiKeyStdin || key.apiKeyFile != nil || deviceName != nil || yes
        let run = UploadLoginRun(settings: settings, flags: credentials, isDryRun: dryRun)
        if !isOfPhotoServer, try await run.isMeant(byUser: identity.user != nil) {
            return try await run.run()
        }
        return try await logInToPhotoServer(SyncSession.open(settings), credentials, console)
    }

    private func logInToPhotoServer(
        _ session: SyncSession,
        _ flags: CredentialFlags,
        _ console: Console
    ) async throws -> ExitCode {
        let run = LoginRun(session: session, deviceName: deviceName ?? HostName.current, isDryRun: dryRun)
        try console.requireOutput()
        guard let email = mail.email else {
            return try await run.run(key.flags(noInput: global.noInput))
        }
        return try await run.run(email, flags, Confirmation(prompter: session.settings.prompter, isGiven: yes))
    }

    /// The options of the connection and the user.
    private struct LogInFlags: ConnectionFlags {
        var flags: SettingsFlags
    }
}
