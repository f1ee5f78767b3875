internal import MediaFiles
internal import MediaTransport

/// One walk through the sources of credentials, strongest first.
struct CredentialSearch: Sendable {
    var flags: CredentialFlags
    var settings: Settings
    var environment: [String: String]
    var origin: Origin
    var surroundings: CredentialSurroundings

    private enum Secret {
        case password(String)
        case apiKey(String)
    }

    func run() async throws(CredentialError) -> Authorization {
        if let secret = try fromFlags() { return try authorization(secret) }
        if let secret = try fromEnvironment() { return try authorization(secret) }
        if let password = try await fromCommand() { return try authorization(.password(password)) }
        if let entry = try netrcEntry(), let password = entry.password {
            return try authorization(.password(password))
        }
        return try await fromPrompt()
    }

    // MARK: Sources

    private func fromFlags() throws(CredentialError) -> Secret? {
        let given = [flags.passwordStdin, flags.passwordFile != nil, flags.apiKeyFile != nil].count { $0 }
        guard given < 2 else {
            throw .usage("only one of --password-stdin, --password-file and --api-key-file can be used")
        }
        if flags.passwordStdin { return .password(try secretOnStandardInput()) }
        if let path = flags.passwordFile { return .password(try secret(inFile: path, source: "--password-file")) }
        if let path = flags.apiKeyFile { return .apiKey(try secret(inFile: path, source: "--api-key-file")) }
        return nil
    }

    private func fromEnvironment() throws(CredentialError) -> Secret? {
        if let value = variable("MEDIACTL_PASSWORD") { return .password(value) }
        if let path = variable("MEDIACTL_PASSWORD_FILE") {
            return .password(try secret(inFile: path, source: "MEDIACTL_PASSWORD_FILE"))
        }
        if let value = variable("MEDIACTL_API_KEY") { return .apiKey(value) }
        if let path = variable("MEDIACTL_API_KEY_FILE") {
            return .apiKey(try secret(inFile: path, source: "MEDIACTL_API_KEY_FILE"))
        }
        return nil
    }

    private func fromCommand() async throws(CredentialError) -> String? {
        guard let command = settings.passwordCommand(for: origin) else { return nil }
        return try await PasswordCommand(arguments: command.value, searchPath: environment["PATH"] ?? "").run()
    }

    private func netrcEntry() throws(CredentialError) -> Netrc.Entry? {
        guard let path = variable("NETRC") ?? variable("HOME").map({ $0 + "/.netrc" }) else { return nil }
        let text: String
        do {
            text = try SmallFile.text(atPath: path)
        } catch {
            if error == .missing { return nil }
            throw .usage("cannot read \(quoted(path)): \(error.reason)")
        }
        do {
            let entry = try Netrc(text).entry(host: origin.host, user: settings.user?.value)
            if entry != nil { warnIfReadable(path) }
            return entry
        } catch {
            throw .usage("\(TerminalText.escaped(path)):\(error.line): a quote is not closed")
        }
    }

    private func fromPrompt() async throws(CredentialError) -> Authorization {
        guard let prompt = surroundings.prompt, !flags.noInput else {
            throw .notAuthenticated(
                "no password for \(origin)",
                hint: "use --password-stdin, --password-file, MEDIACTL_PASSWORD, password_command or netrc, with --user"
            )
        }
        let user = try userName()
        let password = try await prompt("Password for \(TerminalText.escaped(user)) at \(origin): ")
        return try authorization(.password(password))
    }

    // MARK: Result

    private func authorization(_ secret: Secret) throws(CredentialError) -> Authorization {
        switch secret {
        case .password(let password):
            return .basic(user: try userName(), password: password, for: origin)
        case .apiKey(let key):
            guard key.unicodeScalars.allSatisfy({ $0.isASCII && $0.value > 0x20 && $0.value != 0x7F }) else {
                throw .usage("the API key holds characters that no header field can carry")
            }
            return .apiKey(key, for: origin)
        }
    }

    /// `--user`, `MEDIACTL_USER`, profile or settings file; else the login of netrc.
    private func userName() throws(CredentialError) -> String {
        var user = settings.user?.value
        if user == nil { user = try netrcEntry()?.login }
        guard let user else {
            throw .usage("no user name for \(origin)", hint: "name it with --user")
        }
        // RFC 7617 section 2: the first colon ends the name.
        guard !user.contains(":") else { throw .usage("a user name cannot hold a colon") }
        return user
    }

    // MARK: Small parts

    private func variable(_ name: String) -> String? {
        environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    private func secretOnStandardInput() throws(CredentialError) -> String {
        let text: String
        do {
            text = try SmallFile.text(from: surroundings.standardInput)
        } catch {
            throw .usage("cannot read the password from standard input: \(error.reason)")
        }
        return try notEmpty(withoutLineEnd(text), source: "standard input")
    }

    private func secret(inFile path: String, source: String) throws(CredentialError) -> String {
        let text: String
        do {
            text = try SmallFile.text(atPath: path)
        } catch {
            throw .usage("cannot read \(quoted(path)) (\(source)): \(error.reason)")
        }
        warnIfReadable(path)
        return try notEmpty(withoutLineEnd(text), source: quoted(path))
    }

    private func notEmpty(_ secret: String, source: String) throws(CredentialError) -> String {
        guard !secret.isEmpty else { throw .usage("there is nothing in \(source)") }
        return secret
    }

    private func warnIfReadable(_ path: String) {
        guard SmallFile.isReadableByOthers(path) else { return }
        surroundings.warn("\(quoted(path)) holds a secret and can be read by other users; run chmod 600 on it")
    }

    private func quoted(_ path: String) -> String { "\"\(TerminalText.escaped(path))\"" }

    /// Editors and `echo` end a file with a line break; a password may end with another.
    private func withoutLineEnd(_ text: String) -> String {
        // `\r\n` is one Character.
        text.last == "\n" || text.last == "\r\n" ? String(text.dropLast()) : text
    }
}
