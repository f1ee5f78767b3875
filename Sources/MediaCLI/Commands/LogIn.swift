internal import ArgumentParser

/// `mediactl login`
struct LogIn: ContextCommand {
    static let schema = "mediactl.login/1"
    static let configuration = CommandConfiguration(
        commandName: "login",
        abstract: "Register this machine with a photo server, and store the API key.",
        discussion: """
            Log in with an API key issued by the server's administrator: from --api-key-stdin, --api-key-file, \
            MEDIACTL_API_KEY, or a prompt. It is stored for this server, readable only by you.
            --email logs in with a password instead. This replaces the user's API key: every phone and program that \
            uses it must log in again. Prompts for confirmation; without a terminal, --yes is required.

            Examples:
              mediactl login --server https://photos.example.org --api-key-file key.txt
              mediactl login --server https://photos.example.org --email ann@example.org
            """
    )

    @Option(help: ArgumentHelp("Name of this machine on the server (default: its host name).", valueName: "name"))
    var deviceName: String?

    @Flag(help: "Replace the user's API key without confirmation.")
    var yes = false

    @Flag(help: "Show what would be done, without doing it. An API key is still checked.")
    var dryRun = false

    @OptionGroup(title: "With a key") var key: KeyOptions
    @OptionGroup(title: "By e-mail") var mail: MailOptions
    @OptionGroup(title: "Connection options") var connection: PhotoConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    /// A login by e-mail address.
    struct MailOptions: ParsableArguments {
        @Option(help: ArgumentHelp("Log in with this address; replaces the user's API key.", valueName: "address"))
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
        if let email = mail.email {
            guard email.contains("@") else { throw ValidationError("--email takes an address like ann@example.org.") }
            guard !key.apiKeyStdin, key.apiKeyFile == nil else {
                throw ValidationError("--email cannot be combined with --api-key-stdin or --api-key-file.")
            }
        } else if mail.passwordStdin || mail.passwordFile != nil {
            throw ValidationError("A password requires --email. For an API key, use --api-key-stdin or --api-key-file.")
        }
        guard !mail.passwordStdin || mail.passwordFile == nil else {
            throw ValidationError("--password-stdin cannot be combined with --password-file.")
        }
    }

    func run(in console: Console) async throws -> ExitCode {
        let session = try await SyncSession.open(console, global, connection)
        let run = LoginRun(
            session: session,
            deviceName: deviceName ?? HostName.current,
            isDryRun: dryRun
        )
        try console.requireOutput()
        guard let email = mail.email else {
            return try await run.run(key.flags(noInput: global.noInput))
        }
        let flags = CredentialFlags(
            passwordStdin: mail.passwordStdin,
            passwordFile: mail.passwordFile,
            noInput: global.noInput
        )
        return try await run.run(email, flags, Confirmation(prompter: session.settings.prompter, isGiven: yes))
    }
}
