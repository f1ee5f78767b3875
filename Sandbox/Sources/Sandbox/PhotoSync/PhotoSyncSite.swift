import GRDB
import HTTPTypes
import HummingbirdCore
import NIOCore

/// The routes of PhotoSync.
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

    func response(_ route: PhotoSyncRoute, to exchange: Exchange) async throws -> Response {
        if let response = exchange.responseBeforeBody { return response }
        if let refusal = refusal(route, exchange) { return try await exchange.refusal(refusal) }
        let key = exchange.header("X-API-Key") ?? ""
        let user = key.isEmpty ? nil : try catalog.user(key: key)
        if user == nil, !route.isOpen {
            let reason = key.isEmpty ? "API key is required." : "Invalid API key."
            return try await exchange.refusal(.photoSyncError(.unauthorized, reason))
        }
        if let response = exchange.plan.responseInsteadOfWork {
            try await exchange.readBody()
            return response
        }
        do {
            return try await work(route, exchange, user)
        } catch let refusal as PhotoSyncRefusal {
            return refusal.response
        } catch is UnreadableJSON {
            return .invalidRequestBody
        } catch is BodyTooLarge {
            return .webServerError(.requestEntityTooLarge).early
        } catch is DatabaseError {
            return route.place?.sendsJSON == true
                ? .photoSyncError(.internalServerError, "Database error.") : .photoSyncDatabaseError
        }
    }

    /// The refusal from a check that precedes the key check; nil if there is none.
    private func refusal(_ route: PhotoSyncRoute, _ exchange: Exchange) -> Response? {
        if let response = catalog.outage.response { return response }
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
        case .methodNotAllowed: return Response(.methodNotAllowed, .photoSync, .empty)
        default: return nil
        }
    }

    /// `user` is nil only for open routes.
    private func work(_ route: PhotoSyncRoute, _ exchange: Exchange, _ user: UserRecord?) async throws -> Response {
        if route == .upload, let user {
            return try await PhotoUploadEndpoint(catalog: catalog, rewriter: rewriter).response(
                to: exchange,
                from: user
            )
        }
        // Larger than any request except an upload.
        let body = Array(buffer: try await exchange.collectBody(upTo: 64 << 20))
        if let user, let response = try response(route, exchange, body, user) { return response }
        let isComplete = catalog.settings.setup == .complete
        return switch route {
        case .health: .photoSync(.ok, ["status": "healthy", "timestamp": .string(Timestamp.now().text)])
        case .version: .photoSync(.ok, ["version": "dev", "gitCommit": "unknown", "buildTime": "unknown"])
        case .setupStatus:
            .photoSync(
                .ok,
                [
                    "isComplete": .bool(isComplete), "databaseConfigured": .bool(isComplete),
                    "firebaseConfigured": false, "adminCreated": .bool(isComplete),
                ]
            )
        case .login: try PeopleEndpoint(catalog: catalog).login(body)
        default: .photoSyncNotFound
        }
    }

    /// Nil for routes that do not require a user.
    private func response(
        _ route: PhotoSyncRoute,
        _ exchange: Exchange,
        _ body: [UInt8],
        _ user: UserRecord
    ) throws -> Response? {
        let sync = SyncEndpoint(catalog: catalog)
        let photos = PhotosEndpoint(catalog: catalog)
        let people = PeopleEndpoint(catalog: catalog)
        let files = PhotoDownloadEndpoint(catalog: catalog)
        return switch route {
        case .status: try sync.status(exchange, of: user)
        case .list: try sync.list(body, of: user, exchange.plan)
        case .claim: try sync.claim(body, of: user)
        case .check: try photos.check(body)
        case .photo(let id): try photos.photo(id)
        case .deletePhoto(let id): try photos.delete(id)
        case .download(let id): try files.response(id: id, to: exchange, from: user)
        case .thumbnail(let id): try files.thumbnail(id: id, to: exchange, from: user)
        case .registerDevice: try people.register(body, for: user)
        case .devices: try people.devices(of: user)
        case .deleteDevice(let id): try people.delete(id, of: user)
        default: nil
        }
    }
}
