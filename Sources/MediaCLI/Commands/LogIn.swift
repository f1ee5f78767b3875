internal import ArgumentParser

/// `mediactl login`
struct LogIn: ContextCommand {
    static let schema = "mediactl.login/1"
    static let configuration = CommandConfiguration(
        commandName: "login",
        abstract: "Make this machine a device of a photo server, and keep the API key.",
        discussion: """
            The normal way is a key that the server's administrator has issued: from --api-key-stdin, --api-key-file, \
            MEDIACTL_API_KEY, or typed in when asked. It is kept for this server, readable by you only.
            --email logs in with a password instead. That replaces the key of the user: every phone and program that \
            uses it must log in again. It is asked before, and needs --yes where nobody can be asked.

            Examples:
              mediactl login --server https://photos.example.org --api-key-file key.txt
              mediactl login --server https://photos.example.org --email ann@example.org
            """
    )

    @Option(help: ArgumentHelp("What other devices call this machine; its host name by default.", valueName: "name"))
    var deviceName: String?

    @Flag(help: "Do not ask before the key of the user is replaced.")
    var yes = false

    @Flag(help: "Only say what would be done. With a key, it is tried.")
    var dryRun = false

    @OptionGroup(title: "With a key") var key: KeyOptions
    @OptionGroup(title: "By e-mail") var mail: MailOptions
    @OptionGroup(title: "Connection options") var connection: PhotoConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    /// A login by e-mail address.
    struct MailOptions: ParsableArguments {
        @Option(help: ArgumentHelp("Log in by this address; the user gets a new key.", valueName: "address"))
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
                throw ValidationError("--email gets a new key: leave --api-key-stdin and --api-key-file out.")
            }
        } else if mail.passwordStdin || mail.passwordFile != nil {
            throw ValidationError("A password needs --email: keys are given with --api-key-stdin or --api-key-file.")
        }
        guard !mail.passwordStdin || mail.passwordFile == nil else {
            throw ValidationError("--password-stdin and --password-file exclude each other.")
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
