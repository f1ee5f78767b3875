public import MediaStore
public import MediaTransport

/// Albums of an Immich server, major version 2 or later (tapes contract section 6).
public struct ImmichLibrary: AlbumLibrary {
    /// The base of every call: the user's address, with `/api` unless it ends with it.
    public let base: ServerURL
    /// Whether a key is known.
    public var hasKey: Bool { authorization != nil }
    let http: HTTPClient
    let authorization: Authorization?
    let timeouts: TransferTimeouts
    let store: LibraryStore
    /// Prefixes of local paths, as bytes, and what the server calls them (contract 6.3, 3).
    let pathMap: [(local: [UInt8], server: String)]
    /// Gets the path of a file that is being sent, the bytes sent and their total, on another thread.
    let progress: (@Sendable (_ path: [UInt8], _ sent: Int64, _ total: Int64) -> Void)?

    /// Makes a library.
    ///
    /// - Parameters:
    ///   - server: The user's address.
    ///   - http: Talks to it.
    ///   - key: API key; nil when none is known.
    ///   - timeouts: Silence limits.
    ///   - store: Keeps checksums, and which account was at the address.
    ///   - pathMap: Prefixes of local paths, as bytes, and what the server calls them.
    ///   - progress: Gets the path of a file that is being sent, the bytes sent and their total, on another thread.
    public init(
        server: ServerURL,
        http: HTTPClient,
        key: String?,
        timeouts: TransferTimeouts,
        store: LibraryStore,
        pathMap: [(local: [UInt8], server: String)] = [],
        progress: (@Sendable (_ path: [UInt8], _ sent: Int64, _ total: Int64) -> Void)? = nil
    ) {
        base = server
        self.http = http
        authorization = key.map { .apiKey($0, header: "x-api-key", for: server.origin) }
        self.timeouts = timeouts
        self.store = store
        self.pathMap = pathMap
        self.progress = progress
    }

    public var kind: String { "immich" }

    public var address: String { "\(base)" }

    public func identity() async throws(AlbumError) -> AlbumLibraryIdentity { throw AlbumError(.libraryChanged) }

    public func access(_ level: AccessLevel) async throws(AlbumError) -> AlbumAccess {
        throw AlbumError(.libraryChanged)
    }

    public func requestAccess(_ level: AccessLevel) async throws(AlbumError) -> AlbumAccess {
        throw AlbumError(.libraryChanged)
    }

    public func album(_ id: String, hint: [UInt8]?) async throws(AlbumError) -> AlbumPresence {
        throw AlbumError(.libraryChanged)
    }

    public func albumMarked(_ tapeID: String) async throws(AlbumError) -> MadeAlbum? {
        throw AlbumError(.libraryChanged)
    }

    public func createAlbum(title: String, tapeID: String) async throws(AlbumError) -> MadeAlbum {
        throw AlbumError(.libraryChanged)
    }

    public func resolveAssets(
        _ clips: [ClipRecord],
        mayUpload: Bool
    ) async throws(AlbumError) -> [AssetResolution] {
        throw AlbumError(.libraryChanged)
    }

    public func add(
        _ assets: [AlbumAsset],
        to albumID: String,
        hint: [UInt8]?
    ) async throws(AlbumError) -> [AddResult] {
        throw AlbumError(.libraryChanged)
    }

    public func remove(
        _ assetIDs: [[UInt8]],
        from albumID: String,
        hint: [UInt8]?
    ) async throws(AlbumError) -> [RemoveResult] {
        throw AlbumError(.libraryChanged)
    }

    public func deleteAlbum(_ id: String, hint: [UInt8]?) async throws(AlbumError) -> AlbumDeletion {
        throw AlbumError(.libraryChanged)
    }

    public func arrange(
        _ albumID: String,
        hint: [UInt8]?,
        tape: TapeRecord,
        clips: [ClipRecord]
    ) async throws(AlbumError) {
        throw AlbumError(.libraryChanged)
    }
}
