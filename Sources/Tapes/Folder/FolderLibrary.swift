public import MediaStore

/// Albums as folders of symbolic links (tapes contract section 5): every file manager shows them, no server is needed, and
/// originals are only referred to.
public struct FolderLibrary: AlbumLibrary {
    /// Where the albums are.
    public struct Root: Sendable {
        /// Absolute path, as bytes.
        public var path: [UInt8]
        /// The directory of pictures, as bytes: links to originals below it are relative when the root is below it too.
        public var picturesDirectory: [UInt8]?
        /// Whether the settings name it; the default root is made only where the directory of pictures exists.
        public var isConfigured: Bool

        /// Makes a place.
        public init(path: [UInt8], picturesDirectory: [UInt8]?, isConfigured: Bool) {
            self.path = path
            self.picturesDirectory = picturesDirectory
            self.isConfigured = isConfigured
        }
    }

    /// Where the albums are.
    public let root: Root
    let directory: DataDirectory
    let store: LibraryStore
    /// Asks whether the root may be made; nil where nobody can be asked.
    let confirm: (@Sendable (_ path: [UInt8]) async -> Bool)?

    /// Makes a library.
    ///
    /// - Parameters:
    ///   - root: Where the albums are.
    ///   - directory: Where its lock is.
    ///   - store: Knows which library was at the root.
    ///   - confirm: Asks whether the root may be made; nil where nobody can be asked.
    public init(
        root: Root,
        directory: DataDirectory,
        store: LibraryStore,
        confirm: (@Sendable (_ path: [UInt8]) async -> Bool)? = nil
    ) {
        self.root = root
        self.directory = directory
        self.store = store
        self.confirm = confirm
    }

    public var kind: String { "folder" }

    public var address: String { String(decoding: root.path, as: UTF8.self) }

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
