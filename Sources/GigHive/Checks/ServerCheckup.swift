internal import MediaCrypto
internal import MediaTransport
internal import Tus

/// Looks at a server from outside to inside, changing nothing: name, TLS, health, login, role, tus, limits, clock.
///
/// Only GET, HEAD and OPTIONS are sent. Health is asked with a changing query, because the server's own cache may be a
/// day old (trap T18).
public struct ServerCheckup: Sendable {
    /// The names of all checks, in order.
    public static let names = ["name", "tls", "health", "login", "role", "tus", "limits", "clock"]

    /// Clocks that differ by more than this are worth a warning: dates of events and of certificates go wrong.
    private static let tolerance: Int64 = 60

    private let client: GigHiveClient
    private let maximumBytes: Int64

    /// Makes a check-up.
    ///
    /// - Parameters:
    ///   - client: The server, with its login; without one `login` and `role` are skipped.
    ///   - maximumBytes: The largest upload that the settings allow.
    public init(client: GigHiveClient, maximumBytes: Int64) {
        self.client = client
        self.maximumBytes = maximumBytes
    }

    /// Makes all checks. Cancelling the task ends the running one, and the rest is skipped.
    ///
    /// - Parameter onCheck: Called after each check.
    /// - Returns: All checks, in the order of `names`.
    public func run(onCheck: @escaping @Sendable (ServerCheck) -> Void = { _ in }) async -> [ServerCheck] {
        var list = CheckList(onCheck: onCheck)
        let isReachable = await list.run("name") { () throws(GigHiveError) in try await name() }
        await checkTLS(&list, isReachable: isReachable)
        if isReachable {
            await list.run("health") { () throws(GigHiveError) in try await health() }
        }
        guard isReachable, isAnswered(list) else {
            for name in Self.names where !list.checks.contains(where: { $0.name == name }) {
                list.skip(name, "the server cannot be asked")
            }
            return list.checks
        }
        await checkLogin(&list)
        let tusMaximum = list.checks.first { $0.name == "tus" }?.facts["max_size"].flatMap { Int64($0) }
        await list.run("limits") { () throws(GigHiveError) in limits(tusMaximum: tusMaximum) }
        await list.run("clock") { () throws(GigHiveError) in try await clock() }
        return list.checks
    }

    /// Whether the last check had an answer, be it a refusal: the server is there.
    private func isAnswered(_ list: CheckList) -> Bool {
        list.checks.last?.error == nil || list.checks.last?.error?.httpStatus != nil
    }

    // MARK: Name and TLS

    private func name() async throws(GigHiveError) -> ServerCheck {
        let origin = client.server.origin
        do {
            let addresses = try await NameLookup.addresses(host: origin.host, port: origin.port)
            return ServerCheck(
                "name",
                .passed,
                "\(origin.host) is \(addresses.joined(separator: ", "))",
                facts: ["addresses": addresses.joined(separator: " ")]
            )
        } catch {
            throw .transport(error)
        }
    }

    private func checkTLS(_ list: inout CheckList, isReachable: Bool) async {
        guard client.server.origin.scheme == "https" else {
            list.skip("tls", "plain http: everybody on the way can read passwords and tokens")
            return
        }
        guard isReachable else {
            list.skip("tls", "the server's name is not known")
            return
        }
        await list.run("tls") { () throws(GigHiveError) in try await tls() }
    }

    /// Tells the certificate and its pin, whether or not it is trusted: the pin is what a user of a self-signed server
    /// needs next.
    private func tls() async throws(GigHiveError) -> ServerCheck {
        let certificate: PeerCertificate
        do {
            certificate = try await client.http.peerCertificate(of: client.server, limit: client.timeouts.connect)
        } catch {
            throw .transport(error)
        }
        var facts = ["subject": certificate.subject, "issuer": certificate.issuer]
        facts["expires"] = certificate.expires
        if let pin = try? PublicKeyPin.ofCertificate(pem: certificate.pem) {
            facts["pinned_key"] = pin
        }
        let subject = "\(certificate.subject), valid until \(certificate.expires)"
        do {
            _ = try await client.health()
        } catch  where error.isCertificateRefused {
            return ServerCheck("tls", .failed, "not trusted: \(subject)", facts: facts, error: error)
        } catch {
            // What the server answers is the next check's.
        }
        return ServerCheck("tls", .passed, subject, facts: facts)
    }

    // MARK: Application

    private func health() async throws(GigHiveError) -> ServerCheck {
        let (isHealthy, message) = try await client.health()
        return ServerCheck("health", isHealthy ? .passed : .failed, message)
    }

    /// Login, and what only a user who is logged in can ask: role and tus.
    private func checkLogin(_ list: inout CheckList) async {
        guard client.authorization != nil else {
            list.skip("login", "no login was given")
            list.skip("role", "no login was given")
            list.skip("tus", "asking needs a login")
            return
        }
        guard await list.run("login", { () throws(GigHiveError) in try await login() }) else {
            list.skip("role", "the login was refused")
            list.skip("tus", "the login was refused")
            return
        }
        await list.run("role") { () throws(GigHiveError) in try await role() }
        await list.run("tus") { () throws(GigHiveError) in try await tus() }
    }

    /// Any valid user may read the listing (gighive contract section 7).
    private func login() async throws(GigHiveError) -> ServerCheck {
        let listing = try await client.listing()
        let total = listing.total.map { "\($0) files" } ?? "a listing"
        return ServerCheck("login", .passed, "accepted; the server lists \(total)")
    }

    /// Asks for an asset that cannot be there: only users who may upload get as far as "not found" (gighive contract
    /// section 1).
    private func role() async throws(GigHiveError) -> ServerCheck {
        do {
            _ = try await client.asset(Int64.max)
            return ServerCheck("role", .passed, "may upload and delete by token", facts: ["role": "uploader"])
        } catch  where error.code == .unauthorized || error.code == .forbidden {
            return ServerCheck(
                "role",
                .failed,
                "this user may look but not upload",
                facts: ["role": "viewer"],
                error: error
            )
        }
    }

    private var tusClient: TusClient {
        TusClient(
            http: client.http,
            server: client.server,
            path: "/files/",
            authorization: client.authorization,
            timeouts: client.timeouts
        )
    }

    private func tus() async throws(GigHiveError) -> ServerCheck {
        do {
            let features = try await tusClient.features()
            let names = features.extensions.map(\.rawValue).sorted()
            var facts = [
                "extensions": names.joined(separator: " "), "versions": features.versions.joined(separator: " "),
            ]
            facts["max_size"] = features.maximumBytes.map(String.init)
            return ServerCheck(
                "tus",
                .passed,
                "tus \(features.versions.joined(separator: ", ")): \(names.joined(separator: ", "))",
                facts: facts
            )
        } catch let error where error.kind == .unsupported {
            return ServerCheck("tus", .warned, "not offered: uploads cannot be resumed, and end at 1 GiB")
        } catch let error where error.status == 401 || error.status == 403 {
            return ServerCheck("tus", .skipped, "this user may not upload")
        } catch {
            throw GigHiveError(
                .unexpectedAnswer,
                detail: error.detail,
                httpStatus: error.status,
                transport: error.transport
            )
        }
    }

    /// What the contract says and the settings allow; the server tells only its tus limit.
    private func limits(tusMaximum: Int64?) -> ServerCheck {
        let maximum = min(maximumBytes, tusMaximum ?? .max)
        return ServerCheck(
            "limits",
            .passed,
            "\(maximum) bytes a file; multipart uploads end at \(Uploader.directBodyLimit) bytes",
            facts: ["max_bytes": String(maximum), "max_multipart_bytes": String(Uploader.directBodyLimit)]
        )
    }

    // MARK: Clock

    private func clock() async throws(GigHiveError) -> ServerCheck {
        let response = try await client.send(
            client.request(.get, "/db/health.php", isAuthorized: false),
            control: TransferControl()
        )
        guard let theirs = response.head.value(of: "Date").flatMap(HTTPDate.parse) else {
            return ServerCheck("clock", .skipped, "the server does not tell its time")
        }
        let ahead = theirs - UnixTime.now()
        let facts = ["ahead_seconds": String(ahead)]
        guard abs(ahead) > Self.tolerance else {
            return ServerCheck("clock", .passed, "the same as here", facts: facts)
        }
        let direction = ahead > 0 ? "ahead of" : "behind"
        return ServerCheck("clock", .warned, "\(abs(ahead)) seconds \(direction) this machine's", facts: facts)
    }
}

extension GigHiveError {
    /// Whether the server was refused for its certificate.
    fileprivate var isCertificateRefused: Bool {
        [.certificateUntrusted, .certificateNameMismatch, .pinnedKeyMismatch, .tlsFailed].contains(code)
    }
}
