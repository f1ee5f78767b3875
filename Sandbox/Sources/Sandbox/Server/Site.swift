import GRDB
import HTTPTypes
import HummingbirdCore
import NIOCore

/// The whole server behind the socket: takes a request, checks it, has it answered, and applies the faults.
struct Site: Sendable {
    let accounts: [Account]
    /// nil when users authenticate by Basic.
    let logins: LoginBook?
    let maxBody: Int
    let faults: FaultBook
    let catalog: Catalog
    private let tus: any TusService
    private let isTusOffered: Bool
    private let finalize: any FinalizeService
    private let guests: GuestEndpoint
    private let photoSync: PhotoSyncSite
    private let captures: CaptureSite
    private let log = RequestLog()
    private let renderer: ReplyRenderer

    init(configuration: SandboxConfiguration) throws {
        accounts = configuration.accounts
        logins = configuration.logins.map(LoginBook.init)
        maxBody = configuration.maxBody
        faults = FaultBook(configuration.faults, configuration.dialect)
        renderer = ReplyRenderer(dialect: configuration.dialect)
        let folder = try DataFolder(path: configuration.dataPath)
        catalog = try Catalog(
            folder: folder,
            dialect: configuration.dialect,
            raceWindow: configuration.raceWindow
        )
        let book = GuestBook(catalog: catalog)
        isTusOffered = configuration.tus.isOffered
        (tus, finalize) = Self.resumableUploads(configuration, book)
        guests = GuestEndpoint(book: book, catalog: catalog)
        for link in configuration.eventLinks { try book.add(link) }
        photoSync = try PhotoSyncSite(folder: folder, settings: configuration.photoSync)
        captures = try CaptureSite(folder: folder, settings: configuration.captures)
    }

    /// The tus server of the dialect, and the finalize that belongs to it.
    private static func resumableUploads(
        _ configuration: SandboxConfiguration,
        _ guests: GuestBook
    ) -> (any TusService, any FinalizeService) {
        guard configuration.dialect == .d4 else {
            let store = TusStore(guests.catalog)
            let finalize = FinalizeEndpoint(
                catalog: guests.catalog,
                store: store,
                desk: FinalizeDesk(),
                guests: guests,
                settings: configuration.finalize
            )
            return (TusEndpoint(store: store, settings: configuration.tus), finalize)
        }
        let store = BlockStore(catalog: guests.catalog)
        let tus = BlockTusEndpoint(
            store: store,
            guests: guests,
            settings: configuration.tus,
            ingestDelay: configuration.finalize.ingestDelay
        )
        return (tus, BlockFinalizeEndpoint(store: store, guests: guests))
    }

    /// Handles one request; the server's entry point.
    func respond(to request: Request, writer: consuming ResponseWriter, channel: any Channel) async throws {
        if request.uri.path.hasPrefix(ControlEndpoint.prefix) {
            let control = ControlEndpoint(
                faults: faults,
                log: log,
                uploads: tus,
                guests: guests.book,
                photos: PhotoControl(catalog: photoSync.catalog, rewriter: photoSync.rewriter),
                captures: CaptureControl(site: captures),
                logins: logins
            )
            let reply = try await control.reply(to: request, from: channel)
            let rendered = renderer.render(reply)
            try await writer.write(response: rendered.head, body: ResponseBody(byteBuffer: rendered.bytes))
            return
        }
        let answer: (Exchange) async throws -> Answer
        let place: Fault.Place?
        if let route = photoSync.route(request) {
            (answer, place) = ({ try await photoSync.answer(route, to: $0) }, route.place)
        } else if let route = captures.route(request) {
            (answer, place) = ({ try await captures.answer(route, to: $0) }, route.place)
        } else {
            let route = Route(method: request.method, path: request.uri.path, dialect: catalog.dialect)
            (answer, place) = ({ try await self.answer($0, route) }, route.place)
        }
        let exchange = exchange(request, channel, place)
        defer { exchange.noteEnd() }
        try await Delivery(exchange: exchange, answer: try await answer(exchange), renderer: renderer).run(writer)
    }

    private func exchange(_ request: Request, _ channel: any Channel, _ place: Fault.Place?) -> Exchange {
        Exchange(
            request: request,
            channel: channel,
            plan: place.map(faults.take) ?? FaultPlan(),
            user: authenticatedUser(request),
            log: log,
            number: log.begin(
                method: request.method.rawValue,
                path: request.head.path ?? "",
                credentials: RequestLog.credentials(in: request.headers)
            )
        )
    }

    private func authenticatedUser(_ request: Request) -> String? {
        if let logins { return logins.user(request.headers[.authorization]) }
        guard let account = Account(authorization: request.headers[.authorization]) else { return nil }
        return accounts.contains(account) ? account.name : nil
    }

    // MARK: Deciding

    private func answer(_ exchange: Exchange, _ route: Route) async throws -> Answer {
        if let reply = exchange.plan.earlyReply { return Answer(reply: reply, isEarly: true) }
        if let logins, LoginBook.paths.contains(exchange.path) {
            return Answer(reply: try await logins.reply(to: exchange))
        }
        if let reply = refusal(exchange) {
            // Without `Expect`, Apache swallows the body before it says 401 (gighive contract 2.6).
            if exchange.hasBody, exchange.expectsContinue { return Answer(reply: reply, isEarly: true) }
            try await exchange.readBody { _ in }
            return Answer(reply: reply)
        }
        if let length = exchange.contentLength, length > bodyLimit(route, exchange.plan) {
            return Answer(reply: .webServerError(.requestEntityTooLarge), isEarly: true)
        }
        if let reply = exchange.plan.replyInsteadOfWork {
            try await exchange.readBody { _ in }
            return Answer(reply: reply)
        }
        do {
            if case .tus(let call) = route, isTusOffered { return try await tus.answer(call, to: exchange) }
            return Answer(reply: try await work(exchange, route))
        } catch is BodyTooLarge {
            return Answer(reply: .webServerError(.requestEntityTooLarge), isEarly: true)
        } catch let error where error is SystemError || error is DatabaseError {
            if case .guest = route { return Answer(reply: .guestServerError) }
            // The application's catch-all, with its small e (gighive contract 2.5).
            return Answer(
                reply: .json(
                    .internalServerError,
                    ["error": "Server error", "message": .string(String(describing: error))]
                )
            )
        }
    }

    /// Apache's limit spares the tus path (gighive contract 2.6).
    private func bodyLimit(_ route: Route, _ plan: FaultPlan) -> Int {
        if case .tus = route { return plan.bodyLimit ?? Int.max }
        return min(plan.bodyLimit ?? Int.max, maxBody)
    }

    private func refusal(_ exchange: Exchange) -> Reply? {
        let realm = AccessRule(path: exchange.path, dialect: catalog.dialect)
            .refusal(user: exchange.user, hasUploadToken: exchange.uploadToken != nil)
        guard let realm else { return nil }
        return logins == nil ? .unauthorized(realm: realm) : LoginBook.refusal(of: exchange)
    }

    private func work(_ exchange: Exchange, _ route: Route) async throws -> Reply {
        switch route {
        case .upload: return try await UploadEndpoint(catalog: catalog, maxBody: maxBody).reply(to: exchange)
        case .delete: return try await DeleteEndpoint(catalog: catalog).reply(to: exchange)
        case .finalize: return try await finalize.reply(to: exchange)
        case .guest(let call): return try await guests.reply(call, to: exchange)
        default: break
        }
        try await exchange.readBody { _ in }
        return switch route {
        case .asset(let id): try AssetEndpoint(catalog: catalog).reply(id: id)
        case .listing: try ListingEndpoint(catalog: catalog).reply(query: exchange.query)
        case .media(let kind, let fileName): try MediaEndpoint(catalog: catalog).reply(kind, fileName, exchange.request)
        case .stream(let kinds, let fileName):
            StreamEndpoint(folder: catalog.folder).reply(kinds, fileName, exchange.request)
        case .health: Self.healthReply
        case .home: Reply(status: .ok, origin: .application, body: .html("<!doctype html>\n<title>Gighive</title>\n"))
        case .mediaFilesListing:
            .json(.notImplemented, ["error": "Not Implemented", "message": "Listing media files is not implemented"])
        case .unknownUploadCall: unknownUploadCall(exchange)
        case .missingScript:
            Reply(
                status: .notFound,
                origin: .application,
                body: .html("File not found.\n"),
                headers: [Reply.phpContentType]
            )
        case .unknown, .upload, .delete, .tus, .finalize, .guest: .webServerError(.notFound)
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
}
