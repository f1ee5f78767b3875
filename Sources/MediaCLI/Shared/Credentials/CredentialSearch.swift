internal import GigHive
internal import MediaCore
internal import MediaFiles
internal import MediaTransport

/// A single search of the sources of credentials, in order of precedence. Sources for other origins are skipped.
struct CredentialSearch: Sendable {
    var flags: CredentialFlags
    /// The settings that apply to `origin`.
    var server: ServerSettings
    var environment: [String: String]
    var origin: Origin
    var dependencies: CredentialDependencies
    /// Stored entry for `origin`.
    var stored = LoginStore.Entry()

    private enum Secret {
        case password(String)
        case apiKey(String)
    }

    /// Returns the first credentials found in: flags, `MEDIACTL_PASSWORD`, `MEDIACTL_API_KEY` (and `…_FILE`), the
    /// stored login, `password_command`, netrc, prompt. If an origin requires a login, passwords are not used: flags
    /// for a password are refused, and the other sources are skipped. Plain `http` to a different machine is refused
    /// before any source is read, unless it is allowed.
    ///
    /// - Throws: `CredentialError`; errors from `CredentialDependencies.beforePrompt`.
    func run() async throws -> Authorization {
        try Credentials.refuseClearText(origin, allowed: server.allowHTTP.value, environment: environment)
        if let secret = try await fromFlags() { return try await authorization(secret) }
        if let secret = try await fromEnvironment() { return try await authorization(secret) }
        if let login = try storedLogin() { return login }
        guard !stored.requiresLogin else { throw CredentialError.loginRequired(origin) }
        if let password = try await fromCommand() { return try await authorization(.password(password)) }
        if let entry = try await netrcEntry(), let password = entry.password {
            return try await authorization(.password(password), loginOf: entry)
        }
        return try await fromPrompt()
    }

    /// The stored login, unless `--user` specifies a different user.
    private func storedLogin() throws(CredentialError) -> Authorization? {
        guard let login = stored.login else { return nil }
        if let user = server.user, user.origin == .flag, let email = login.email,
            user.value.lowercased() != email.lowercased()
        {
            guard stored.requiresLogin else { return nil }
            throw .loginOfAnother(origin, email: email, user: user.value)
        }
        if let expiresAt = login.expiresAt, login.isExpired(at: dependencies.now()) {
            throw .loginExpired(origin, at: expiresAt)
        }
        return login.authorization(for: origin)
    }

    // MARK: Sources

    private func fromFlags() async throws(CredentialError) -> Secret? {
        guard flags.names.count < 2 else {
            throw .usage("only one of --password-stdin, --password-file and --api-key-file can be used")
        }
        guard server.isTarget else { return nil }
        if stored.requiresLogin, flags.passwordStdin || flags.passwordFile != nil {
            let flag = flags.passwordStdin ? "--password-stdin" : "--password-file"
            throw .loginRequired(
                origin,
                hint: stored.login == nil ? nil : "omit \(flag) to use the stored login"
            )
        }
        if flags.passwordStdin { return .password(try await secretOnStandardInput("the password")) }
        if let path = flags.passwordFile { return .password(try await secret(inFile: path, source: "--password-file")) }
        if let path = flags.apiKeyFile { return .apiKey(try await secret(inFile: path, source: "--api-key-file")) }
        return nil
    }

    private func fromEnvironment() async throws(CredentialError) -> Secret? {
        guard server.takesEnvironment else { return nil }
        if !stored.requiresLogin, let password = try await environmentSecret("MEDIACTL_PASSWORD") {
            return .password(password)
        }
        return try await environmentSecret("MEDIACTL_API_KEY").map { .apiKey($0) }
    }

    /// The value of the variable, or the secret in the file specified by `…_FILE`.
    private func environmentSecret(_ name: String) async throws(CredentialError) -> String? {
        if let value = variable(name) { return value }
        guard let path = variable(name + "_FILE") else { return nil }
        return try await secret(inFile: path, source: name + "_FILE")
    }

    func fromCommand() async throws(CredentialError) -> String? {
        guard let command = server.passwordCommand else { return nil }
        return try await PasswordCommand(arguments: command.value, searchPath: environment["PATH"] ?? "").run()
    }

    func netrcEntry() async throws(CredentialError) -> Netrc.Entry? {
        guard let path = variable("NETRC") ?? variable("HOME").map({ $0 + "/.netrc" }) else { return nil }
        let text: String
        do {
            text = try await SmallFile.text(comingThrough: path)
        } catch {
            if error == .missing { return nil }
            throw unreadable(quoted(path), error)
        }
        do {
            let entry = try Netrc(text)
                .entry(host: origin.host, user: server.user?.value, allowsDefault: server.isTarget)
            if entry != nil { warnIfReadable(path) }
            return entry
        } catch {
            throw .usage("\(TerminalText.escaped(path)):\(error.line): unterminated quote")
        }
    }

    /// Prompts for a password, and for a missing user name. Prompts again if the server refuses the login.
    private func fromPrompt() async throws -> Authorization {
        guard let prompt = dependencies.prompt else { throw missing }
        try await dependencies.beforePrompt()
        for attempt in 1...Self.attempts {
            let user = try await userName()
            let number = attempt == 1 ? "" : " (attempt \(attempt) of \(Self.attempts))"
            let question = "Password for \(TerminalText.escaped(user)) at \(origin)\(number): "
            let password = try await prompt(question, .hidden)
            let authorization = Authorization.basic(user: user, password: password, for: origin)
            if await dependencies.isAccepted(authorization) { return authorization }
            guard attempt < Self.attempts else { break }
            dependencies.warn("login failed (401): wrong user name or password, or missing permission")
        }
        throw CredentialError.notAuthenticated(
            "login failed (401) \(Self.attempts) times: wrong user name or password, or missing permission"
        )
    }

    private static let attempts = 3

    /// The error for missing credentials; mentions credentials that were specified for other servers.
    private var missing: CredentialError {
        guard !server.isTarget else {
            let isForOther = hasEnvironmentSecret && !server.takesEnvironment
            let others = isForOther ? "; MEDIACTL_PASSWORD is used only for MEDIACTL_SERVER" : ""
            return .notAuthenticated(
                "no password for \(origin)\(others)",
                hint: "use --password-stdin, --password-file, MEDIACTL_PASSWORD, password_command or netrc, with --user"
            )
        }
        let isGiven = !flags.names.isEmpty || hasEnvironmentSecret
        return .notAuthenticated(
            "no credentials for \(origin)" + (isGiven ? "; the specified credentials are for a different server" : ""),
            hint: dependencies.retryCommand.map { "\($0) --server \(origin)" }
                ?? "add --server \(origin), or a profile or netrc entry for it"
        )
    }

    private var hasEnvironmentSecret: Bool {
        ["MEDIACTL_PASSWORD", "MEDIACTL_PASSWORD_FILE", "MEDIACTL_API_KEY", "MEDIACTL_API_KEY_FILE"].contains {
            variable($0) != nil
        }
    }

    // MARK: Result

    private func authorization(
        _ secret: Secret,
        loginOf entry: Netrc.Entry? = nil
    ) async throws(CredentialError) -> Authorization {
        switch secret {
        case .password(let password):
            return .basic(user: try await userName(entry), password: password, for: origin)
        case .apiKey(let key): return .apiKey(try Self.checked(key), for: origin)
        }
    }

    static func checked(_ key: String) throws(CredentialError) -> String {
        guard !key.isEmpty, key.unicodeScalars.allSatisfy({ $0.isASCII && $0.value > 0x20 && $0.value != 0x7F }) else {
            throw .usage("the API key contains characters that are not allowed in a header field")
        }
        return key
    }

    /// The user from `--user`, `MEDIACTL_USER`, profile or settings file, otherwise from netrc, otherwise from a
    /// prompt.
    private func userName(_ entry: Netrc.Entry? = nil) async throws(CredentialError) -> String {
        var user = server.user?.value ?? entry?.login
        if user == nil { user = try await netrcEntry()?.login }
        if user == nil, let prompt = dependencies.prompt {
            user = try await prompt("User name for \(origin): ", .shown)
        }
        guard let user, !user.isEmpty else {
            throw .usage("no user name for \(origin)", hint: "set --user NAME")
        }
        // RFC 7617 section 2: the first colon ends the name, and control characters are not allowed.
        guard !user.unicodeScalars.contains(":") else { throw .usage("a user name must not contain a colon") }
        guard !user.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw .usage("a user name must not contain control characters")
        }
        return user
    }

    // MARK: Reading secrets

    func variable(_ name: String) -> String? {
        environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    func secretOnStandardInput(_ what: String) async throws(CredentialError) -> String {
        let text: String
        do {
            text = try await SmallFile.text(comingThrough: dependencies.standardInput)
        } catch {
            throw unreadable("\(what) from standard input", error)
        }
        return try oneLine(text, source: "standard input")
    }

    func secret(inFile path: String, source: String) async throws(CredentialError) -> String {
        let text: String
        do {
            text = try await SmallFile.text(comingThrough: path)
        } catch {
            throw unreadable("\(quoted(path)) (\(source))", error)
        }
        warnIfReadable(path)
        return try oneLine(text, source: quoted(path))
    }

    private func unreadable(_ source: String, _ failure: SmallFile.Failure) -> CredentialError {
        failure == .cancelled
            ? .interrupted
            : .usage("cannot read \(source): \(failure.reason)", hint: failure.hint)
    }

    /// Requires exactly one line, with or without a line ending.
    private func oneLine(_ text: String, source: String) throws(CredentialError) -> String {
        // Editors and `echo` end a file with a line break; `\r\n` is one Character.
        let secret = text.last == "\n" || text.last == "\r\n" ? String(text.dropLast()) : text
        guard !secret.isEmpty else { throw .usage("\(source) is empty") }
        guard !secret.unicodeScalars.contains(where: { $0 == "\n" || $0 == "\r" || $0 == "\0" }) else {
            throw .usage("\(source) has more than one line, or a NUL byte", hint: "store only the secret in it")
        }
        return secret
    }

    private func warnIfReadable(_ path: String) {
        guard SmallFile.isReadableByOthers(path) else { return }
        dependencies.warn(SmallFile.readableWarning(quoted(path)))
    }

    private func quoted(_ path: String) -> String { ErrorCatalog.quoted(path) }
}

/// Photo servers accept API keys, which are issued by an administrator or by a login. Passwords are used only to log
/// in.
extension CredentialSearch {
    /// The API key from flags or environment; nil if there is none. Ignores passwords.
    func givenKey() async throws(CredentialError) -> String? {
        try Credentials.refuseClearText(origin, allowed: server.allowHTTP.value, environment: environment)
        if server.isTarget {
            if flags.apiKeyStdin { return try Self.checked(try await secretOnStandardInput("the API key")) }
            if let path = flags.apiKeyFile {
                return try Self.checked(try await secret(inFile: path, source: "--api-key-file"))
            }
        }
        guard server.takesEnvironment, let key = try await environmentSecret("MEDIACTL_API_KEY") else { return nil }
        return try Self.checked(key)
    }

    /// The API key to log in with, from flags, environment or a prompt. `address` is shown in the prompt.
    func keyToKeep(for address: String) async throws(CredentialError) -> String {
        if let key = try await givenKey() { return key }
        guard let prompt = dependencies.prompt else {
            throw .notAuthenticated(
                "no API key for \(address)",
                hint: "set an issued key with --api-key-stdin, --api-key-file FILE or MEDIACTL_API_KEY"
            )
        }
        let key = try await prompt("API key for \(TerminalText.escaped(address)): ", .hidden)
        return try Self.checked(key.filter { !$0.isWhitespace })
    }

    /// The password for an email address: from flags, `MEDIACTL_PASSWORD` (and `…_FILE`), `password_command` and netrc
    /// if `isConfigured`, otherwise from a prompt that shows `address`.
    func password(
        for email: String,
        at address: String,
        isConfigured: Bool = false
    ) async throws(CredentialError) -> String {
        try Credentials.refuseClearText(origin, allowed: server.allowHTTP.value, environment: environment)
        if server.isTarget {
            if flags.passwordStdin { return try await secretOnStandardInput("the password") }
            if let path = flags.passwordFile { return try await secret(inFile: path, source: "--password-file") }
        }
        if server.takesEnvironment, let password = try await environmentSecret("MEDIACTL_PASSWORD") { return password }
        if isConfigured {
            if let password = try await fromCommand() { return password }
            if let entry = try await netrcEntry(), let password = entry.password { return password }
        }
        guard let prompt = dependencies.prompt else {
            throw .notAuthenticated(
                "no password for \(TerminalText.escaped(email))",
                hint: "use --password-stdin, --password-file FILE or MEDIACTL_PASSWORD"
            )
        }
        return try await prompt(
            "Password for \(TerminalText.escaped(email)) at \(TerminalText.escaped(address)): ",
            .hidden
        )
    }
}

/// The program specified by `password_command`. The first line of its output is the password.
struct PasswordCommand: Sendable {
    /// Program and arguments; no shell is involved.
    var arguments: [String]
    /// `PATH`, used if the program's name does not contain a slash.
    var searchPath: String

    /// Runs the program without standard input; its standard error stays visible. Canceling terminates the program.
    ///
    /// - Throws: `CredentialError` if it cannot be run, fails, or prints nothing.
    func run() async throws(CredentialError) -> String {
        let result: ProgramResult
        do {
            result = try await ProgramRun(arguments, searchPath: searchPath).run()
        } catch {
            throw failure(error.detail)
        }
        if let words = result.failure { throw failure(words) }
        guard let text = String(validating: result.output, as: UTF8.self) else {
            throw failure("printed invalid UTF-8")
        }
        let line = text.prefix { $0 != "\n" && $0 != "\r\n" }
        guard !line.isEmpty else { throw failure("did not print a password") }
        return String(line)
    }

    /// Arguments may be secret, so only the program is shown.
    private func failure(_ what: String) -> CredentialError {
        let name = TerminalText.escaped(arguments.first ?? "")
        return .notAuthenticated("password_command \"\(name)\" \(what)", hint: "run it manually to find the problem")
    }
}
