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
