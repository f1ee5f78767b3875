internal import Foundation
internal import GigHive
internal import MediaCore
internal import MediaTransport

/// The credential flags of the command line. There is no `--password VALUE`: other users can see arguments.
struct CredentialFlags: Sendable, Equatable {
    var passwordStdin = false
    var passwordFile: String?
    var apiKeyFile: String?
    var apiKeyStdin = false

    /// The given flags, as written on the command line.
    var names: [String] {
        let given = [
            ("--password-stdin", passwordStdin), ("--password-file", passwordFile != nil),
            ("--api-key-file", apiKeyFile != nil), ("--api-key-stdin", apiKeyStdin),
        ]
        return given.filter(\.1).map(\.0)
    }
}

/// Dependencies of the search for credentials.
struct CredentialDependencies: Sendable {
    /// Prompts on the terminal; nil if there is no terminal, or with `--no-input`.
    var prompt: (@Sendable (_ question: String, PasswordPrompt.Echo) async throws(CredentialError) -> String)?
    /// Called once before the first login prompt, to avoid prompting for an unreachable server.
    var beforePrompt: @Sendable () async throws -> Void = {}
    /// Whether the server accepts a login entered at a prompt; true if that cannot be determined.
    var isAccepted: @Sendable (Authorization) async -> Bool = { _ in true }
    /// The command to run again for a different server, without `--server`; used in the hint.
    var retryCommand: String?
    /// The descriptor read by `--password-stdin` and `--api-key-stdin`.
    var standardInput: Int32 = 0
    /// Current time, for the expiry of a stored login.
    var now: @Sendable () -> Date = { Date() }
    /// Prints a warning. The text is lowercase and has no final period.
    var warn: @Sendable (String) -> Void = { _ in }
}

enum Credentials {
    /// Refuses to send secrets (`what`) unencrypted, unless the user allows it. `environment` may set a proxy, which is
    /// a different machine even if the server is on this one.
    static func refuseClearText(
        _ origin: Origin,
        allowed: Bool,
        of what: String = "credentials",
        environment: [String: String]
    ) throws(CredentialError) {
        guard origin.scheme == "http", !allowed else { return }
        if origin.isLoopback {
            guard let variable = ProxyChoice.variable(for: origin, in: { environment[$0] }) else { return }
            throw .usage(
                "refusing to send \(what) to \(origin) unencrypted through the proxy set by \(variable)",
                hint: "run: export no_proxy=\"$no_proxy,\(origin.host.filter { !"[]".contains($0) })\""
            )
        }
        throw .usage(
            "refusing to send \(what) to \(origin) unencrypted",
            hint: "use https://, or add --allow-http (allow_http: true in a profile) on a trusted network"
        )
    }
}

/// No usable credentials. Never contains the secret.
struct CredentialError: Error, Sendable {
    var code: OutcomeCode
    /// Lowercase, no final period.
    var message: String
    var hint: String?
    var expired: GigHiveError?

    /// 2 for a usage error, 4 for missing credentials, 130 for an interrupted prompt.
    var exitCode: Int32 { code.exitCode }

    static let interrupted = CredentialError(code: .interrupted, message: "interrupted")

    static func usage(_ message: String, hint: String? = nil) -> CredentialError {
        CredentialError(code: .usage, message: message, hint: hint)
    }

    static func notAuthenticated(_ message: String, hint: String? = nil) -> CredentialError {
        CredentialError(code: .noCredentials, message: message, hint: hint)
    }

    static func loginRequired(_ origin: Origin, hint: String? = nil) -> CredentialError {
        CredentialError(
            code: .loginRequired,
            message: "\(origin) requires a login, not a password; nothing was sent",
            hint: hint ?? loginCommand(origin)
        )
    }

    /// The stored login belongs to a user other than the specified one.
    static func loginOfAnother(_ origin: Origin, email: String, user: String) -> CredentialError {
        CredentialError(
            code: .loginRequired,
            message: "the stored login for \(origin) belongs to \(email), not to \(user); nothing was sent",
            hint: "\(loginCommand(origin)) --user \(ShellWord.quoted(user))"
        )
    }

    static func loginExpired(_ origin: Origin, at time: Int64) -> CredentialError {
        CredentialError(
            code: .loginExpired,
            message: "the login for \(origin) expired on \(RFC3339.text(seconds: time))",
            hint: loginCommand(origin),
            expired: .login(.loginExpired, at: origin, expiredAt: time)
        )
    }

    static func loginCommand(_ origin: Origin) -> String { "mediactl login --server \(ShellWord.quoted("\(origin)"))" }
}
