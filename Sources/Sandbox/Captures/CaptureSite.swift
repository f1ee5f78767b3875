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
            // A request that was let in uses its counter up, whatever becomes of it; a payload has raised it further.
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
        guard type.wholeMatch(of: /application\/([^;]+\+)?json/) != nil else { throw CaptureRefusal.notLabelledJSON }
        guard body.count <= frameworkLimit else { throw CaptureRefusal.tooLarge }
        do {
            return try ReceivedJSON(body)
        } catch {
            throw CaptureRefusal.notJSON
        }
    }
}
