public import Foundation
public import MediaStore

/// Brings tapes into albums of one library: rules R1 to R18 of the tapes contract live here, below every command.
///
/// Safe for many processes at once: albums of one tape are worked on one at a time. Trouble with the library is no error but
/// a state of the tape and its clips (rule R9); what is thrown is the store's trouble, and cancelling.
///
/// ## Topics
///
/// ### Bringing tapes into albums
/// - ``associate(_:isAsked:)``
/// - ``file(_:into:)``
/// - ``rearrange(_:)``
///
/// ### Taking away
/// - ``removeClips(_:of:)``
/// - ``deleteTape(_:keepingAlbum:)``
///
/// ### Making good
/// - ``reconcilePlan()``
/// - ``reconcile(limit:each:)``
/// - ``verifyAlbums(each:)``
///
/// ### By hand
/// - ``link(_:to:)``
/// - ``unlink(_:)``
/// - ``knownLink(of:)``
///
/// ### Access
/// - ``status()``
/// - ``requestAccess(_:)``
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
        policy: Policy = Policy(),
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

    /// Whether anything of albums may be taken away: the one place that is asked (rules R11, R12, R18).
    var mayDelete: Bool { policy.isEnabled && policy.deletesAlbums }

    /// Runs `work` while no other task, of this process or another, works on the albums of a tape (rule R2.3).
    func locked<Value>(
        _ tapeID: String,
        _ work: () async throws(TapesError) -> Value
    ) async throws(TapesError) -> Value {
        let lock: AlbumLock
        do {
            lock = try await AlbumLock.acquire(.tape(tapeID), in: directory)
        } catch let error as StoreError {
            throw TapesError(error)
        } catch {
            throw TapesError(.cancelled)
        }
        defer { lock.release() }
        return try await work()
    }

    /// A question to the store, or a change of it.
    func stored<Value>(_ body: () throws(StoreError) -> Value) throws(TapesError) -> Value {
        do throws(StoreError) { return try body() } catch { throw TapesError(error) }
    }
}
