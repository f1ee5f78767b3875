import ArgumentParser
import GRDB
import HTTPTypes
import HummingbirdCore
import NIOCore

/// The capture half of the server: gate, devices, and who answers what.
struct CaptureSite: Sendable {
    let catalog: CaptureCatalog
    /// What was received, for tests.
    let bodies = ReceivedBodies()
    private let challenges = ChallengeBook()

    /// Larger ones are refused before anything is looked at (contract 1.1).
    private static let bodyLimit = 20 << 20
    /// The framework's default, for JSON and for forms.
    static let frameworkLimit = 2 << 20

    init(folder: DataFolder, settings: CaptureSettings) throws {
        catalog = try CaptureCatalog(folder: folder, settings: settings)
    }

    private var settings: CaptureSettings { catalog.settings }

    /// Nil when the request is not for this half.
    func route(_ request: Request) -> CaptureRoute? {
        let path = (request.head.path ?? "/").prefix { $0 != "?" }
        guard path.hasPrefix(settings.basePath) else { return nil }
        return CaptureRoute(
            method: request.method,
            path: String(path.dropFirst(settings.basePath.count)),
            profile: settings.profile
        )
    }

    func answer(_ route: CaptureRoute, to exchange: Exchange) async throws -> Answer {
        if let answer = exchange.answerBeforeBody { return answer }
        let envelope = CaptureEnvelope(settings, requestID: exchange.header("X-Request-Id"))
        let call: DeviceCall?
        do {
            if route == .notFound { throw CaptureRefusal.notFound }
            if route == .methodNotAllowed { throw CaptureRefusal.methodNotAllowed }
            call = route.isOpen ? nil : try CaptureGate(catalog: catalog).admit(exchange)
        } catch let refusal as CaptureRefusal {
            return try await exchange.refusal(envelope.reply(refusal))
        }
        do {
            let body = try await collectBody(exchange)
            if let reply = exchange.plan.replyInsteadOfWork { return Answer(reply: reply) }
            return Answer(reply: try work(route, exchange, body, call, envelope))
        } catch let refusal as CaptureRefusal {
            return Answer(reply: envelope.reply(refusal))
        } catch is DatabaseError {
            return Answer(reply: envelope.reply(.databaseError))
        } catch is BodyTooLarge {
            return Answer(reply: .webServerError(.requestEntityTooLarge), isEarly: true)
        }
    }

    private func collectBody(_ exchange: Exchange) async throws -> [UInt8] {
        var collected = ByteBuffer()
        var isTooLong = false
        try await exchange.readBody { piece in
            isTooLong = isTooLong || collected.readableBytes + piece.readableBytes > Self.bodyLimit
            if !isTooLong { collected.writeImmutableBuffer(piece) }
        }
        guard !isTooLong else { throw CaptureRefusal.invalid("Request body is too large") }
        let body = Array(buffer: collected)
        if !body.isEmpty { bodies.add(exchange.path, body) }
        return body
    }

    // MARK: Working

    private func work(
        _ route: CaptureRoute,
        _ exchange: Exchange,
        _ body: [UInt8],
        _ call: DeviceCall?,
        _ envelope: CaptureEnvelope
    ) throws -> Reply {
        let links = CaptureLinks(host: exchange.request.head.authority ?? "localhost", basePath: settings.basePath)
        let reading = CaptureReadEndpoint(catalog: catalog, links: links)
        if let call {
            let call = try CaptureGate(catalog: catalog).verify(call, body: body)
            // A request that was let in uses its counter up, whatever its result; a payload has raised it further.
            defer { if let counter = call.pendingCounter { _ = try? catalog.advance(call.device, to: counter) } }
            switch route {
            case .hashOnly:
                let received = try Self.json(body, exchange)
                let endpoint = HashOnlyEndpoint(catalog: catalog, links: links)
                return envelope.reply(.accepted, data: try endpoint.accept(body, received, from: call))
            case .full:
                let endpoint = FullCaptureEndpoint(catalog: catalog, links: links)
                return envelope.reply(.accepted, data: try endpoint.accept(body, exchange, from: call))
            case .capture(let id): return envelope.reply(.ok, data: try reading.capture(id, for: call.device))
            case .captureByHash(let hash):
                return envelope.reply(.ok, data: try reading.capture(hash: hash, for: call.device))
            default: break
            }
        }
        switch route {
        case .challenge: return envelope.reply(.ok, data: try challenge(exchange))
        case .credential:
            let endpoint = CredentialEndpoint(catalog: catalog, challenges: challenges)
            return envelope.reply(.ok, data: try endpoint.issue(try Self.json(body, exchange)))
        case .register:
            let endpoint = RegistrationEndpoint(catalog: catalog, challenges: challenges)
            return envelope.reply(.created, data: try endpoint.register(try Self.json(body, exchange)))
        case .publicPage(let id): return envelope.reply(.ok, data: try reading.publicPage(id))
        case .verifyFile:
            let endpoint = VerifyFileEndpoint(catalog: catalog, links: links)
            return envelope.reply(.ok, data: try endpoint.verify(body, exchange))
        default: throw CaptureRefusal.notFound
        }
    }

    private func challenge(_ exchange: Exchange) throws -> JSONValue {
        let address = exchange.channel.remoteAddress?.ipAddress ?? ""
        guard let (challenge, expiry) = challenges.issue(to: address, at: settings.now) else {
            throw CaptureRefusal(.tooManyRequests, "TOO_MANY_REQUESTS", "Too many challenges, try again later")
        }
        return ["challenge": .string(base64(challenge)), "expires_at": .string(expiry.text)]
    }

    /// The framework's own checks, in its order.
    private static func json(_ body: [UInt8], _ exchange: Exchange) throws -> ReceivedJSON {
        let type = HeaderParameters(exchange.request.headers[.contentType] ?? "").value.lowercased()
        guard type.wholeMatch(of: /application\/([^;]+\+)?json/) != nil else { throw CaptureRefusal.wrongMediaType }
        guard body.count <= frameworkLimit else { throw CaptureRefusal.tooLarge }
        do {
            return try ReceivedJSON(body)
        } catch {
            throw CaptureRefusal.notJSON
        }
    }
}

/// How the capture half of a sandbox behaves (hash-only contract).
struct CaptureSettings: Sendable {
    /// Which server this is.
    enum Profile: String, Sendable, CaseIterable, ExpressibleByArgument {
        /// Complete and honest (contract 3.4).
        case mediactl1 = "mediactl-1"
        /// The existing server as it is, with its deviations (contract section 9).
        case reference

        var relyingParty: String {
            switch self {
            case .mediactl1: "mediactl-1"
            case .reference: "XXXXXXXXXX.com.realitycam.app"
            }
        }
    }

    /// A device that is enrolled before the start, as `UUID:LEVEL:PUBLIC_KEY_PEM_FILE`.
    struct EnrolledDevice: Sendable, ExpressibleByArgument {
        var id: String
        var level: String
        var key: P256PublicKey

        init?(argument: String) {
            let pieces = argument.split(separator: ":", maxSplits: 2).map(String.init)
            guard pieces.count == 3, let id = CaptureID.read(pieces[0]), !pieces[1].isEmpty,
                let key = P256PublicKey(pemFile: pieces[2])
            else { return nil }
            self.id = id
            level = pieces[1]
            self.key = key
        }
    }

    var profile = Profile.mediactl1
    /// Its SHA-256 begins every assertion of a payload.
    var relyingParty = Profile.mediactl1.relyingParty
    /// The reference server's `REQUIRE_VERIFIED_DEVICES`; on `mediactl-1` it admits level `tpm2` only.
    var isStrict = false
    var devices: [EnrolledDevice] = []
    /// Authorities whose TPMs are trusted; without any, no device gets the level `tpm2`.
    var tpmAuthorities = TPMAuthorities()
    /// Seconds by which its clock is ahead of the machine's.
    var clockOffset = 0.0
    /// The path before `/api/v1` when a reverse proxy serves it below a path; empty or `/photos`.
    var basePath = ""

    var now: CaptureTime { .now(offset: clockOffset) }
}

/// The arguments about captures.
struct CaptureArguments: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "mediactl-1: takes Linux devices, signs canonical JSON; reference: the existing server as it is.",
            valueName: "profile"
        )
    )
    var captureProfile = CaptureSettings.Profile.mediactl1

    @Option(
        help: ArgumentHelp(
            "The name whose SHA-256 begins an assertion; mediactl-1 or XXXXXXXXXX.com.realitycam.app by profile.",
            valueName: "name"
        )
    )
    var captureRpId: String?

    @Flag(
        help: "Refuse devices but secure_enclave, on mediactl-1 but tpm2, and wrong request signatures on both."
    )
    var captureStrict = false

    @Option(
        name: .customLong("capture-device"),
        help: ArgumentHelp(
            "A device that is enrolled already: its id, level and P-256 public key.",
            valueName: "uuid:level:pem-file"
        )
    )
    var devices: [CaptureSettings.EnrolledDevice] = []

    @Option(
        name: .customLong("capture-tpm-ca"),
        help: ArgumentHelp(
            "Trust the TPMs whose endorsement certificates these authorities signed (PEM). Without it no device gets the level tpm2.",
            valueName: "pem-file"
        )
    )
    var tpmAuthorities: [TPMAuthorities] = []

    @Option(
        help: ArgumentHelp("How far the capture server's clock, its Date header too, is ahead.", valueName: "seconds")
    )
    var captureClock = 0.0

    func validate() throws {
        guard abs(captureClock) <= 1e9 else { throw ValidationError("--capture-clock is a number of seconds") }
        guard captureRpId?.isEmpty != true else { throw ValidationError("--capture-rp-id needs a name") }
    }

    func settings(basePath: String) -> CaptureSettings {
        CaptureSettings(
            profile: captureProfile,
            relyingParty: captureRpId ?? captureProfile.relyingParty,
            isStrict: captureStrict,
            devices: devices,
            tpmAuthorities: tpmAuthorities.reduce(into: TPMAuthorities()) { $0.add($1) },
            clockOffset: captureClock,
            basePath: basePath
        )
    }
}
