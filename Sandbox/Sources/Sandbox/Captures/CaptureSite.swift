import ArgumentParser
import GRDB
import HTTPTypes
import HummingbirdCore
import NIOCore
import Synchronization

/// The capture part of the server: gate, devices, and routes.
struct CaptureSite: Sendable {
    let catalog: CaptureCatalog
    let bodies = ReceivedBodies()
    private let challenges = ChallengeBook()

    /// Larger ones are rejected before any other check (contract 1.1).
    private static let bodyLimit = 20 << 20
    /// The framework's default, for JSON and for forms.
    static let frameworkLimit = 2 << 20

    init(folder: DataFolder, settings: CaptureSettings) throws {
        catalog = try CaptureCatalog(folder: folder, settings: settings)
    }

    private var settings: CaptureSettings { catalog.settings }

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
            let (status, data) = try work(route, exchange, body, call)
            return Answer(reply: envelope.reply(status, data: data))
        } catch let refusal as CaptureRefusal {
            return Answer(reply: envelope.reply(refusal))
        } catch is DatabaseError {
            return Answer(reply: envelope.reply(.databaseError))
        } catch is BodyTooLarge {
            return Answer(reply: .webServerError(.requestEntityTooLarge), isEarly: true)
        }
    }

    private func collectBody(_ exchange: Exchange) async throws -> [UInt8] {
        let collected = try await exchange.collectBody(upTo: Self.bodyLimit)
        guard exchange.bodyBytesRead <= Self.bodyLimit else {
            throw CaptureRefusal.invalid("Request body is too large")
        }
        let body = Array(buffer: collected)
        if !body.isEmpty { bodies.add(exchange.path, body) }
        return body
    }

    private func work(
        _ route: CaptureRoute,
        _ exchange: Exchange,
        _ body: [UInt8],
        _ call: DeviceCall?
    ) throws -> (HTTPResponse.Status, JSONValue) {
        let links = CaptureLinks(host: exchange.request.head.authority ?? "localhost", basePath: settings.basePath)
        let reading = CaptureReadEndpoint(catalog: catalog, links: links)
        if let call {
            let call = try CaptureGate(catalog: catalog).verify(call, body: body)
            // An accepted request uses its counter, regardless of its result; a payload has raised it further.
            defer { if let counter = call.pendingCounter { _ = try? catalog.advance(call.device, to: counter) } }
            switch route {
            case .hashOnly:
                let received = try Self.json(body, exchange)
                return (
                    .accepted, try HashOnlyEndpoint(catalog: catalog, links: links).accept(body, received, from: call)
                )
            case .full:
                return (
                    .accepted,
                    try FullCaptureEndpoint(catalog: catalog, links: links).accept(body, exchange, from: call)
                )
            case .capture(let id): return (.ok, try reading.capture(id, for: call.device))
            case .captureByHash(let hash): return (.ok, try reading.capture(hash: hash, for: call.device))
            default: break
            }
        }
        switch route {
        case .challenge: return (.ok, try challenge(exchange))
        case .credential:
            let endpoint = CredentialEndpoint(catalog: catalog, challenges: challenges)
            return (.ok, try endpoint.issue(try Self.json(body, exchange)))
        case .register:
            let endpoint = RegistrationEndpoint(catalog: catalog, challenges: challenges)
            return (.created, try endpoint.register(try Self.json(body, exchange)))
        case .publicPage(let id): return (.ok, try reading.publicPage(id))
        case .verifyFile: return (.ok, try reading.verifyFile(body, exchange))
        default: throw CaptureRefusal.notFound
        }
    }

    private func challenge(_ exchange: Exchange) throws -> JSONValue {
        let address = exchange.channel.remoteAddress?.ipAddress ?? ""
        guard let (challenge, expiry) = challenges.issue(to: address, at: settings.now) else {
            throw CaptureRefusal(.tooManyRequests, "TOO_MANY_REQUESTS", "Too many challenges, try again later")
        }
        return ["challenge": .string(base64(challenge)), "expires_at": .string(expiry.captureText)]
    }

    /// The framework's own checks, in its order.
    private static func json(_ body: [UInt8], _ exchange: Exchange) throws -> JSONValue {
        let type = exchange.contentType.value.lowercased()
        guard type.wholeMatch(of: /application\/([^;]+\+)?json/) != nil else { throw CaptureRefusal.wrongMediaType }
        guard body.count <= frameworkLimit else { throw CaptureRefusal.tooLarge }
        do {
            return try JSONValue(body)
        } catch {
            throw CaptureRefusal.notJSON
        }
    }
}

/// Every body that a capture route received, including rejected ones, for tests that search them.
final class ReceivedBodies: Sendable {
    private let entries = Mutex<[(path: String, body: [UInt8])]>([])

    func add(_ path: String, _ body: [UInt8]) { entries.withLock { $0.append((path, body)) } }

    var all: [(path: String, body: [UInt8])] { entries.withLock { $0 } }
}

/// The behavior of the capture part of a sandbox (hash-only contract).
struct CaptureSettings: Sendable {
    enum Profile: String, Sendable, CaseIterable, ExpressibleByArgument {
        /// Complete and correct (contract 3.4).
        case mediactl1 = "mediactl-1"
        /// The existing server with its deviations (contract section 9).
        case reference
    }

    var profile = Profile.mediactl1
    /// Its SHA-256 starts every assertion of a payload.
    var relyingParty = Profile.mediactl1.rawValue
    /// The reference server's `REQUIRE_VERIFIED_DEVICES`; on `mediactl-1` it admits level `tpm2` only.
    var isStrict = false
    /// Devices that are enrolled at the start.
    var devices: [CaptureDevice] = []
    /// Authorities whose TPMs are trusted; without any, no device gets the level `tpm2`.
    var tpmAuthorities = TPMAuthorities()
    /// Seconds by which its clock is ahead of the machine's.
    var clockOffset = 0.0
    /// The path before `/api/v1` if a reverse proxy serves it below a path; empty or `/photos`.
    var basePath = ""

    var now: Timestamp { .now(offset: clockOffset) }
}

struct CaptureArguments: ParsableArguments {
    @Option(
        name: .customLong("capture-profile"),
        help: "mediactl-1: takes Linux devices, signs canonical JSON; reference: the existing server as it is."
    )
    var profile = CaptureSettings.Profile.mediactl1

    @Option(
        name: .customLong("capture-rp-id"),
        help: "Name whose SHA-256 begins an assertion; mediactl-1 or XXXXXXXXXX.com.realitycam.app by profile."
    )
    var relyingParty: String?

    @Flag(
        name: .customLong("capture-strict"),
        help: "Refuse devices but secure_enclave, on mediactl-1 but tpm2, and wrong request signatures on both."
    )
    var isStrict = false

    @Option(name: .customLong("capture-device"), help: "UUID:LEVEL:PEM: an enrolled device with its P-256 public key.")
    var devices: [CaptureDevice] = []

    @Option(
        name: .customLong("capture-tpm-ca"),
        help: "PEM of authorities whose TPMs are trusted. Without it no device gets the level tpm2."
    )
    var tpmAuthorities: [TPMAuthorities] = []

    @Option(name: .customLong("capture-clock"), help: "Seconds by which the capture server's clock and Date are ahead.")
    var clockOffset = 0.0

    func validate() throws {
        guard abs(clockOffset) <= 1e9 else { throw ValidationError("--capture-clock is a number of seconds") }
        guard relyingParty?.isEmpty != true else { throw ValidationError("--capture-rp-id needs a name") }
    }

    func settings(basePath: String) -> CaptureSettings {
        let ownName = profile == .reference ? "XXXXXXXXXX.com.realitycam.app" : profile.rawValue
        return CaptureSettings(
            profile: profile,
            relyingParty: relyingParty ?? ownName,
            isStrict: isStrict,
            devices: devices,
            tpmAuthorities: tpmAuthorities.reduce(into: TPMAuthorities()) { $0.add($1) },
            clockOffset: clockOffset,
            basePath: basePath
        )
    }
}

extension CaptureDevice: ExpressibleByArgument {
    init?(argument: String) {
        let pieces = argument.split(separator: ":", maxSplits: 2).map(String.init)
        guard pieces.count == 3, let id = CaptureID.read(pieces[0]), let key = P256PublicKey(pemFile: pieces[2]) else {
            return nil
        }
        self.init(id: id, platform: "linux", model: "sandbox", level: pieces[1], key: key, keyId: id)
    }
}
