internal import Foundation
internal import MediaCrypto
internal import MediaFiles
internal import MediaTransport
internal import Synchronization

/// Determines how each server is verified: by the settings for its origin, otherwise by its pin in `known_servers`,
/// otherwise by the system's CAs. On a terminal, it offers to trust a server at first contact.
final class ServerTrustKeeper: Sendable {
    private struct State {
        var known: KnownServers?
        /// Servers specified by this command in addition to the configured one.
        var named: Set<Origin> = []
        var decided: [Origin: ServerTrust] = [:]
        /// Servers that the user declined to trust, for which the prompt is not repeated.
        var refused: Set<Origin> = []
    }

    private let console: Console
    private let settings: Settings
    /// Path of `known_servers`.
    private let path: String
    private let prompter: Prompter
    private let connectTimeout: Duration
    private let state = Mutex(State())
    private let insecurityWarning = Once()
    /// One prompt at a time: parallel requests to one server count as a single first contact.
    private let questions = Turnstile()

    init(console: Console, settings: Settings, path: String, prompter: Prompter) {
        self.console = console
        self.settings = settings
        self.path = path
        self.prompter = prompter
        connectTimeout = settings.connectTimeout.value
    }

    /// Reads `known_servers` once.
    ///
    /// - Throws: `SettingsError` for a malformed line.
    func load() throws(SettingsError) {
        guard state.withLock({ $0.known == nil }) else { return }
        let known = try KnownServers.read(path)
        state.withLock { $0.known = known }
    }

    /// Adds a server specified by this command in addition to the configured one: flags then apply to it as well.
    func name(_ origin: Origin) {
        state.withLock {
            $0.named.insert(origin)
            $0.decided[origin] = nil
        }
    }

    func server(_ origin: Origin, of service: SettingKey) throws(SettingsError) -> ServerSettings {
        try settings.server(origin, of: service, named: state.withLock { $0.named })
    }

    // MARK: Checks

    func trust(for origin: Origin, of service: SettingKey) -> ServerTrust {
        guard origin.scheme == "https" else { return ServerTrust() }
        let (own, pin) = state.withLock { ($0.decided[origin], $0.known?.pins[origin]) }
        // The settings have already been validated; if profiles conflict, the strictest verification applies.
        var trust = own ?? (try? server(origin, of: service))?.trust ?? ServerTrust()
        state.withLock { $0.decided[origin] = trust }
        if trust == ServerTrust() { trust.pinnedKey = pin }
        if trust.insecure, trust.pinnedKey == nil { warnOnce(origin) }
        return trust
    }

    /// Whether the first request to a server may cause a prompt about its certificate.
    func mayPrompt(about origin: Origin, of service: SettingKey) -> Bool {
        prompter.isAllowed && origin.scheme == "https" && trust(for: origin, of: service) == ServerTrust()
    }

    private func warnOnce(_ origin: Origin) {
        guard insecurityWarning.begin() else { return }
        console.warning(
            "the certificate of \(ErrorCatalog.clean("\(origin)")) is not verified (--insecure): others on the network can "
                + "read and change what is sent"
        )
    }

    /// The decision after a certificate was rejected: a retry if the user has just trusted the server.
    func decide(_ origin: Origin, _ error: TransportError, of service: SettingKey) async -> TrustDecision {
        let explicit = (try? server(origin, of: service))?.trust ?? ServerTrust()
        guard explicit == ServerTrust() else { return .refuse(error) }
        if error.kind == .pinnedKeyMismatch { return .refuse(await changed(origin, error)) }
        guard prompter.isAllowed, !state.withLock({ $0.refused.contains(origin) }) else { return .refuse(error) }
        return await questions.alone { await prompt(origin, error) }
    }

    /// The error for a key that no longer matches the stored pin.
    private func changed(_ origin: Origin, _ error: TransportError) async -> TransportError {
        guard let stored = state.withLock({ $0.known?.pins[origin] }) else { return error }
        var error = error
        let found = try? await HTTPClient.peerCertificate(of: origin, limit: connectTimeout)
        let pin = found.flatMap { try? PublicKeyPin.ofCertificate(pem: $0.pem) } ?? "unknown"
        error.detail =
            "known_servers has \(stored), but the server now has \(pin); to accept the new key, remove the line "
            + "for \(origin) from \(path)"
        return error
    }

    // MARK: First contact

    private func prompt(_ origin: Origin, _ error: TransportError) async -> TrustDecision {
        // Another request may have prompted in the meantime.
        let (isKnown, isRefused) = state.withLock { ($0.known?.pins[origin] != nil, $0.refused.contains(origin)) }
        if isKnown { return .retry }
        if isRefused { return .refuse(error) }
        guard let certificate = try? await HTTPClient.peerCertificate(of: origin, limit: connectTimeout),
            let pin = try? PublicKeyPin.ofCertificate(pem: certificate.pem),
            let fingerprint = try? PublicKeyPin.fingerprint(ofCertificate: certificate.pem)
        else { return .refuse(error) }
        let reason = ErrorCatalog.userFacingError(ofMissingResponse: error, isRetryable: false).message
        console.announce([
            "mediactl: \(ErrorCatalog.clean("\(origin)")): \(reason)",
            "  subject:      \(ErrorCatalog.clean(certificate.subject))",
            "  issuer:       \(ErrorCatalog.clean(certificate.issuer))",
            "  valid:        \(ErrorCatalog.clean(certificate.starts)) to \(ErrorCatalog.clean(certificate.expires))",
            "  fingerprint:  \(fingerprint) (SHA-256)",
            "  pin:          \(pin)",
            "Compare the fingerprint or the pin with the one from the server's operator.",
        ])
        let isTrusted = await console.context.interruption.prompting { await prompter.confirm("Trust this server?") }
        guard isTrusted else {
            state.withLock { _ = $0.refused.insert(origin) }
            return .refuse(error)
        }
        do {
            let known = try KnownServers.add(origin, pin, to: path)
            state.withLock { $0.known = known }
            console.note("stored the pin of \(ErrorCatalog.clean("\(origin)")) in \(ErrorCatalog.quoted(path))")
            return .retry
        } catch let failure {
            console.error(ErrorCatalog.userFacingError(of: failure))
            return .refuse(error)
        }
    }
}

/// Admits one task at a time.
private actor Turnstile {
    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func alone<Value: Sendable>(_ body: @Sendable () async -> Value) async -> Value {
        if isTaken {
            await withCheckedContinuation { waiting.append($0) }
        }
        isTaken = true
        let value = await body()
        if waiting.isEmpty { isTaken = false } else { waiting.removeFirst().resume() }
        return value
    }
}

/// Servers that the user trusted at first contact: the file `known_servers` next to the settings file.
///
/// Each line has an origin and the pin of its key: `https://media.example.org sha256//BASE64`. Empty lines and lines
/// that start with `#` are ignored.
struct KnownServers: Sendable, Equatable {
    static let fileName = "known_servers"

    private(set) var pins: [Origin: String] = [:]

    init() {}

    /// `path` is used in errors.
    ///
    /// - Throws: `SettingsError` for the first line that is not an origin and its pin, or that repeats an origin.
    init(text: String, path: String) throws(SettingsError) {
        // `\r\n` is one Character, so lines are split as scalars.
        let lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            let words = String(line).split(whereSeparator: \.isWhitespace)
            guard let first = words.first, !first.hasPrefix("#") else { continue }
            func refusal(_ rule: String) -> SettingsError { SettingsError(file: path, line: index + 1, rule: rule) }
            guard words.count == 2, first.hasPrefix("https://"), let origin = try? ServerURL(String(first)).origin,
                !words[1].contains(";"), let pin = try? SettingValue.pin(String(words[1]))
            else { throw refusal("must be an origin and its pin: https://HOST[:PORT] sha256//BASE64") }
            guard pins[origin] == nil else { throw refusal("repeats the origin \(origin)") }
            pins[origin] = pin
        }
    }

    /// Returns an empty value for a missing file.
    static func read(_ path: String) throws(SettingsError) -> KnownServers {
        try KnownServers(text: try content(path), path: path)
    }

    /// Stores the pin of a new origin and returns all known servers, including those added by other processes. The file
    /// is readable only by its owner and is replaced atomically.
    ///
    /// - Throws: `SettingsError` if the file cannot be read or written.
    static func add(_ origin: Origin, _ pin: String, to path: String) throws(SettingsError) -> KnownServers {
        let slash = path.lastIndex(of: "/")
        let parent = slash.map { path[..<$0].isEmpty ? "/" : String(path[..<$0]) } ?? "."
        let name = slash.map { String(path[path.index(after: $0)...]) } ?? path
        do {
            guard let directory = try TargetDirectory.open(Array(parent.utf8), creating: true) else {
                throw SettingsError(file: path, rule: "cannot be written: no such directory")
            }
            var known = KnownServers()
            _ = try PartialFile.replace(name, in: directory) {
                let text = try content(path)
                known = try KnownServers(text: text, path: path)
                guard known.pins[origin] == nil else { return nil }
                known.pins[origin] = pin
                return "\(text)\(text.isEmpty || text.hasSuffix("\n") ? "" : "\n")\(origin) \(pin)\n"
            }
            return known
        } catch let error as SettingsError {
            throw error
        } catch {
            let reason = (error as? FileWriteError)?.detail ?? "\(error)"
            throw SettingsError(file: path, rule: "cannot be written: \(reason)")
        }
    }

    private static func content(_ path: String) throws(SettingsError) -> String {
        do {
            return try SmallFile.trustedText(atPath: path)
        } catch {
            guard error == .missing else { throw SettingsError(refusing: path, error) }
            return ""
        }
    }
}
