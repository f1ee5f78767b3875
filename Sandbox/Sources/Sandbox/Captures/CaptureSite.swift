import ArgumentParser
import GRDB
import HTTPTypes
import HummingbirdCore
import NIOCore
import Synchronization

/// The routes of the capture server.
struct CaptureSite: Sendable {
    let catalog: CaptureCatalog
    let bodies = ReceivedBodies()
    private let challenges = ChallengeBook()

    /// The server's own limit for a request body (contract 1.1).
    private static let bodyLimit = 20 << 20
    /// The default of the framework, for JSON and for forms.
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

    func response(_ route: CaptureRoute, to exchange: Exchange) async throws -> Response {
        if let response = exchange.responseBeforeBody { return response }
        let envelope = CaptureEnvelope(settings, requestID: exchange.header("X-Request-Id"))
        let call: DeviceCall?
        do {
            if route == .notFound { throw CaptureRefusal.notFound }
            if route == .methodNotAllowed { throw CaptureRefusal.methodNotAllowed }
            call = route.isOpen ? nil : try CaptureGate(catalog: catalog).admit(exchange)
        } catch let refusal as CaptureRefusal {
            return try await exchange.refusal(envelope.response(refusal))
        }
        do {
            let body = try await collectBody(exchange)
            if let response = exchange.plan.responseInsteadOfWork { return response }
            let (status, data) = try work(route, exchange, body, call)
            return envelope.response(status, data: data)
        } catch let refusal as CaptureRefusal {
            return envelope.response(refusal)
        } catch is DatabaseError {
            return envelope.response(.databaseError)
        } catch is BodyTooLarge {
            return .webServerError(.requestEntityTooLarge).early
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
            // An admitted request uses its counter, regardless of the result; a payload may already have raised it
            // further.
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

    /// The checks of the framework, in its order.
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

/// All bodies that capture routes received, for tests.
final class ReceivedBodies: Sendable {
    private let entries = Mutex<[(path: String, body: [UInt8])]>([])

    func add(_ path: String, _ body: [UInt8]) { entries.withLock { $0.append((path, body)) } }

    var all: [(path: String, body: [UInt8])] { entries.withLock { $0 } }
}

/// The configuration of the capture server (hash-only contract).
struct CaptureSettings: Sendable {
    enum Profile: String, Sendable, CaseIterable, ExpressibleByArgument {
        /// The complete protocol (contract 3.4).
        case mediactl1 = "mediactl-1"
        /// The existing server, with its deviations (contract section 9).
        case reference
    }

    var profile = Profile.mediactl1
    /// The reference server's `REQUIRE_VERIFIED_DEVICES`; on `mediactl-1` it admits level `tpm2` only.
    var isStrict = false
    /// Devices that are enrolled at startup.
    var devices: [CaptureDevice] = []
    /// Without any, no device gets the level `tpm2`.
    var tpmAuthorities = TPMAuthorities()
    /// Seconds.
    var clockOffset = 0.0
    /// The path before `/api/v1` behind a reverse proxy; empty or `/photos`.
    var basePath = ""

    var now: Timestamp { .now(offset: clockOffset) }
    /// The SHA-256 of this value begins every assertion of a payload.
    var relyingParty: String { profile == .reference ? "XXXXXXXXXX.com.realitycam.app" : profile.rawValue }
}

struct CaptureArguments: ParsableArguments {
    @Option(
        name: .customLong("capture-profile"),
        help: "mediactl-1: accepts Linux devices, signs canonical JSON; reference: the existing server."
    )
    var profile = CaptureSettings.Profile.mediactl1

    @Flag(
        name: .customLong("capture-strict"),
        help: "Accept only secure_enclave devices (mediactl-1: tpm2), and reject wrong request signatures."
    )
    var isStrict = false

    @Option(name: .customLong("capture-device"), help: "UUID:LEVEL:PEM: an enrolled device with its P-256 public key.")
    var devices: [CaptureDevice] = []

    @Option(
        name: .customLong("capture-tpm-ca"),
        help: "PEM file of trusted TPM authorities. Without it, no device gets the level tpm2."
    )
    var tpmAuthorities: [TPMAuthorities] = []

    @Option(name: .customLong("capture-clock"), help: "Seconds that the capture server's clock and Date are ahead.")
    var clockOffset = 0.0

    func validate() throws {
        guard abs(clockOffset) <= 1e9 else { throw ValidationError("--capture-clock must be a number of seconds.") }
    }

    func settings(basePath: String) -> CaptureSettings {
        CaptureSettings(
            profile: profile,
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
