import ArgumentParser
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
        if let reply = catalog.outage.reply { return try await exchange.refusal(reply) }
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
        case .thumbnail(let id): try files.thumbnail(id: id, to: exchange, from: user)
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

/// How the PhotoSync half of a sandbox behaves.
struct PhotoSyncSettings: Sendable {
    /// Which build of the server this is (photosync contract, "Two builds matter").
    enum Build: String, Sendable, CaseIterable, ExpressibleByArgument {
        /// Uploads belong to their sender.
        case fixed
        /// Uploads have no owner and are purged; only one user can sign in again.
        case published
    }

    /// When the stored file of an upload is rewritten to carry the photo's id.
    enum Rewrite: Sendable, Equatable, ExpressibleByArgument {
        case never
        /// So many milliseconds after the reply; 0 is before it goes out.
        case after(milliseconds: Int)

        /// As it is written.
        var defaultValueDescription: String {
            switch self {
            case .never: "off"
            case .after(let milliseconds): String(milliseconds)
            }
        }

        /// Reads `off` or a number.
        init?(argument: String) {
            if argument == "off" {
                self = .never
            } else if let milliseconds = Int(argument), milliseconds >= 0 {
                self = .after(milliseconds: milliseconds)
            } else {
                return nil
            }
        }
    }

    /// Whether the administrator has finished the setup wizard.
    enum Setup: String, Sendable, CaseIterable, ExpressibleByArgument {
        case complete
        case incomplete
    }

    var build = Build.fixed
    var users = PhotoSyncUser.defaults
    var setup = Setup.complete
    var rewrite = Rewrite.after(milliseconds: 0)
    /// The build without PostgreSQL, whose sync calls do nothing.
    var isStub = false
    /// Largest photo in bytes.
    var maxSize = 52_428_800
    /// The path before `/api` when a reverse proxy serves it below a path; empty or `/photos`.
    var basePath = ""
}

/// The arguments about PhotoSync.
struct PhotoSyncArguments: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "fixed: uploads belong to their sender; published: to nobody, as in the server of 2026-01-11.",
            valueName: "build"
        )
    )
    var photosync = PhotoSyncSettings.Build.fixed

    @Option(
        name: .customLong("photosync-user"),
        help: ArgumentHelp(
            """
            Add a user, or replace a default one: alice@example.test:alice and bob@example.test:bob, whose API keys \
            are "a11ce" and "b0b" filled with zeros to 64 digits. Without a key only a login gives one. A user that \
            is in the data directory already stays as it is.
            """,
            valueName: "email:password[:key]"
        )
    )
    var users: [PhotoSyncUser] = []

    @Option(
        name: .customLong("api-key"),
        help: ArgumentHelp("The API key of a user, who is made when missing.", valueName: "email:key")
    )
    var keys: [APIKeyArgument] = []

    @Option(
        help: ArgumentHelp("incomplete: answer 503 until the setup is done.", valueName: "state")
    )
    var photosyncSetup = PhotoSyncSettings.Setup.complete

    @Option(
        help: ArgumentHelp(
            "Rewrite stored photos so long after the upload's answer; 0 before it, off never.",
            valueName: "milliseconds"
        )
    )
    var photosyncRewrite = PhotoSyncSettings.Rewrite.after(milliseconds: 0)

    @Flag(help: "Sync calls without effect, as in builds without PostgreSQL.")
    var photosyncStub = false

    @Option(help: ArgumentHelp("Largest photo.", valueName: "bytes"))
    var photosyncMaxSize = 52_428_800

    @Option(help: ArgumentHelp("Serve PhotoSync below a path, as a reverse proxy does.", valueName: "/path"))
    var basePath = ""

    func validate() throws {
        guard photosyncMaxSize >= 0 else { throw ValidationError("--photosync-max-size is a number from 0 on") }
        guard basePath.isEmpty || basePath.wholeMatch(of: /(\/[^\/]+)+/) != nil else {
            throw ValidationError("--base-path begins with a slash and ends without one")
        }
    }

    var settings: PhotoSyncSettings {
        var settings = PhotoSyncSettings()
        settings.build = photosync
        settings.users = allUsers
        settings.setup = photosyncSetup
        settings.rewrite = photosyncRewrite
        settings.isStub = photosyncStub
        settings.maxSize = photosyncMaxSize
        settings.basePath = basePath
        return settings
    }

    private var allUsers: [PhotoSyncUser] {
        let named = Set(users.map(\.email))
        var all = PhotoSyncUser.defaults.filter { !named.contains($0.email) } + users
        for key in keys {
            if let index = all.firstIndex(where: { $0.email == key.email }) {
                all[index].apiKey = key.key
            } else {
                all.append(PhotoSyncUser(email: key.email, password: nil, apiKey: key.key))
            }
        }
        return all
    }
}

/// `EMAIL:KEY` of the command line.
struct APIKeyArgument: Sendable, ExpressibleByArgument {
    var email: String
    var key: String

    init?(argument: String) {
        guard let match = argument.wholeMatch(of: /([^:]+@[^:]+):([^:]+)/) else { return nil }
        email = match.1.lowercased()
        key = String(match.2)
    }
}

/// A user of PhotoSync as the command line names one.
struct PhotoSyncUser: Sendable, Equatable, ExpressibleByArgument {
    var email: String
    /// Nil when the administrator never set one.
    var password: String?
    /// Nil makes a random one, which is unknown: such a user must sign in.
    var apiKey: String?

    /// Reads `EMAIL:PASSWORD[:KEY]`; a key is 64 hex digits, and an empty password is none.
    init?(argument: String) {
        let match = argument.wholeMatch(of: /([^:]+@[^:]+):(.*?)(?::([0-9a-f]{64}))?/)
        guard let match else { return nil }
        self.init(
            email: match.1.lowercased(),
            password: match.2.isEmpty ? nil : String(match.2),
            apiKey: match.3.map(String.init)
        )
    }

    init(email: String, password: String?, apiKey: String?) {
        self.email = email
        self.password = password
        self.apiKey = apiKey
    }

    /// Alice and Bob, whose keys are their names and zeros.
    static let defaults = [("alice", "a11ce"), ("bob", "b0b")].map { name, start in
        PhotoSyncUser(
            email: name + "@example.test",
            password: name,
            apiKey: start + String(repeating: "0", count: 64 - start.count)
        )
    }
}
