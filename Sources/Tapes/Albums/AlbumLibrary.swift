public import MediaStore

/// A back-end that holds albums (tapes contract 4.1): a folder of links, a photo server, the double of the tests.
///
/// Safe for many tasks at once. Every operation may be cancelled, and then throws `.cancelled`; what it has done stays.
/// Empty lists return at once without any call. An id that this library cannot have made is a mistake of the caller's and
/// throws `.rejected`, never `.albumMissing`.
public protocol AlbumLibrary: Sendable {
    /// `folder`, `immich`.
    var kind: String { get }
    /// Path of the root, or base address: the key of `AlbumLibraryRecord`.
    var address: String { get }

    /// Which instance this is, and who we are to it. Throws `.libraryChanged` when there is something at the address that
    /// cannot be told from another library (contract 4.2), `.unauthorized` when there is nothing yet.
    func identity() async throws(AlbumError) -> AlbumLibraryIdentity

    /// What is allowed. No side effect; asked once per process.
    func access(_ level: AccessLevel) async throws(AlbumError) -> AlbumAccess

    /// The same after asking the user, or making what is missing.
    func requestAccess(_ level: AccessLevel) async throws(AlbumError) -> AlbumAccess

    /// Whether an album is there.
    func album(_ id: String, hint: [UInt8]?) async throws(AlbumError) -> AlbumPresence

    /// The album that carries our mark of this tape (rule R4); nil when there is none. Needs `.readWrite`.
    func albumMarked(_ tapeID: String) async throws(AlbumError) -> MadeAlbum?

    /// Makes an album that never is one that existed. Needs `.addOnly`.
    func createAlbum(title: String, tapeID: String) async throws(AlbumError) -> MadeAlbum

    /// The library's names for originals, in the order of the clips, one for each. Needs `.addOnly`.
    ///
    /// - Parameters:
    ///   - clips: Of one tape.
    ///   - mayUpload: Whether an original that the library has not may be sent to it.
    /// - Returns: One resolution for each.
    /// - Throws: `AlbumError` when none could be asked for.
    func resolveAssets(_ clips: [ClipRecord], mayUpload: Bool) async throws(AlbumError) -> [AssetResolution]

    /// Adds assets, in their order. One result for each. Throws `.albumMissing` when the album is gone. Needs `.addOnly`.
    func add(_ assets: [AlbumAsset], to albumID: String, hint: [UInt8]?) async throws(AlbumError) -> [AddResult]

    /// Takes assets out of an album, never out of the library. One result for each; one that is not there is removed. Needs
    /// `.readWrite`.
    func remove(_ assetIDs: [[UInt8]], from albumID: String, hint: [UInt8]?) async throws(AlbumError) -> [RemoveResult]

    /// Deletes an album, never an original or an asset. Needs `.readWrite`, and the flag (rule R11), which the service
    /// checks.
    func deleteAlbum(_ id: String, hint: [UInt8]?) async throws(AlbumError) -> AlbumDeletion

    /// Writes what the library keeps of a tape's order, for example a playlist; nothing where there is no such thing.
    func arrange(_ albumID: String, hint: [UInt8]?, tape: TapeRecord, clips: [ClipRecord]) async throws(AlbumError)
}
