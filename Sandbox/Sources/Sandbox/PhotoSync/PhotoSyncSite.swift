import GRDB
import HTTPTypes
import HummingbirdCore
import NIOCore

/// The PhotoSync part of the server: gate, keys, and routes.
struct PhotoSyncSite: Sendable {
    let catalog: PhotoCatalog
    let rewriter: PhotoRewriter

    init(folder: DataFolder, settings: PhotoSyncArguments) throws {
        catalog = try PhotoCatalog(folder: folder, settings: settings)
        rewriter = PhotoRewriter(folder: folder, delay: settings.rewrite)
    }

    func route(_ request: Request) -> PhotoSyncRoute? {
        let path = (request.head.path ?? "/").prefix { $0 != "?" }
        let basePath = catalog.settings.basePath
        guard path.hasPrefix(basePath) else { return nil }
        return PhotoSyncRoute(method: request.method, path: String(path.dropFirst(basePath.count)))
    }

    func answer(_ route: PhotoSyncRoute, to exchange: Exchange) async throws -> Answer {
        if let answer = exchange.answerBeforeBody { return answer }
        if let refusal = refusal(route, exchange) { return try await exchange.refusal(refusal) }
        let key = exchange.header("X-API-Key") ?? ""
        let user = key.isEmpty ? nil : try catalog.user(key: key)
        if user == nil, !route.isOpen {
            let reason = key.isEmpty ? "API key is required." : "Invalid API key."
            return try await exchange.refusal(.photoSyncError(.unauthorized, reason))
        }
        if let reply = exchange.plan.replyInsteadOfWork {
            try await exchange.readBody()
            return Answer(reply: reply)
        }
        do {
            return Answer(reply: try await work(route, exchange, user))
        } catch let refusal as PhotoSyncRefusal {
            return Answer(reply: refusal.reply)
        } catch is UnreadableJSON {
            return Answer(reply: .invalidRequestBody)
        } catch is BodyTooLarge {
            return Answer(reply: .webServerError(.requestEntityTooLarge), isEarly: true)
        } catch is DatabaseError {
            let json = Reply.photoSyncError(.internalServerError, "Database error.")
            return Answer(reply: route.place?.speaksJSON == true ? json : .photoSyncDatabaseError)
        }
    }

    /// The checks before the key is verified.
    private func refusal(_ route: PhotoSyncRoute, _ exchange: Exchange) -> Reply? {
        if let reply = catalog.outage.reply { return reply }
        if catalog.settings.setup == .incomplete, !route.isBeforeSetup {
            let error: JSONValue = [
                "error": "Setup required",
                "message": "The server has not been configured yet. Please complete the setup wizard.",
                "setupUrl": "/setup",
            ]
            return .photoSync(.serviceUnavailable, error)
        }
        switch route {
        case .notFound: return .photoSyncNotFound
        case .methodNotAllowed: return Reply(.methodNotAllowed, .photoSync, .empty)
        // The sandbox sets no cookies, so any cookie comes from another server.
        case .cookieOnly:
            let hasCookie = exchange.header("Cookie")?.contains("session_token=") ?? false
            return .photoSyncError(.unauthorized, hasCookie ? "Session expired or invalid." : "Session required.")
        default: return nil
        }
    }

    /// Without a user only the open routes are served.
    private func work(_ route: PhotoSyncRoute, _ exchange: Exchange, _ user: UserRecord?) async throws -> Reply {
        if route == .upload, let user {
            return try await PhotoUploadEndpoint(catalog: catalog, rewriter: rewriter).reply(to: exchange, from: user)
        }
        // Far above any request but an upload.
        let body = Array(buffer: try await exchange.collectBody(upTo: 64 << 20))
        if let user, let reply = try reply(route, exchange, body, user) { return reply }
        let isComplete = catalog.settings.setup == .complete
        return switch route {
        case .health: .photoSync(.ok, ["status": "healthy", "timestamp": .string(Timestamp.now().text)])
        case .version: .photoSync(.ok, ["version": "dev", "gitCommit": "unknown", "buildTime": "unknown"])
        case .info: .photoSync(.ok, ["appName": "PhotoSync"])
        case .setupStatus:
            .photoSync(
                .ok,
                [
                    "isComplete": .bool(isComplete), "databaseConfigured": .bool(isComplete),
                    "firebaseConfigured": false, "adminCreated": .bool(isComplete),
                ]
            )
        case .login: try PeopleEndpoint(catalog: catalog).login(body)
        case .refreshKey: .photoSyncText(.unauthorized, "Not authenticated")
        default: .photoSyncNotFound
        }
    }

    /// Nil for the routes that require no user.
    private func reply(
        _ route: PhotoSyncRoute,
        _ exchange: Exchange,
        _ body: [UInt8],
        _ user: UserRecord
    ) throws -> Reply? {
        let sync = SyncEndpoint(catalog: catalog)
        let photos = PhotosEndpoint(catalog: catalog)
        let people = PeopleEndpoint(catalog: catalog)
        let files = PhotoDownloadEndpoint(catalog: catalog)
        return switch route {
        case .status: try sync.status(exchange, of: user)
        case .list: try sync.list(body, of: user, exchange.plan)
        case .legacyPhotos: try sync.legacyPhotos(exchange.query, of: user)
        case .claim: try sync.claim(body, of: user)
        case .check: try photos.check(body)
        case .browse: try photos.browse(exchange.query)
        case .photo(let id): try photos.photo(id)
        case .deletePhoto(let id): try photos.delete(id)
        case .download(let id): try files.reply(id: id, to: exchange, from: user)
        case .downloadByHash(let hash): try files.reply(hash: hash, to: exchange, from: user)
        case .thumbnail(let id): try files.thumbnail(id: id, to: exchange, from: user)
        case .registerDevice: try people.register(body, for: user)
        case .devices: try people.devices(of: user)
        case .deleteDevice(let id): try people.delete(id, of: user)
        default: nil
        }
    }
}
