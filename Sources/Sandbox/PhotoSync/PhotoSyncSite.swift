import GRDB
import HTTPTypes
import HummingbirdCore
import NIOCore

/// The PhotoSync half of the server: gate, keys, and who answers what.
struct PhotoSyncSite: Sendable {
    let catalog: PhotoCatalog
    let rewriter: PhotoRewriter

    init(folder: DataFolder, settings: PhotoSyncSettings) throws {
        catalog = try PhotoCatalog(folder: folder, settings: settings)
        rewriter = PhotoRewriter(folder: folder, rewrite: settings.rewrite)
    }

    /// Nil when the request is not for PhotoSync.
    func route(_ request: Request) -> PhotoSyncRoute? {
        let path = (request.head.path ?? "/").prefix { $0 != "?" }
        guard path.hasPrefix(catalog.settings.basePath) else { return nil }
        return PhotoSyncRoute(
            method: request.method,
            path: String(path.dropFirst(catalog.settings.basePath.count))
        )
    }

    func answer(_ route: PhotoSyncRoute, to exchange: Exchange) async throws -> Answer {
        if let answer = exchange.answerBeforeBody { return answer }
        if catalog.settings.setup == .incomplete, !route.isBeforeSetup {
            return try await exchange.refusal(Self.setupRequired)
        }
        switch route {
        case .notFound: return try await exchange.refusal(.photoSyncNotFound)
        case .methodNotAllowed: return try await exchange.refusal(.photoSyncMethodNotAllowed)
        case .cookieOnly: return try await exchange.refusal(Self.cookieRefusal(exchange))
        default: break
        }
        let user = try user(of: exchange)
        if user == nil, !route.isOpen { return try await exchange.refusal(Self.keyRefusal(exchange)) }
        if let reply = exchange.plan.replyInsteadOfWork {
            try await exchange.readBody { _ in }
            return Answer(reply: reply)
        }
        do {
            return Answer(reply: try await work(route, exchange, user))
        } catch is UnreadableJSON {
            return Answer(reply: .invalidRequestBody)
        } catch is BodyTooLarge {
            return Answer(reply: .webServerError(.requestEntityTooLarge), isEarly: true)
        } catch is DatabaseError {
            return Answer(reply: route.place?.speaksJSON == true ? Self.jsonDatabaseError : .photoSyncDatabaseError)
        }
    }

    // MARK: Refusing

    private static let setupRequired = Reply.photoSync(
        .serviceUnavailable,
        [
            "error": "Setup required",
            "message": "The server has not been configured yet. Please complete the setup wizard.",
            "setupUrl": "/setup",
        ]
    )

    private static let jsonDatabaseError = Reply.photoSyncError(.internalServerError, "Database error.")

    private func user(of exchange: Exchange) throws -> UserRecord? {
        guard let key = exchange.header("X-API-Key"), !key.isEmpty else { return nil }
        return try catalog.user(key: key)
    }

    private static func keyRefusal(_ exchange: Exchange) -> Reply {
        let isMissing = exchange.header("X-API-Key")?.isEmpty ?? true
        return .photoSyncError(.unauthorized, isMissing ? "API key is required." : "Invalid API key.")
    }

    /// The sandbox hands out no cookies, so any there is comes from elsewhere.
    private static func cookieRefusal(_ exchange: Exchange) -> Reply {
        let hasCookie = exchange.header("Cookie")?.contains("session_token=") ?? false
        return .photoSyncError(.unauthorized, hasCookie ? "Session expired or invalid." : "Session required.")
    }

    // MARK: Working

    /// Without a user only the open routes get here.
    private func work(_ route: PhotoSyncRoute, _ exchange: Exchange, _ user: UserRecord?) async throws -> Reply {
        if route == .upload, let user {
            return try await PhotoUploadEndpoint(catalog: catalog, rewriter: rewriter).reply(to: exchange, from: user)
        }
        let body = Array(buffer: try await exchange.collectBody(upTo: Self.bodyLimit))
        if let user, let reply = try reply(route, exchange, body, user) { return reply }
        return switch route {
        case .health: .photoSync(.ok, ["status": "healthy", "timestamp": .string(GoTime.now().text)])
        case .version: .photoSync(.ok, ["version": "dev", "gitCommit": "unknown", "buildTime": "unknown"])
        case .info: .photoSync(.ok, ["appName": "PhotoSync"])
        case .setupStatus: .photoSync(.ok, setupStatus)
        case .login: try PeopleEndpoint(catalog: catalog).login(body)
        case .refreshKey: .photoSyncText(.unauthorized, "Not authenticated")
        default: .photoSyncNotFound
        }
    }

    /// Far beyond any request but an upload.
    private static let bodyLimit = 64 << 20

    /// Nil for the routes that need no user.
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
        case .thumbnail(let id): try files.thumbnail(id: id, from: user)
        case .registerDevice: try people.register(body, for: user)
        case .devices: try people.devices(of: user)
        case .deleteDevice(let id): try people.delete(id, of: user)
        default: nil
        }
    }

    private var setupStatus: JSONValue {
        let isComplete = catalog.settings.setup == .complete
        return [
            "isComplete": .bool(isComplete),
            "databaseConfigured": .bool(isComplete),
            "firebaseConfigured": false,
            "adminCreated": .bool(isComplete),
        ]
    }
}
