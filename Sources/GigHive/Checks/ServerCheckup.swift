internal import MediaCore
internal import MediaCrypto
internal import MediaTransport
internal import Outcomes
internal import Tus

/// Checks a server without changing anything: DNS, TLS, kind, health, login, role, tus, limits, clock.
///
/// The checks after `kind` apply only to a GigHive server. Only GET, HEAD and OPTIONS are sent, and, to a server
/// without pages below `/admin/`, one POST without IDs, which shows the role and deletes nothing. The query string of
/// the health request contains the time, because the server's own cache may be a day old (trap T18).
public struct ServerCheckup: Sendable {
    /// The names of all checks, in order.
    public static let names = ["name", "tls", "kind", "health", "login", "role", "tus", "limits", "clock"]

    /// A larger clock difference causes a warning, because dates of events and of certificates would be wrong.
    private static let tolerance: Int64 = 60

    let client: GigHiveClient
    /// Why the stored login cannot be used; nil if it can, or if there is none.
    let missingLogin: GigHiveError?
    private let maximumBytes: Int64
    private let sizeText: @Sendable (Int64) -> String

    /// Creates a checkup. Without a login in `client`, `login`, `role` and `tus` are skipped; with `missingLogin`,
    /// `login` fails with it. `maximumBytes` is the largest upload that the settings allow; `sizeText` formats a number
    /// of bytes.
    public init(
        client: GigHiveClient,
        missingLogin: GigHiveError? = nil,
        maximumBytes: Int64,
        sizeText: @escaping @Sendable (Int64) -> String = { "\($0) bytes" }
    ) {
        self.client = client
        self.missingLogin = missingLogin
        self.maximumBytes = maximumBytes
        self.sizeText = sizeText
    }

    /// Runs all checks, in the order of `names`. If the task is canceled, the current request fails, and the remaining
    /// checks have no result. `onCheck` is called after each check.
    public func run(onCheck: @escaping @Sendable (ServerCheck) -> Void = { _ in }) async -> [ServerCheck] {
        var list = CheckList(endsWhenCanceled: true, onCheck: onCheck)
        let isReachable = await list.run("name") { () throws(GigHiveError) in try await name() }
        await checkTLS(&list, isReachable: isReachable)
        guard isReachable else { return list.skippingRest(of: Self.names, "not checked: server unreachable") }
        if let error = list.checks.last?.error, error.isCertificateRefused {
            let reason = error.code == .tlsFailed ? "no secure connection" : "certificate not trusted"
            return list.skippingRest(of: Self.names, "not checked: \(reason)")
        }
        let isKnown = await list.run("kind") { () throws(GigHiveError) in try await kind() }
        guard list.checks.last?.error?.httpStatus != 503 else {
            return list.skippingRest(of: Self.names, "not checked: server unavailable (503)")
        }
        guard isKnown || list.hasResponse else {
            return list.skippingRest(of: Self.names, "not checked: server unreachable")
        }
        guard isKnown, let kind = list.checks.last?.facts["kind"], kind == OutcomeTable.Server.gigHive.kind else {
            let hasWrongPath = list.checks.last?.error?.code == .invalidServer
            return list.skippingRest(
                of: Self.names,
                "not checked: \(hasWrongPath ? "the address has a path" : "not a GigHive server")"
            )
        }
        await list.run("health") { () throws(GigHiveError) in try await health() }
        guard list.hasResponse else { return list.skippingRest(of: Self.names, "not checked: server unreachable") }
        await checkLogin(&list)
        let tusMaximum = list.checks.first { $0.name == "tus" }?.facts["max_size"].flatMap { Int64($0) }
        await list.run("limits") { () throws(GigHiveError) in limits(tusMaximum: tusMaximum) }
        await list.run("clock") { () throws(GigHiveError) in try await clock() }
        return list.checks
    }

    // MARK: Name and TLS

    private func name() async throws(GigHiveError) -> ServerCheck {
        let origin = client.server.origin
        do {
            let addresses = try await NameLookup.addresses(host: origin.host, port: origin.port)
            return ServerCheck(
                .passed,
                "resolves to \(addresses.joined(separator: ", "))",
                facts: ["addresses": addresses.joined(separator: " ")]
            )
        } catch {
            throw .transport(error)
        }
    }

    private func checkTLS(_ list: inout CheckList, isReachable: Bool) async {
        guard client.server.origin.scheme == "https" else {
            list.skip("tls", "plain http: credentials and tokens are sent unencrypted")
            return
        }
        guard isReachable else {
            list.skip("tls", "not checked: host name not resolved")
            return
        }
        await list.run("tls") { () throws(GigHiveError) in try await tls() }
    }

    /// Reports the certificate and its pin, trusted or not: with a self-signed certificate, the user needs the pin
    /// next.
    private func tls() async throws(GigHiveError) -> ServerCheck {
        let certificate: PeerCertificate
        do {
            certificate = try await HTTPClient.peerCertificate(of: client.server.origin, limit: client.timeouts.connect)
        } catch {
            throw .transport(error)
        }
        var facts = ["subject": certificate.subject, "issuer": certificate.issuer]
        facts["expires"] = certificate.expires
        if let pin = try? PublicKeyPin.ofCertificate(pem: certificate.pem) {
            facts["pinned_key"] = pin
        }
        let subject = "\(certificate.subject), valid until \(certificate.expires)"
        let trust = client.http.configuration.trust(for: client.server.origin)
        guard !trust.insecure || trust.pinnedKey != nil else {
            return ServerCheck(.warned, "not verified (--insecure): \(subject)", facts: facts)
        }
        do {
            _ = try await client.send(client.healthRequest)
        } catch  where error.isCertificateRefused {
            return ServerCheck(.failed, "not trusted: \(subject)", facts: facts, error: error)
        } catch  where error.code == .cancelled {
            throw error
        } catch {
            // The next check handles the response.
        }
        return ServerCheck(.passed, subject, facts: facts)
    }

    // MARK: Kind

    /// The kind of the server, determined from the pages of each kind of server. Requesting these pages does not
    /// require a login and changes nothing. A server that fails to respond properly is treated as a GigHive server.
    private func kind() async throws(GigHiveError) -> ServerCheck {
        let health = try await client.send(client.healthRequest)
        for server in OutcomeTable.servers {
            for page in server.pages {
                var response = health
                if page.path != GigHiveClient.healthPath {
                    guard health.status < 500 else { continue }
                    response = try await client.send(client.request(.get, page.path, isAuthorized: false))
                }
                guard page.isIdentified(by: response.body) else { continue }
                guard server.kind != OutcomeTable.Server.gigHive.kind || client.server.basePath.isEmpty else {
                    throw GigHiveError(
                        .invalidServer,
                        detail: "the address of a GigHive server has no path; use \(client.server.origin)",
                        httpStatus: response.status
                    )
                }
                return ServerCheck(.passed, "\(server) server", facts: ["kind": server.kind])
            }
        }
        guard health.status < 500 else {
            // The web server responds in place of an application that is not running (trap T24).
            guard health.status != 503 else {
                throw GigHiveError(.serverError, detail: "server unavailable", httpStatus: 503, isRetryable: true)
            }
            return ServerCheck(
                .warned,
                "unknown (status \(health.status)); checked as a GigHive server",
                facts: ["kind": OutcomeTable.Server.gigHive.kind]
            )
        }
        let content = ResponseText.content(of: health.body)
        guard !(300..<400).contains(health.status), !HTTPSPort.isRefusal(content.text) else {
            throw .ofResponse(health.head, content)
        }
        let names = OutcomeTable.servers.filter { !$0.pages.isEmpty }.map(\.description)
        throw GigHiveError(
            .unexpectedResponse,
            detail: "not a \(names.dropLast().joined(separator: ", ")) or \(names.last ?? "") server",
            httpStatus: health.status
        )
    }

    // MARK: Application

    private func health() async throws(GigHiveError) -> ServerCheck {
        let (isHealthy, message) = try await client.health()
        return ServerCheck(isHealthy ? .passed : .failed, KnownSecrets.masked(message))
    }

    /// Login, and the checks that require one: role and tus.
    private func checkLogin(_ list: inout CheckList) async {
        guard client.authorization != nil || missingLogin != nil else {
            // If this query fails, the check `clock` reports it.
            let required = try? await client.requiredCredentials()
            let reason = "not checked: no credentials"
            list.skip(
                "login",
                required.map { "\(reason); the server requires \($0.words)" } ?? reason,
                facts: required.map { ["required_scheme": $0.schemeName] } ?? [:]
            )
            list.skip("role", "not checked: no credentials")
            list.skip("tus", "not checked: requires a login")
            return
        }
        guard await list.run("login", { await login() }) else {
            list.skip("role", "not checked: login failed")
            list.skip("tus", "not checked: login failed")
            return
        }
        await list.run("role") { () throws(GigHiveError) in try await role() }
        await list.run("tus") { () throws(GigHiveError) in try await tus() }
    }

    /// The permissions of this user. A missing asset is "not found" only for users who can upload; a page of `/admin/`
    /// is refused to everyone but the administrator (gighive contract section 1).
    private func role() async throws(GigHiveError) -> ServerCheck {
        do {
            _ = try await client.asset(Int64.max)
        } catch  where error.code == .unauthorized || error.code == .forbidden {
            return ServerCheck(
                .failed,
                // Viewers and guests may read the same pages.
                "viewer or guest: can list and download, but not upload or delete",
                facts: ["role": "viewer"],
                error: error
            )
        }
        let uploader = "can upload, and delete files with their tokens"
        let (detail, role) =
            switch try await isAdmin() {
            case true?: ("admin: can upload, and delete any file", "admin")
            case false?: ("uploader: \(uploader)", "uploader")
            case nil: ("uploader or admin: \(uploader); the server does not report which", "uploader")
            }
        return ServerCheck(.passed, detail, facts: ["role": role])
    }

    /// Whether this user is the administrator; nil if the server does not show it.
    private func isAdmin() async throws(GigHiveError) -> Bool? {
        let path = "/admin/mediactl-doctor"
        let refusals = [401, 403]
        let anonymous = try await client.send(client.request(.head, path, isAuthorized: false))
        // The oldest servers have no such pages.
        guard refusals.contains(anonymous.status) else { return try await client.isAdmin() }
        let own = try await client.send(client.request(.head, path))
        return !refusals.contains(own.status) && own.status < 500
    }

    private func tus() async throws(GigHiveError) -> ServerCheck {
        do {
            let features = try await client.tus(client.timeouts).features()
            let names = features.extensions.map(\.rawValue).sorted()
            var facts = [
                "extensions": names.joined(separator: " "), "versions": features.versions.joined(separator: " "),
            ]
            facts["max_size"] = features.maximumBytes.map(String.init)
            if features.countsChunks {
                facts["dialect"] = "d4"
                return ServerCheck(.passed, Self.chunkLimits(features), facts: facts)
            }
            return ServerCheck(
                .passed,
                "tus \(features.versions.joined(separator: ", ")): \(names.joined(separator: ", "))",
                facts: facts
            )
        } catch let error where error.kind == .unsupported {
            return ServerCheck(.warned, "not supported: uploads cannot be resumed, and are limited to 1 GiB")
        } catch let error where error.status == 401 || error.status == 403 {
            return ServerCheck(.skipped, "not checked: this user cannot upload")
        } catch let error where error.kind == .cancelled {
            throw .tus(error)
        } catch {
            throw GigHiveError(
                .unexpectedResponse,
                detail: error.detail,
                httpStatus: error.status,
                underlying: error.transport
            )
        }
    }

    /// The properties of tus on a server that counts chunks (gighive-d4 contract sections 3, 4.5 and 4.6).
    private static func chunkLimits(_ features: TusFeatures) -> String {
        "tus \(features.versions.joined(separator: ", ")) in PHP (dialect d4): no delete tokens over tus; at most five "
            + "unfinished uploads for all users, each for up to 24 hours; participants, keywords, location, rating and notes are ignored"
    }

    /// The limits of the contract and the settings; the server reports only its tus limit.
    private func limits(tusMaximum: Int64?) -> ServerCheck {
        let maximum = min(maximumBytes, tusMaximum ?? .max)
        return ServerCheck(
            .passed,
            "\(sizeText(maximum)) per file; \(sizeText(Uploader.directBodyLimit)) per multipart request",
            facts: ["max_bytes": String(maximum), "max_multipart_bytes": String(Uploader.directBodyLimit)]
        )
    }

    // MARK: Clock

    private func clock() async throws(GigHiveError) -> ServerCheck {
        let response = try await client.send(client.request(.get, "/db/health.php", isAuthorized: false))
        guard let theirs = response.head.value(of: "Date").flatMap(HTTPDate.parse) else {
            return ServerCheck(.skipped, "not checked: the server sends no Date header")
        }
        let ahead = theirs - client.unixTime
        let facts = ["ahead_seconds": String(ahead)]
        guard abs(ahead) > Self.tolerance else {
            return ServerCheck(.passed, "in sync", facts: facts)
        }
        let direction = ahead > 0 ? "ahead of" : "behind"
        return ServerCheck(.warned, "\(abs(ahead)) seconds \(direction) this machine's", facts: facts)
    }
}

extension GigHiveError {
    fileprivate var isCertificateRefused: Bool {
        [.certificateUntrusted, .certificateNameMismatch, .pinnedKeyMismatch, .tlsFailed].contains(self.code)
    }
}

/// The credentials that a server requires, as far as its responses reveal them (gighive-d4 contract sections 2 and 12).
extension LoginChallenge {
    fileprivate var words: String {
        switch self {
        case .password: "a user name and password (Basic)"
        case .login: "a login (Bearer)"
        }
    }

    /// The same name as `Authorization.schemeName`.
    fileprivate var schemeName: String {
        switch self {
        case .password: "basic"
        case .login: "bearer"
        }
    }
}

extension ServerCheckup {
    /// Any valid user may read the listing (gighive contract section 7). Secrets are never part of the check.
    func login() async -> ServerCheck {
        var facts: [String: String] = [:]
        facts["configured_scheme"] = client.authorization?.schemeName
        let expiry = client.authorization?.expiresAt ?? missingLogin?.expiredAt
        facts["login_expires_at"] = expiry.map(RFC3339.text(seconds:))
        if let missingLogin {
            facts["configured_scheme"] = "bearer"
            facts["required_scheme"] = (try? await client.requiredCredentials())?.schemeName
            return ServerCheck(.failed, "\(missingLogin)", facts: facts, error: missingLogin)
        }
        do throws(GigHiveError) {
            let listing = try await client.listing()
            // A file has an entry for each of its events.
            let total = listing.total.map { $0 == 1 ? "1 entry" : "\($0) entries" } ?? "a listing"
            // The accepted scheme is the required one.
            let scheme = client.authorization?.schemeName
            facts["required_scheme"] = scheme == "basic" || scheme == "bearer" ? scheme : nil
            return ServerCheck(.passed, "accepted\(configured); the server lists \(total)", facts: facts)
        } catch {
            if error.httpStatus == 401 {
                let schemes: [OutcomeCode: String] = [.loginRequired: "bearer", .unauthorized: "basic"]
                facts["required_scheme"] = schemes[error.code]
            }
            return ServerCheck(.failed, "\(error)", facts: facts, error: error)
        }
    }

    /// The scheme of the credentials, such as ` (Basic)`, with the expiry of a login.
    private var configured: String {
        guard let authorization = client.authorization else { return "" }
        return switch authorization.schemeName {
        case "basic": " (Basic)"
        case "bearer": " (Bearer\(authorization.expiresAt.map { ", until \(RFC3339.text(seconds: $0))" } ?? ""))"
        default: " (API key)"
        }
    }
}

/// One check and its result.
public struct ServerCheck: Sendable, Equatable {
    /// The result.
    public enum Status: String, Sendable, CaseIterable {
        /// As expected.
        case passed
        /// Passed, with a warning for the user.
        case warned
        /// Not as expected.
        case failed
        /// Not checked, because something that the check requires failed or is missing.
        case skipped
    }

    /// Stable name, snake_case.
    public var name: String
    public var status: Status
    /// The finding, as text. May contain text from the server; escape before printing.
    public var detail: String
    /// Facts for scripts.
    public var facts: [String: String]
    public var error: GigHiveError?
    public var duration = Duration.zero

    /// `CheckList.run` sets the name.
    package init(
        named name: String = "",
        _ status: Status,
        _ detail: String,
        facts: [String: String] = [:],
        error: GigHiveError? = nil
    ) {
        self.name = name
        self.status = status
        self.detail = detail
        self.facts = facts
        self.error = error
    }

    /// Equal if the results are equal; the error and the duration are ignored.
    public static func == (one: ServerCheck, other: ServerCheck) -> Bool {
        one.name == other.name && one.status == other.status && one.detail == other.detail && one.facts == other.facts
    }
}

/// Runs checks in order and collects their results. With `endsWhenCanceled`, checks that would begin after the task was
/// canceled have no result.
struct CheckList: Sendable {
    private(set) var checks: [ServerCheck] = []
    private let endsWhenCanceled: Bool
    private let onCheck: @Sendable (ServerCheck) -> Void

    init(endsWhenCanceled: Bool = false, onCheck: @escaping @Sendable (ServerCheck) -> Void) {
        self.endsWhenCanceled = endsWhenCanceled
        self.onCheck = onCheck
    }

    private var hasEnded: Bool { endsWhenCanceled && Task.isCancelled }

    /// Skips the checks in `names` that have no result yet.
    func skippingRest(of names: [String], _ reason: String) -> [ServerCheck] {
        var list = self
        for name in names where !checks.contains(where: { $0.name == name }) {
            list.skip(name, reason)
        }
        return list.checks
    }

    var isGood: Bool { !checks.contains { $0.status == .failed } }

    /// Whether the last check got a response, even an error: the server is reachable.
    var hasResponse: Bool { checks.last?.error == nil || checks.last?.error?.httpStatus != nil }

    /// Runs one check; an error that it throws counts as a failure. Returns false if it failed or was not run.
    @discardableResult
    mutating func run(_ name: String, _ probe: () async throws(GigHiveError) -> ServerCheck) async -> Bool {
        guard !hasEnded else { return false }
        let began = ContinuousClock.now
        var check: ServerCheck
        do {
            check = try await probe()
        } catch {
            check = ServerCheck(.failed, "\(error)", error: error)
        }
        check.name = name
        check.duration = .now - began
        checks.append(check)
        onCheck(check)
        return check.status != .failed
    }

    mutating func skip(_ name: String, _ reason: String, facts: [String: String] = [:]) {
        guard !hasEnded else { return }
        let check = ServerCheck(named: name, .skipped, reason, facts: facts)
        checks.append(check)
        onCheck(check)
    }
}

extension OutcomeTable.Server.Page {
    /// Whether the JSON in a response has the member that identifies this page.
    fileprivate func isIdentified(by body: [UInt8]) -> Bool {
        let names = member.split(separator: ".").map(String.init)
        var members: JSONObject? = ResponseText.content(of: body).members
        for name in names.dropLast() { members = members?[name]?.members }
        guard let text = members?.text(names.last ?? "") else { return false }
        return texts?.contains(text) ?? true
    }
}
