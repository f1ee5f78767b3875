import GRDB
import HTTPTypes
import HummingbirdCore
import NIOCore

/// The server behind the socket: routes a request, checks it, applies the faults, and sends the response.
struct Site: Sendable {
    let accounts: [Account]
    /// Nil if users authenticate with Basic.
    let logins: LoginBook?
    let faults: FaultBook
    let catalog: Catalog
    private let tus: any TusService
    private let isTusOffered: Bool
    private let finalize: any FinalizeService
    private let guests: GuestEndpoint
    private let photoSync: PhotoSyncSite
    private let captures: CaptureSite
    private let log = RequestLog()
    private let renderer: ResponseRenderer

    init(_ command: SandboxCommand) throws {
        let dialect = command.dialect
        accounts = command.accounts
        logins = try command.logins.book(command.users)
        faults = FaultBook(command.faults, dialect)
        renderer = ResponseRenderer(dialect: dialect)
        let folder = try DataFolder(path: command.data)
        catalog = try Catalog(folder: folder, dialect: dialect, raceWindow: command.uploads.races)
        let book = GuestBook(catalog: catalog)
        let settings = command.uploads
        isTusOffered = !command.uploads.noTus
        if dialect == .d4 {
            let store = BlockStore(catalog: catalog)
            tus = BlockTusEndpoint(store: store, guests: book, settings: settings)
            finalize = BlockFinalizeEndpoint(store: store, guests: book)
        } else {
            let store = TusStore(catalog)
            tus = TusEndpoint(store: store, settings: settings)
            finalize = FinalizeEndpoint(
                catalog: catalog,
                store: store,
                guests: book,
                hookDelay: settings.hookDelay ?? 0,
                hookWait: settings.hookWait ?? (dialect == .d1 ? 0 : 2)
            )
        }
        guests = GuestEndpoint(book: book)
        for link in command.uploads.eventLinks { try book.add(link) }
        photoSync = try PhotoSyncSite(folder: folder, settings: command.photoSync)
        captures = try CaptureSite(
            folder: folder,
            settings: command.captures.settings(basePath: command.photoSync.basePath)
        )
    }

    func respond(to request: Request, writer: consuming ResponseWriter, channel: any Channel) async throws {
        if request.uri.path.hasPrefix(ControlEndpoint.prefix) {
            let control = ControlEndpoint(
                faults: faults,
                log: log,
                guests: guests.book,
                photos: PhotoControl(catalog: photoSync.catalog, rewriter: photoSync.rewriter),
                captures: CaptureControl(site: captures),
                logins: logins,
                tus: tus
            )
            let rendered = renderer.render(try await control.response(to: request, from: channel))
            try await writer.write(response: rendered.head, body: ResponseBody(byteBuffer: rendered.bytes))
            return
        }
        let respond: (Exchange) async throws -> Response
        let place: Fault.Place?
        if let route = photoSync.route(request) {
            (respond, place) = ({ try await photoSync.response(route, to: $0) }, route.place)
        } else if let route = captures.route(request) {
            (respond, place) = ({ try await captures.response(route, to: $0) }, route.place)
        } else {
            let route = Route(method: request.method, path: request.uri.path, dialect: catalog.dialect)
            (respond, place) = ({ try await self.response($0, route) }, route.place)
        }
        let exchange = Exchange(
            request: request,
            channel: channel,
            plan: place.map(faults.take) ?? FaultPlan(),
            user: authenticatedUser(request),
            log: log
        )
        defer { exchange.noteEnd() }
        try await Delivery(exchange: exchange, response: try await respond(exchange), renderer: renderer).run(writer)
    }

    private func authenticatedUser(_ request: Request) -> String? {
        if let logins { return logins.user(request.headers[.authorization]) }
        guard let account = Account(authorization: request.headers[.authorization]) else { return nil }
        return accounts.contains(account) ? account.name : nil
    }

    private func response(_ exchange: Exchange, _ route: Route) async throws -> Response {
        if let response = exchange.plan.earlyResponse { return response.early }
        if let logins, LoginBook.paths.contains(exchange.path) { return try await logins.response(to: exchange) }
        if let response = refusal(exchange) {
            // Without `Expect`, Apache reads the body before it responds with 401 (gighive contract 2.6).
            if exchange.hasBody, exchange.expectsContinue { return response.early }
            try await exchange.readBody()
            return response
        }
        let tooLarge = Response.webServerError(.requestEntityTooLarge).early
        // Apache's limit does not apply to tus (gighive contract 2.6).
        let ownLimit = if case .tus = route { Int.max } else { UploadEndpoint.maxBody }
        if exchange.contentLength ?? 0 > min(exchange.plan[.limit]?.number ?? Int.max, ownLimit) { return tooLarge }
        if let response = exchange.plan.responseInsteadOfWork {
            try await exchange.readBody()
            return response
        }
        do {
            return try await work(exchange, route).with { $0.isEarly = !exchange.isBodyRead }
        } catch let refusal as any Refusal {
            return refusal.response.with { $0.isEarly = !exchange.isBodyRead }
        } catch is BodyTooLarge {
            return tooLarge
        } catch let error where error is SystemError || error is DatabaseError {
            if case .guest = route { return .guestServerError }
            // The application's handler of last resort, which writes "error" in lowercase (gighive contract 2.5).
            return .failure(.internalServerError, "Server error", String(describing: error))
        }
    }

    private func refusal(_ exchange: Exchange) -> Response? {
        let realm = AccessRule.refusal(
            exchange.path,
            catalog.dialect,
            user: exchange.user,
            hasUploadToken: exchange.uploadToken != nil
        )
        guard let realm else { return nil }
        return logins == nil ? .unauthorized(realm: realm) : LoginBook.refusal(of: exchange)
    }

    private func work(_ exchange: Exchange, _ route: Route) async throws -> Response {
        switch route {
        case .tus(let call) where isTusOffered: return try await tus.response(call, to: exchange)
        case .upload: return try await UploadEndpoint(catalog: catalog).response(to: exchange)
        case .delete: return try await DeleteEndpoint(catalog: catalog).response(to: exchange)
        case .finalize: return try await finalize.response(to: exchange)
        case .guest(let call): return try await guests.response(call, to: exchange)
        default: break
        }
        try await exchange.readBody()
        return switch route {
        case .asset(let id): try AssetEndpoint(catalog: catalog).response(id: id)
        case .listing: try ListingEndpoint(catalog: catalog).response(query: exchange.query)
        case .media(let kind, let fileName):
            try MediaEndpoint(catalog: catalog).response(kind, fileName, exchange.request)
        case .stream(let kinds, let fileName):
            MediaEndpoint(catalog: catalog).stream(kinds, fileName, exchange.request)
        case .health: .json(.ok, ["status": "ok", "message": "Database connection successful"])
        case .home: Response(.ok, .application, .html(Response.page("Gighive")))
        case .mediaFilesListing: .failure(.notImplemented, "Not Implemented", "Listing media files is not implemented")
        case .unknownUploadCall: unknownUploadCall(exchange)
        case .missingScript: .emptyPHP(.notFound).with { $0.body = .html("File not found.\n") }
        case .unknown, .upload, .delete, .tus, .finalize, .guest: .webServerError(.notFound)
        }
    }

    private func unknownUploadCall(_ exchange: Exchange) -> Response {
        let path = String(exchange.path.dropFirst("/api".count))
        let debug: JSONValue = ["method": .string(exchange.request.method.rawValue), "path": .string(path)]
        return .json(.notFound, ["error": "Not Found", "debug": debug])
    }
}
