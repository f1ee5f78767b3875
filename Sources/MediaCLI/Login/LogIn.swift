internal import ArgumentParser
internal import Foundation
internal import GigHive
internal import Glibc
internal import MediaCore
internal import MediaStore
internal import MediaTransport
internal import PhotoSync

struct LogIn: ServerCommand {
    static let schema = "mediactl.login/1"
    static let configuration = CommandConfiguration(
        commandName: "login",
        abstract: "Log in to an upload server or a photo server, and store the login.",
        discussion: """
            Upload server: --user logs in with an email address and a password, from --password-stdin, \
            --password-file, MEDIACTL_PASSWORD, password_command, netrc, or a prompt. The password is not stored; the \
            server's token is stored, for this server only and until it expires. Some servers do not require a login, \
            but require a user name and password with each command.
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

    @Option("Name of this machine on the server (default: its host name).", value: "name")
    var deviceName: String?

    @Flag(name: .shortAndLong, help: "Replace the user's API key without confirmation.")
    var yes = false

    @Flag(name: .dryRun, help: "Show what would be done, without doing it. An API key is still checked.")
    var dryRun = false

    @OptionGroup(title: "Upload server") var identity: UserOptions
    @OptionGroup(title: "Photo server, with a key") var key: KeyOptions
    @OptionGroup(title: "With a password") var mail: MailOptions
    @OptionGroup(title: "Connection options") var connection: ServerConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    struct MailOptions: ParsableArguments {
        @Option("Log in to a photo server with this address; replaces the API key.", value: "address")
        var email: String?

        @Flag(help: "Read the password from standard input.")
        var passwordStdin = false

        @Option("Read the password from this file.", value: .file)
        var passwordFile: String?
    }

    func validate() throws {
        if let deviceName, deviceName.allSatisfy(\.isWhitespace) {
            throw ValidationError("--device-name: the name is empty.")
        }
        let hasKey = key.apiKeyStdin || key.apiKeyFile != nil
        if identity.user != nil {
            try require(mail.email == nil, "--user cannot be combined with --email.")
            try require(!hasKey, "--user cannot be combined with --api-key-stdin or --api-key-file.")
            try require(deviceName == nil && !yes, "--device-name and --yes have no effect with --user.")
        } else if let email = mail.email {
            try require(email.contains("@"), "--email requires an email address, for example ann@example.org.")
            try require(!hasKey, "--email cannot be combined with --api-key-stdin or --api-key-file.")
        } else if mail.passwordStdin || mail.passwordFile != nil {
            throw ValidationError(
                "A password requires --user or --email. For an API key, use --api-key-stdin or --api-key-file."
            )
        }
        try require(
            !mail.passwordStdin || mail.passwordFile == nil,
            "--password-stdin cannot be combined with --password-file."
        )
    }

    func run(in console: Console) async throws -> ExitCode {
        let flags = connection.flags + identity.flags
        let settings = try await SettingsSession.open(console, global: global, connection: flags)
        let credentials = CredentialFlags(passwordStdin: mail.passwordStdin, passwordFile: mail.passwordFile)
        let isOfPhotoServer =
            mail.email != nil || key.apiKeyStdin || key.apiKeyFile != nil || deviceName != nil || yes
        let uploadRun = UploadLoginRun(settings: settings, flags: credentials, isDryRun: dryRun)
        if !isOfPhotoServer, try await uploadRun.isForUploads(byUser: identity.user != nil) {
            return try await uploadRun.run()
        }
        let run = LoginRun(session: try SyncSession.open(settings), requestedName: deviceName, isDryRun: dryRun)
        try console.requireOutput()
        guard let email = mail.email else {
            return try await run.run(key.flags)
        }
        return try await run.run(email, credentials, Confirmation(prompter: settings.prompter, isGiven: yes))
    }
}

/// Logs in to an upload server, verifies the login, and stores it (gighive-d4 contract section 12).
struct UploadLoginRun: Sendable {
    let settings: SettingsSession
    let flags: CredentialFlags
    let isDryRun: Bool

    private var console: Console { settings.console }

    /// Whether the login is for an upload server: `--user` was given, the server has a stored login or is known to
    /// require one, or, if a prompt would follow, the server supports logins.
    ///
    /// - Throws: `GigHiveError` `.loginUnavailable` if a prompt would follow, the server uses passwords (Basic), and no
    ///   other photo server is configured.
    func isForUploads(byUser isNamed: Bool) async throws -> Bool {
        guard !isNamed else { return true }
        guard let server = try? settings.configuredServer(of: .uploadsURL) else { return false }
        if try settings.logins.entry(for: server.origin) != LoginStore.Entry() { return true }
        let environment = console.context.environment
        let hasKey = ["MEDIACTL_API_KEY", "MEDIACTL_API_KEY_FILE"].contains { environment[$0]?.isEmpty == false }
        guard !hasKey, settings.prompter.isAllowed else { return false }
        let anonymous = settings.client(for: server, nil, try settings.httpClient(for: .uploadsURL))
        // A server that does not respond is reported by the login itself.
        let support = try? await anonymous.loginSupport()
        let photoServer = try? settings.configuredServer(of: .syncURL)
        // Photo servers never use Basic.
        if support == .password, photoServer.map({ $0.origin == server.origin }) ?? true {
            throw GigHiveError.login(.loginUnavailable, at: server.origin, httpStatus: 401)
        }
        return support == .login
    }

    /// An earlier login is kept until the new one is verified.
    func run() async throws -> ExitCode {
        let server = try settings.requireServer()
        let origin = server.origin
        try settings.refuseClearText(origin, .uploadsURL)
        try console.requireOutput()
        let email = try await user(at: origin)
        guard !isDryRun else {
            console.text(["would log in to \(words(server)) as \(ErrorCatalog.clean(email))"])
            return finish(server, nil)
        }
        let password = try await settings.search(flags, at: origin, of: .uploadsURL) {
            try await $0.password(for: email, at: server.description, isConfigured: true)
        }
        let http = try settings.httpClient(for: .uploadsURL)
        let (login, isVerified) = try await console.context.interruption.canceling {
            try await logIn(server, http, email: email, password: password)
        }
        try settings.logins.update(origin) { entry in
            entry.login = login
            // A server that supports logins does not accept passwords.
            if isVerified { entry.requiresLogin = true }
        }
        if !isVerified {
            console.warning("the server cannot verify logins; the first command will show whether the login works")
        }
        return finish(server, login)
    }

    // MARK: Steps

    private func logIn(
        _ server: ServerURL,
        _ http: HTTPClient,
        email: String,
        password: String
    ) async throws -> (IssuedLogin, isVerified: Bool) {
        let issued: IssuedLogin
        do {
            issued = try await settings.client(for: server, nil, http).logIn(email: email, password: password)
        } catch  where error.code == .loginUnavailable {
            // If the entry still required a login, neither a password nor a login could be used.
            try settings.logins.update(server.origin) { $0.requiresLogin = false }
            throw error
        }
        let authorization = issued.authorization(for: server.origin)
        return (issued, try await settings.client(for: server, authorization, http).verifyLogin())
    }

    /// The user from `--user`, `MEDIACTL_USER`, profile, settings file or netrc, otherwise from a prompt.
    private func user(at origin: Origin) async throws -> String {
        try await settings.search(flags, at: origin, of: .uploadsURL) { search in
            if let user = search.server.user?.value { return user }
            if let user = try await search.netrcEntry()?.login { return user }
            let prompt = search.dependencies.prompt
            guard let user = try await prompt?("Email address for \(origin): ", .shown), !user.isEmpty else {
                throw CredentialError.usage("no user for \(origin)", hint: "set --user ADDRESS")
            }
            return user
        }
    }

    private func words(_ server: ServerURL) -> String { ErrorCatalog.clean(server.description) }

    private func finish(_ server: ServerURL, _ login: IssuedLogin?) -> ExitCode {
        let ending = console.ending(.success)
        if let login {
            let role = login.role.map { " (\(ErrorCatalog.clean($0)))" } ?? ""
            let expiry = login.expiresAt.map { "; the login expires on \(RFC3339.text(seconds: $0))" } ?? ""
            console.text([
                "\(console.outputStyle.green("logged in")) to \(words(server)) as "
                    + "\(ErrorCatalog.clean(login.email ?? ""))\(role)\(expiry)"
            ])
        }
        return ending.summary([
            "server": .string(server.description), "dry_run": .bool(isDryRun), "logged_in": .bool(login != nil),
            "device_id": .null, "device_name": .null, "email": JSONValue(login?.email), "key_rotated": false,
            "scheme": "bearer", "role": JSONValue(login?.role),
            "expires_at": JSONValue(login?.expiresAt.map { RFC3339.text(seconds: $0) }),
        ])
    }
}

/// Registers this machine with a photo server and stores the API key.
struct LoginRun: Sendable {
    let session: SyncSession
    /// The name from `--device-name`.
    let requestedName: String?
    let isDryRun: Bool

    private var deviceName: String { requestedName ?? HostName.current }
    private var console: Console { session.console }
    private var server: String { session.address }

    // MARK: With an API key

    /// Verifies the key, registers this machine, and stores both.
    func run(_ flags: CredentialFlags) async throws -> ExitCode {
        let server = server
        let key = try await session.search(flags) { try await $0.keyToKeep(for: server) }
        let client = try session.client(key: key)
        guard !isDryRun else {
            let status = try await console.context.interruption.canceling { try await client.status(device: nil) }
            console.text([
                "the key is valid: its user has \(Formats.count(status.totalPhotos, "photo")) at "
                    + "\(ErrorCatalog.clean(server)), and this machine would be the device \(ErrorCatalog.quoted(deviceName))"
            ])
            return finish(nil, isKeyRotated: false)
        }
        let registration = DeviceRegistration(client: client, library: session.library, deviceName: deviceName)
        let login = try await console.context.interruption.canceling { try await registration.logIn(apiKey: key) }
        return finish(login, isKeyRotated: false)
    }

    // MARK: With email address and password

    /// Logs in by email address and password, after confirmation, since it replaces the user's API key.
    ///
    /// - Throws: `UserFacingError` if confirmation is impossible; `CredentialError`, `PhotoSyncError`, `TransportError`.
    func run(_ email: String, _ flags: CredentialFlags, _ confirmation: Confirmation) async throws -> ExitCode {
        let warning =
            "This gives \(ErrorCatalog.clean(email)) a new API key at \(ErrorCatalog.clean(server)): every phone and "
            + "program of this user loses its key, and must log in again."
        let question = "Log in anyway?"
        guard !isDryRun else {
            console.text([warning])
            return finish(nil, isKeyRotated: false)
        }
        guard try await confirmation.prompt([warning], question, on: console) else {
            console.text(["not logged in"])
            return finish(nil, isKeyRotated: false, code: .failure)
        }
        let server = server
        let password = try await session.search(flags) { try await $0.password(for: email, at: server) }
        let registration = DeviceRegistration(
            client: try session.client(key: nil),
            library: session.library,
            deviceName: deviceName
        )
        // An interruption could leave the user without any key.
        let finishTimeout = session.settings.settings.finishTimeout.value
        let login = try await console.context.interruption.handling({
            console.outlast($0, for: "the new key", finishTimeout: finishTimeout)
        }) {
            do throws(PhotoSyncError) {
                return try await registration.logIn(email: email, password: password)
            } catch {
                warn(of: error)
                throw error
            }
        }
        return finish(login, isKeyRotated: true)
    }

    /// Warns that a failed login may have replaced the key: a later step may have failed, or the response with the key
    /// may have been lost.
    private func warn(of error: PhotoSyncError) {
        if let key = try? session.library.login(for: server)?.apiKey, key != session.login?.apiKey {
            console.warning(
                "the new API key is stored, but this machine is not registered yet: run mediactl login again"
            )
        } else if error.mayHaveRotatedKey {
            console.warning(
                "the server may have issued a new API key that was lost; run mediactl login again"
            )
        }
    }

    // MARK: Result

    private func finish(_ login: Login?, isKeyRotated: Bool, code: ExitCode = .success) -> ExitCode {
        let ending = console.ending(code)
        if let login {
            let name = login.deviceName ?? deviceName
            console.text([
                "\(console.outputStyle.green("logged in")) to \(ErrorCatalog.clean(login.server)) as "
                    + "\(ErrorCatalog.quoted(name))"
            ])
            if let requestedName, requestedName != name {
                console.note(
                    "this machine is already registered; the server keeps its name \(ErrorCatalog.quoted(name))"
                )
            }
            if isKeyRotated {
                console.warning("other phones and programs of this user must log in again")
            }
            console.note("next: mediactl sync")
        }
        return ending.summary([
            "server": .string(server), "dry_run": .bool(isDryRun), "logged_in": .bool(login != nil),
            "device_id": JSONValue(login?.deviceID), "device_name": JSONValue(login?.deviceName),
            "email": JSONValue(login?.email), "key_rotated": .bool(isKeyRotated), "scheme": "api_key", "role": .null,
            "expires_at": .null,
        ])
    }
}

extension PhotoSyncError {
    /// Whether a login that failed with this error may still have replaced the key: it was sent and not refused.
    fileprivate var mayHaveRotatedKey: Bool {
        switch self.code {
        case .transport: transport?.metrics.bodyComplete ?? true
        case .serverError, .unexpectedResponse, .cancelled: true
        default: false
        }
    }
}

enum HostName {
    /// The host name from gethostname(2); `mediactl` if the host name is not available.
    static var current: String {
        var bytes = [CChar](repeating: 0, count: 256)
        guard gethostname(&bytes, bytes.count - 1) == 0 else { return "mediactl" }
        let name = String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return name.isEmpty ? "mediactl" : name
    }
}
