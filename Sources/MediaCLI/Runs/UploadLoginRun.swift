internal import Foundation
internal import GigHive
internal import MediaCore
internal import MediaFiles
internal import MediaStore
internal import MediaTransport

/// Logs in to an upload server, verifies the login, and stores it (gighive-d4 contract section 12).
struct UploadLoginRun: Sendable {
    let settings: SettingsSession
    let flags: CredentialFlags
    let isDryRun: Bool

    private var console: Console { settings.console }

    /// Whether the login is for an upload server: the user said so, the server is known to require a login, or, before a
    /// prompt, it shows that it has logins.
    ///
    /// - Parameter isNamed: Whether `--user` was given.
    /// - Returns: Whether to log in to an upload server.
    /// - Throws: `SettingsError`, `StoreError`, `TransportError`.
    func isMeant(byUser isNamed: Bool) async throws -> Bool {
        guard !isNamed else { return true }
        guard let server = try? settings.configuredServer else { return false }
        if try settings.logins.entry(for: server.origin) != LoginStore.Entry() { return true }
        let environment = console.context.environment
        let hasKey = ["MEDIACTL_API_KEY", "MEDIACTL_API_KEY_FILE"].contains { environment[$0]?.isEmpty == false }
        guard !hasKey, settings.prompter.isAllowed else { return false }
        // A server that does not respond is reported by the login itself.
        let anonymous = client(for: server, nil, try settings.httpClient(for: .uploadsURL))
        return (try? await anonymous.offersLogin()) ?? false
    }

    /// Logs in. An earlier login stays until the new one is verified.
    ///
    /// - Throws: `CredentialError`, `GigHiveError`, `StoreError`, `SettingsError`, `Diagnosis`.
    func run() async throws -> ExitCode {
        let server = try settings.requireServer()
        let origin = server.origin
        try settings.refuseClearText(origin, .uploadsURL)
        try console.requireOutput()
        let email = try await user(at: origin)
        guard !isDryRun else {
            console.text(["would log in to \(words(server)) as \(ErrorCatalogue.clean(email))"])
            return finish(server, nil)
        }
        let password = try await settings.search(flags, at: origin, of: .uploadsURL) {
            try await $0.password(for: email, at: server.description, isConfigured: true)
        }
        let http = try settings.httpClient(for: .uploadsURL)
        let (issued, isVerified) = try await console.context.interruption.cancelling {
            try await logIn(server, http, email: email, password: password)
        }
        let login = StoredLogin(
            token: issued.token,
            role: issued.role,
            email: issued.email,
            expiresAt: issued.expiresAt
        )
        try settings.logins.update(origin) { entry in
            entry.login = login
            // A server that accepts a login accepts no passwords.
            if isVerified { entry.requiresLogin = true }
        }
        if !isVerified {
            console.warning("the server cannot verify logins; the first command will show whether it works")
        }
        return finish(server, login)
    }

    // MARK: Parts

    private func logIn(
        _ server: ServerURL,
        _ http: HTTPClient,
        email: String,
        password: String
    ) async throws -> (IssuedLogin, isVerified: Bool) {
        let issued: IssuedLogin
        do {
            issued = try await client(for: server, nil, http).logIn(email: email, password: password)
        } catch  where error.code == .loginUnavailable {
            // Otherwise neither a password nor a login could be used.
            try settings.logins.update(server.origin) { $0.requiresLogin = false }
            throw error
        }
        let authorization = Authorization.bearer(issued.token, expiresAt: issued.expiresAt, for: server.origin)
        return (issued, try await client(for: server, authorization, http).verifyLogin())
    }

    private func client(for server: ServerURL, _ authorization: Authorization?, _ http: HTTPClient) -> GigHiveClient {
        GigHiveClient(server: server, http: http, authorization: authorization, timeouts: settings.timeouts)
    }

    /// `--user`, `MEDIACTL_USER`, profile, settings file or netrc; otherwise a prompt.
    private func user(at origin: Origin) async throws -> String {
        try await settings.search(flags, at: origin, of: .uploadsURL) { search in
            if let user = search.server.user?.value { return user }
            if let user = try await search.netrcEntry()?.login { return user }
            guard let prompt = search.surroundings.prompt, !search.flags.noInput else {
                throw CredentialError.usage("no user for \(origin)", hint: "set --user ADDRESS")
            }
            let user = try await prompt("E-mail address for \(origin): ", .shown)
            guard !user.isEmpty else {
                throw CredentialError.usage("no user for \(origin)", hint: "set --user ADDRESS")
            }
            return user
        }
    }

    private func words(_ server: ServerURL) -> String { ErrorCatalogue.clean(server.description) }

    private func finish(_ server: ServerURL, _ login: StoredLogin?) -> ExitCode {
        let code = console.exitCode(.success)
        if let login {
            let role = login.role.map { " (\(ErrorCatalogue.clean($0)))" } ?? ""
            let expiry = login.expiresAt.map { "; the login expires on \(RFC3339.text(seconds: $0))" } ?? ""
            console.text([
                "\(console.outputStyle.green("logged in")) to \(words(server)) as "
                    + "\(ErrorCatalogue.clean(login.email ?? ""))\(role)\(expiry)"
            ])
        }
        console.summary([
            "server": .string(server.description), "dry_run": .bool(isDryRun), "logged_in": .bool(login != nil),
            "device_id": .null, "device_name": .null, "email": JSONValue(login?.email), "key_rotated": false,
            "scheme": "bearer", "role": JSONValue(login?.role),
            "expires_at": JSONValue(login?.expiresAt.map { RFC3339.text(seconds: $0) }),
            "exit_code": JSONRenderer.exitCode(code),
        ])
        return code
    }
}
