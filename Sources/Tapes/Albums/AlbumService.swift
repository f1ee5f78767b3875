public import Foundation
public import MediaStore

/// Brings tapes into albums of one library: rules R1 to R18 of the tapes contract live here, below every command.
///
/// Safe for many processes at once: albums of one tape are worked on one at a time. Trouble with the library is no error but
/// a state of the tape and its clips (rule R9); what is thrown is the store's trouble, and cancelling.
public struct AlbumService: Sendable {
    /// What the settings allow.
    public struct Policy: Sendable {
        /// `albums.enabled`; false makes every call answer `.skipped` (rule R18).
        public var isEnabled: Bool
        /// Whether originals that the library has not may be sent to it.
        public var mayUpload: Bool
        /// `features.deleteAssociatedAlbum` (rules R11, R12).
        public var deletesAlbums: Bool

        /// Makes a policy; by default albums are on, uploading too, deleting off.
        public init(isEnabled: Bool = true, mayUpload: Bool = true, deletesAlbums: Bool = false) {
            self.isEnabled = isEnabled
            self.mayUpload = mayUpload
            self.deletesAlbums = deletesAlbums
        }
    }

    /// Keeps tapes, links and tombstones.
    public let store: LibraryStore
    /// Where its locks are.
    public let directory: DataDirectory
    /// The back-end in use.
    public let library: any AlbumLibrary
    /// What the settings allow.
    public let policy: Policy
    /// Called with what happens (rule R19): for logs. Titles and paths only in events that say so.
    public let report: @Sendable (AlbumEvent) -> Void
    /// This machine's clock.
    public let now: @Sendable () -> Date

    /// Makes a service.
    public init(
        store: LibraryStore,
        directory: DataDirectory,
        library: any AlbumLibrary,
        policy: Policy,
        now: @escaping @Sendable () -> Date = { Date() },
        report: @escaping @Sendable (AlbumEvent) -> Void = { _ in }
    ) {
        self.store = store
        self.directory = directory
        self.library = library
        self.policy = policy
        self.now = now
        self.report = report
    }

    /// Makes sure that a tape has its album, and that every pending clip is in it: steps 3 to 8 of rule R2, after the clips
    /// were committed.
    ///
    /// Cancelling ends it with `.cancelled`; what the library has confirmed is kept.
    ///
    /// - Parameters:
    ///   - tapeID: A tape; nothing happens for one that is gone, or empty.
    ///   - isAsked: Whether the user asked for this very thing (`reconcile --apply`, `library grant`): then refused access
    ///     and backoff are tried again at once.
    /// - Throws: `TapesError` `.storeUnusable`, `.cancelled`.
    public func associate(_ tapeID: String, isAsked: Bool = false) async throws(TapesError) -> AlbumOutcome {
        throw TapesError(.internalError, detail: "not there yet")
    }

    /// Files a rendered video into the tape's own album (rule R16).
    ///
    /// - Parameters:
    ///   - path: Absolute path of the video, as bytes.
    ///   - tapeID: A tape with clips.
    /// - Throws: `TapesError` `.storeUnusable`, `.cancelled`.
    public func file(_ path: [UInt8], into tapeID: String) async throws(TapesError) -> AlbumOutcome {
        throw TapesError(.internalError, detail: "not there yet")
    }

    /// Tells the library a tape's new order, where it keeps one. Never makes an album.
    ///
    /// - Throws: `TapesError` `.storeUnusable`, `.cancelled`.
    public func rearrange(_ tapeID: String) async throws(TapesError) -> AlbumOutcome {
        throw TapesError(.internalError, detail: "not there yet")
    }

    /// Removes clips from a tape; with the flag on also from the album, unless another clip uses the same original (R12).
    ///
    /// - Returns: The clips that were removed, and what became of the album.
    /// - Throws: `TapesError` `.storeUnusable`, `.cancelled`.
    public func removeClips(
        _ clipIDs: [String],
        of tapeID: String
    ) async throws(TapesError) -> (removed: [ClipRecord], album: AlbumOutcome) {
        throw TapesError(.internalError, detail: "not there yet")
    }

    /// Deletes a tape; with the flag on also its album, unless it is to be kept (R11).
    ///
    /// - Throws: `TapesError` `.tapeNotFound`, `.storeUnusable`, `.cancelled`.
    public func deleteTape(_ tapeID: String, keepingAlbum: Bool) async throws(TapesError) -> TapeDeletion {
        throw TapesError(.internalError, detail: "not there yet")
    }

    /// What `reconcile` would do. No call to the library.
    ///
    /// - Throws: `TapesError` `.storeUnusable`.
    public func reconcilePlan() throws(TapesError) -> ReconcilePlan {
        throw TapesError(.internalError, detail: "not there yet")
    }

    /// Works off pending tapes, then tombstones, one at a time; stops at the first error of the whole library (R13).
    ///
    /// - Parameters:
    ///   - limit: Tapes at most.
    ///   - each: Called after each tape.
    /// - Throws: `TapesError` `.storeUnusable`, `.cancelled`.
    public func reconcile(
        limit: Int,
        each: @Sendable (TapeRecord, AlbumOutcome) -> Void
    ) async throws(TapesError) -> ReconcileOutcome {
        throw TapesError(.internalError, detail: "not there yet")
    }

    /// Asks the library for every stored album, and marks the tapes whose album is gone; makes none.
    ///
    /// - Throws: `TapesError` `.libraryUnusable`, `.storeUnusable`, `.cancelled`.
    public func verifyAlbums(
        each: @Sendable (AlbumLink, AlbumPresence) -> Void
    ) async throws(TapesError) -> Int {
        throw TapesError(.internalError, detail: "not there yet")
    }

    /// Makes an album that the user names the tape's (rule R3). Needs `.readWrite`.
    ///
    /// - Throws: `TapesError` `.tapeNotFound`, `.albumNotFound`, `.albumTaken`, `.libraryUnusable`, `.storeUnusable`.
    public func link(_ tapeID: String, to albumID: String) async throws(TapesError) -> AlbumLink {
        throw TapesError(.internalError, detail: "not there yet")
    }

    /// Forgets the album of a tape in this library; the album stays as it is.
    ///
    /// - Returns: What was forgotten; nil when there was none.
    /// - Throws: `TapesError` `.tapeNotFound`, `.storeUnusable`.
    public func unlink(_ tapeID: String) async throws(TapesError) -> AlbumLink? {
        throw TapesError(.internalError, detail: "not there yet")
    }

    /// The link that counts now: that of the library that was last found at this address. No call to the library.
    ///
    /// - Throws: `TapesError` `.storeUnusable`.
    public func knownLink(of tapeID: String) throws(TapesError) -> AlbumLink? {
        throw TapesError(.internalError, detail: "not there yet")
    }

    /// Which library this is, and what it allows. Changes nothing.
    ///
    /// - Throws: `TapesError` `.storeUnusable`, `.cancelled`.
    public func status() async throws(TapesError) -> LibraryStatus {
        throw TapesError(.internalError, detail: "not there yet")
    }

    /// Asks for access anew (`library init`, `library grant`), and forgets what it was refused with.
    ///
    /// - Throws: `TapesError` `.storeUnusable`, `.cancelled`.
    public func requestAccess(_ level: AccessLevel) async throws(TapesError) -> LibraryStatus {
        throw TapesError(.internalError, detail: "not there yet")
    }
}
