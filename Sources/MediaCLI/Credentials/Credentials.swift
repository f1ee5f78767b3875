internal import Foundation
internal import MediaTransport

/// What the command line says about credentials. There is no `--password VALUE`: arguments are public.
struct CredentialFlags: Sendable, Equatable {
    var passwordStdin = false
    var passwordFile: String?
    var apiKeyFile: String?
    var apiKeyStdin = false
    /// `--no-input`: never ask.
    var noInput = false

    /// Whether any flag specifies a password or key.
    var hasSecret: Bool { passwordStdin || passwordFile != nil || apiKeyFile != nil || apiKeyStdin }
}

/// What credentials may be asked of.
struct CredentialSurroundings: Sendable {
    /// Prompts on the terminal; nil if standard input is not a terminal.
    var prompt: (@Sendable (_ question: String, PasswordPrompt.Echo) async throws(CredentialError) -> String)?
    /// Called once before the first login prompt, so that there is no prompt for an unreachable server.
    var beforePrompt: @Sendable () async throws -> Void = {}
    /// Whether the server accepts a login entered at a prompt; true if that cannot be determined.
    var isAccepted: @Sendable (Authorization) async -> Bool = { _ in true }
    /// The command to run again for a server from the store, without its `--server`; for the hint.
    var retryCommand: String?
    /// Where `--password-stdin` and `--api-key-stdin` read.
    var standardInput: Int32 = 0
    /// The wall clock, for the expiry of a stored login.
    var now: @Sendable () -> Date = { Date() }
    /// Told once for each thing that is unwise but allowed. Lower case, no full stop.
    var warn: @Sendable (String) -> Void = { _ in }
}

/// Where credentials may go.
enum Credentials {
    /// Refuses to let a secret travel where others can read it.
    ///
    /// - Parameters:
    ///   - origin: Where it would go.
    ///   - allowed: Whether the user allows it.
    ///   - what: What would go.
    ///   - environment: May set a proxy, which is another machine even for a server on this one.
    /// - Throws: `CredentialError` (usage).
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
