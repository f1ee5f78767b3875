import HTTPTypes
import HummingbirdCore
import NIOCore

/// The whole server behind the socket: takes a request, checks it, has it answered, and applies the faults.
struct Site: Sendable {
    let accounts: [Account]
    let maxBody: Int
    let faults: FaultBook
    let catalog: Catalog
    private let log = RequestLog()
    private let renderer: ReplyRenderer

    init(configuration: SandboxConfiguration) throws {
        accounts = configuration.accounts
        maxBody = configuration.maxBody
        faults = FaultBook(configuration.faults)
        renderer = ReplyRenderer(dialect: configuration.dialect)
        let folder = try DataFolder(path: configuration.dataPath)
        catalog = try Catalog(folder: folder, dialect: configuration.dialect)
    }

    /// An answer, and whether it was decided before the body was read.
    private struct Answer {
        var reply: Reply
        var isEarly = false
    }

    /// Handles one request; the server's entry point.
    func respond(to request: Request, writer: consuming ResponseWriter, channel: any Channel) async throws {
        if request.uri.path.hasPrefix(ControlEndpoint.prefix) {
            let reply = try await ControlEndpoint(faults: faults, log: log).reply(to: request, from: channel)
            try await writer.write(
                response: renderer.render(reply).head,
                body: .init(byteBuffer: renderer.render(reply).bytes)
            )
            return
        }
        let route = Route(method: request.method, path: request.uri.path)
        let exchange = Exchange(
            request: request,
            channel: channel,
            plan: route.place.map(faults.take) ?? FaultPlan(),
            user: authenticatedUser(request),
            log: log,
            number: log.begin(method: request.method.rawValue, path: request.head.path ?? "")
        )
        let answer = try await answer(exchange, route)
        try await deliver(answer, exchange, writer)
    }

    private func authenticatedUser(_ request: Request) -> String? {
        guard let account = Account(authorization: request.headers[.authorization]) else { return nil }
        return accounts.contains(account) ? account.name : nil
    }

    // MARK: Deciding

    private func answer(_ exchange: Exchange, _ route: Route) async throws -> Answer {
        if let reply = exchange.plan.earlyReply { return Answer(reply: reply, isEarly: true) }
        if let realm = refusalRealm(exchange) {
            let reply = Reply.unauthorized(realm: realm)
            // Without `Expect`, Apache swallows the body before it says 401 (gighive contract 2.6).
            if exchange.hasBody, exchange.expectsContinue { return Answer(reply: reply, isEarly: true) }
            try await exchange.readBody { _ in }
            return Answer(reply: reply)
        }
        if let length = exchange.contentLength, length > maxBody {
            return Answer(reply: .webServerError(.requestEntityTooLarge), isEarly: true)
        }
        if let reply = exchange.plan.replyInsteadOfWork {
            try await exchange.readBody { _ in }
            return Answer(reply: reply)
        }
        return Answer(reply: try await work(exchange, route))
    }

    private func refusalRealm(_ exchange: Exchange) -> String? {
        let hasUploadToken = HTTPField.Name("X-Upload-Token").map { exchange.request.headers[$0] ?? "" } != ""
        return AccessRule(path: exchange.path, dialect: catalog.dialect)
            .refusal(user: exchange.user, hasUploadToken: hasUploadToken)
    }

    private func work(_ exchange: Exchange, _ route: Route) async throws -> Reply {
        switch route {
        case .upload: return try await UploadEndpoint(catalog: catalog, maxBody: maxBody).reply(to: exchange)
        case .delete: return try await DeleteEndpoint(catalog: catalog).reply(to: exchange)
        default: break
        }
        try await exchange.readBody { _ in }
        return switch route {
        case .asset(let id): try AssetEndpoint(catalog: catalog).reply(id: id)
        case .listing: try ListingEndpoint(catalog: catalog).reply(query: exchange.query)
        case .media(let kind, let fileName): try MediaEndpoint(catalog: catalog).reply(kind, fileName, exchange.request)
        case .health: Self.healthReply
        case .home: Reply(status: .ok, origin: .application, body: .html("<!doctype html>\n<title>Gighive</title>\n"))
        case .mediaFilesListing:
            .json(.notImplemented, ["error": "Not Implemented", "message": "Listing media files is not implemented"])
        case .unknownUploadCall: unknownUploadCall(exchange)
        case .unknown, .upload, .delete: .webServerError(.notFound)
        }
    }

    private static let healthReply = Reply.json(
        .ok,
        ["status": "ok", "message": "Database connection successful"]
    )

    private func unknownUploadCall(_ exchange: Exchange) -> Reply {
        .json(
            .notFound,
            [
                "error": "Not Found",
                "debug": [
                    "method": .string(exchange.request.method.rawValue),
                    "path": .string(String(exchange.path.dropFirst("/api".count))),
                ],
            ]
        )
    }

    // MARK: Delivering

    private func deliver(_ answer: Answer, _ exchange: Exchange, _ writer: consuming ResponseWriter) async throws {
        let plan = exchange.plan
        if plan.has(.dropAnswer) { throw ConnectionEnded() }
        if let delay = plan.first({ if case .delayAnswer(let seconds) = $0.effect { seconds } else { nil } }) {
            try await Task.sleep(for: .seconds(delay))
        }
        let space = plan.first { if case .whitespace(let count) = $0.effect { count } else { nil } } ?? 0
        var rendered = renderer.render(plan.changed(answer.reply), leadingSpace: space)
        let leavesBodyUnread = answer.isEarly && exchange.hasBody
        let closes = leavesBodyUnread || closesConnection(answer.reply)
        if closes { rendered.head.headerFields[.connection] = "close" }
        if plan.has(.wrongLength) {
            rendered.head.headerFields[.contentLength] = String(rendered.bytes.readableBytes + 100)
        }
        exchange.noteAnswer(rendered.head.status)
        var body = try await writer.writeHead(rendered.head)
        for effect in plan.breaks(at: .responseHeaders) { try await exchange.enact(effect) }
        if let limit = plan.first({ if case .truncate(let count) = $0.effect { count } else { nil } }) {
            let shown = rendered.bytes.getSlice(
                at: rendered.bytes.readerIndex,
                length: min(limit, rendered.bytes.readableBytes)
            )
            try await body.write(shown ?? ByteBuffer())
            throw ConnectionEnded()
        }
        if exchange.request.method != .head {
            if let file = rendered.file {
                try await StoredFileStream(file).write(to: &body)
            } else if rendered.bytes.readableBytes > 0 {
                try await body.write(rendered.bytes)
            }
        }
        if plan.has(.wrongLength) { throw ConnectionEnded() }
        try await body.finish(nil)
        if leavesBodyUnread {
            // Half-close: the client reads the answer whole, the server swallows what is still under way.
            try? await exchange.channel.close(mode: .output).get()
        } else if closes {
            throw ConnectionEnded()
        }
    }

    /// Apache drops the connection after these (recorded as `Connection: close`).
    private func closesConnection(_ reply: Reply) -> Bool {
        reply.origin == .application && [400, 413, 500].contains(reply.status.code)
    }
}
