public import Foundation
internal import MediaFiles
public import MediaStore
internal import MediaSystem

/// Maintains the albums of tapes in one library: implements rules R1 to R18 of the tapes contract for all commands.
///
/// Safe for concurrent processes: only one process at a time changes the albums of a tape. A failure of the library is
/// not an error but a state of the tape and its clips (rule R9); only store errors and cancellation are thrown.
///
/// ## Topics
///
/// ### Updating albums
/// - ``associate(_:isRequested:)``
/// - ``file(_:into:)``
/// - ``rearrange(_:)``
///
/// ### Removing
/// - ``removeClips(_:of:)``
/// - ``deleteTape(_:keepingAlbum:)``
///
/// ### Reconciling
/// - ``reconcilePlan()``
/// - ``reconcile(limit:each:)``
/// - ``verifyAlbums(each:)``
///
/// ### Repairing
/// - ``look(at:_:)``
/// - ``verify(_:)``
/// - ``repair(_:)``
/// - ``leftovers()``
/// - ``removeLeftovers(_:)``
///
/// ### Linking manually
/// - ``link(_:to:)``
/// - ``unlink(_:)``
/// - ``knownLink(of:)``
///
/// ### Access
/// - ``status()``
/// - ``requestAccess(_:)``
public struct AlbumService: Sendable {
    /// The operations that the settings allow.
    public struct Policy: Sendable {
        /// `albums.enabled`; if false, the library is never used (rule R18).
        public var isEnabled: Bool
        /// Whether missing originals may be uploaded.
        public var mayUpload: Bool
        /// `features.deleteAssociatedAlbum` (rules R11, R12).
        public var deletesAlbums: Bool

        /// Creates a policy; by default, albums and uploads are enabled and deletion is disabled.
        public init(isEnabled: Bool = true, mayUpload: Bool = true, deletesAlbums: Bool = false) {
            self.isEnabled = isEnabled
            self.mayUpload = mayUpload
            self.deletesAlbums = deletesAlbums
        }
    }

    /// Stores tapes, links and tombstones.
    public let store: LibraryStore
    /// Contains the service's locks.
    public let directory: DataDirectory
    public let library: any AlbumLibrary
    public let policy: Policy
    /// Called with events (rule R19), for logs. Titles and paths are in `details` only.
    public let report: @Sendable (AlbumEvent) -> Void
    public let now: @Sendable () -> Date

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

    /// Whether albums or their contents may be removed. Always check this property, never the policy (rules R11, R12,
    /// R18).
    var mayDelete: Bool { policy.isEnabled && policy.deletesAlbums }

    /// Runs `work` while no other task or process changes the albums of the tape (rule R2.3).
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

    func report(
        _ kind: AlbumEvent.Kind,
        _ tapeID: String,
        album albumID: String?,
        _ message: String = "",
        details: String = ""
    ) {
        report(AlbumEvent(kind: kind, tapeID: tapeID, albumID: albumID, message: message, details: details))
    }
}

extension AlbumService {
    /// The identity of the library, and access to it. Changes nothing. If albums are disabled, nothing is sent.
    ///
    /// - Throws: `TapesError` `.cancelled`.
    public func status() async throws(TapesError) -> LibraryStatus {
        var status = LibraryStatus(kind: library.kind, address: library.address)
        guard policy.isEnabled else {
            status.detail = "albums are disabled"
            return status
        }
        let refused = try record()?.refusedFingerprint
        do throws(AlbumError) {
            status.addOnly = try await library.access(.addOnly)
            status.readWrite = try await library.access(.readWrite)
            if let refused, refused == status.addOnly?.fingerprint {
                // The user declined to create the library (rule R10).
                status.addOnly?.willBeCreated = false
                status.readWrite?.willBeCreated = false
            }
            guard status.addOnly?.state != .notDetermined else { return status }
            status.identity = try await library.identity()
        } catch {
            guard error.kind != .cancelled else { throw TapesError(.cancelled, underlying: error) }
            status.reason = AlbumFailure(error).reason
            status.detail = error.detail
            status.obstacle = error.obstacle
        }
        return status
    }

    /// Requests access again (`library init`, `library grant`), and clears an earlier refusal (rule R10). Returns the
    /// resulting status.
    ///
    /// - Throws: `TapesError` `.storeUnusable`, `.cancelled`.
    public func requestAccess(_ level: AccessLevel) async throws(TapesError) -> LibraryStatus {
        guard policy.isEnabled else { return try await status() }
        try forgetRefusal()
        var failure: AlbumError?
        do throws(AlbumError) {
            _ = try await library.requestAccess(level)
        } catch {
            guard error.kind != .cancelled else { throw TapesError(.cancelled, underlying: error) }
            failure = error
        }
        var status = try await status()
        if let failure {
            status.reason = AlbumFailure(failure).reason
            status.detail = failure.detail
            status.obstacle = failure.obstacle
        } else if let identity = status.identity, let access = status.addOnly, access.isGranted {
            let id = try record().flatMap(identity.knownID) ?? identity.libraryID
            try keep(OpenLibrary(id: id, access: access, identity: identity), isGranted: true)
        }
        return status
    }
}

extension AlbumAccess {
    /// False for a library that refuses access, which must not be recorded as the last successful one.
    fileprivate var isGranted: Bool {
        switch state {
        case .authorized, .limited: true
        case .notDetermined, .restricted, .denied: false
        }
    }
}

extension AlbumService {
    /// Ensures that a tape has an album with every pending clip: steps 3 to 8 of rule R2, after the clips were
    /// committed.
    ///
    /// A deleted or empty tape is skipped. `isRequested` is whether the user explicitly requested the update
    /// (`reconcile --apply`, `library grant`); earlier refusals and backoff are then ignored. After a cancellation,
    /// results confirmed by the library are stored.
    ///
    /// - Throws: `TapesError` `.storeUnusable`, `.cancelled`.
    public func associate(_ tapeID: String, isRequested: Bool = false) async throws(TapesError) -> AlbumOutcome {
        TapeFailpoint.clipsCommitted.reach()
        return try await attempt(tapeID, isRequested: isRequested).outcome
    }

    /// Adds a rendered video to the tape's album (rule R16). Returns `.partly` if the album exists without the video.
    ///
    /// - Throws: `TapesError` `.storeUnusable`, `.cancelled`.
    public func file(_ path: [UInt8], into tapeID: String) async throws(TapesError) -> AlbumOutcome {
        try await attempt(tapeID, isRequested: false, filing: path).outcome
    }

    /// Updates a tape's order in the library, if the library has an order. Never creates an album. Returns `.skipped`
    /// for a tape without an album.
    ///
    /// - Throws: `TapesError` `.storeUnusable`, `.cancelled`.
    public func rearrange(_ tapeID: String) async throws(TapesError) -> AlbumOutcome {
        guard policy.isEnabled else { return .skipped }
        return try await locked(tapeID) { () async throws(TapesError) in
            guard let tape = try stored(store.tape(tapeID)),
                let link = try knownLink(of: tapeID)
            else { return .skipped }
            let clips = try stored(store.clips(of: tapeID))
            let failure = try await arrange(tape, clips, in: link)
            return AlbumOutcome(
                state: failure == nil ? .associated : .partly,
                link: link,
                reason: failure?.reason,
                detail: failure?.detail ?? "",
                obstacle: failure?.obstacle,
                pendingClips: clips.count { $0.association != .linked }
            )
        }
    }

    /// - Returns: Why the order was not updated, which does not affect any clip; nil on success.
    func arrange(
        _ tape: TapeRecord,
        _ clips: [ClipRecord],
        in link: AlbumLink
    ) async throws(TapesError) -> AlbumFailure? {
        do {
            try await library.arrange(link.albumID, hint: link.hint, tape: tape, clips: clips)
            return nil
        } catch {
            let failure = try AlbumFailure(caught: error)
            let message = "its order is not up to date: \(failure.reason.rawValue)"
            report(.pending, tape.id, album: link.albumID, message, details: failure.detail)
            return failure
        }
    }

    /// Makes one attempt under the tape's lock. Returns the outcome, and whether the library would refuse all other
    /// tapes.
    func attempt(
        _ tapeID: String,
        isRequested: Bool,
        filing path: [UInt8]? = nil
    ) async throws(TapesError) -> (outcome: AlbumOutcome, isLibraryWide: Bool) {
        // The switch that disables albums, at the lowest level (rule R18).
        guard policy.isEnabled else { return (.skipped, false) }
        return try await locked(tapeID) { () async throws(TapesError) in
            // Read again under the lock: a tape deleted in the meantime does not get an album (rule R2.3, trap 6).
            guard var attempt = try AlbumAttempt(self, tapeID: tapeID, isRequested: isRequested, filing: path) else {
                return (.skipped, false)
            }
            TapeFailpoint.lockTaken.reach()
            return try await attempt.run()
        }
    }
}

// Manual links: the only way to use an album that was not created for the tape (rule R3).
extension AlbumService {
    /// Links an existing album to a tape. Requires `.readWrite`. All clips in the tape become pending.
    ///
    /// - Throws: `TapesError` `.albumsOff`, `.tapeNotFound`, `.albumNotFound`, `.albumTaken`, `.libraryUnusable`,
    ///   `.storeUnusable`, `.cancelled`.
    public func link(_ tapeID: String, to albumID: String) async throws(TapesError) -> AlbumLink {
        guard policy.isEnabled else { throw TapesError(.albumsOff) }
        return try await locked(tapeID) { () async throws(TapesError) in
            guard try stored(store.tape(tapeID)) != nil else {
                throw TapesError(.tapeNotFound, value: tapeID)
            }
            let opened = try await usable { try await open(.readWrite) }
            let holders = try stored(store.albumLinks(in: opened.id))
            if let holder = holders.first(where: { $0.albumID == albumID && $0.tapeID != tapeID }) {
                throw TapesError(.albumTaken, value: albumID).with(\.candidates, [holder.tapeID])
            }
            try keep(opened, isGranted: false)
            let link = try await found(albumID, for: tapeID, opened)
            let isKept = try stored(store.keep(link))
            guard isKept else { throw TapesError(.tapeNotFound, value: tapeID) }
            report(.reuse, tapeID, album: albumID, "linked by hand")
            return link
        }
    }

    private func found(
        _ albumID: String,
        for tapeID: String,
        _ opened: OpenLibrary
    ) async throws(TapesError) -> AlbumLink {
        let presence: AlbumPresence
        do throws(AlbumError) {
            presence = try await library.album(albumID, hint: nil)
        } catch {
            switch error.kind {
            case .cancelled: throw TapesError(.cancelled, underlying: error)
            case .albumMissing, .rejected:
                throw TapesError(.albumNotFound, detail: error.detail, value: albumID, underlying: error)
            default: throw TapesError(.libraryUnusable, detail: error.detail, underlying: error)
            }
        }
        switch presence {
        case .found(let title, let hint, _):
            return link(tapeID, MadeAlbum(id: albumID, title: title, hint: hint), opened)
        case .missing: throw TapesError(.albumNotFound, value: albumID)
        case .damaged(let detail):
            throw TapesError(.libraryUnusable, value: albumID, underlying: AlbumError(.albumDamaged, detail: detail))
        case .unknown: throw TapesError(.libraryUnusable, detail: "reading albums is not permitted", value: albumID)
        }
    }

    /// The link of a tape to an album that was just created or found.
    func link(_ tapeID: String, _ album: MadeAlbum, _ opened: OpenLibrary) -> AlbumLink {
        AlbumLink(
            tapeID: tapeID,
            libraryID: opened.id,
            albumID: album.id,
            titleAtCreation: album.title,
            ownerID: album.ownerID,
            hint: album.hint,
            createdAt: now(),
            verifiedAt: now()
        )
    }

    /// Removes the link between a tape and its album in this library; the album itself is not changed. Returns nil if
    /// there was no link.
    ///
    /// - Throws: `TapesError` `.tapeNotFound`, `.storeUnusable`, `.cancelled`.
    public func unlink(_ tapeID: String) async throws(TapesError) -> AlbumLink? {
        try await locked(tapeID) { () async throws(TapesError) in
            guard try stored(store.tape(tapeID)) != nil else {
                throw TapesError(.tapeNotFound, value: tapeID)
            }
            // A link to a library previously at this address prevents the creation of a new album, so it can be removed
            // as well.
            let record = try record()
            let links = try stored(store.albumLinks(of: tapeID))
            guard let link = try knownLink(of: tapeID) ?? links.first(where: { isOfThisAddress($0, record) }) else {
                return nil
            }
            try stored(store.removeAlbumLink(of: tapeID, in: link.libraryID))
            try forgetUnused(link.libraryID)
            report(.pending, tapeID, album: link.albumID, "unlinked by hand")
            return link
        }
    }

    /// The current link: the link to the library last found at this address; nil if the tape has no album in that
    /// library. Nothing is sent.
    ///
    /// - Throws: `TapesError` `.storeUnusable`.
    public func knownLink(of tapeID: String) throws(TapesError) -> AlbumLink? {
        guard let libraryID = try record()?.libraryID else { return nil }
        let links = try stored(store.albumLinks(of: tapeID))
        return links.first { $0.libraryID == libraryID }
    }

    /// Runs an explicitly requested operation, for which a failure of the library is an error. The error's `value` is
    /// the code of the reason, and its `underlying` is the library's error, if any.
    func usable<Value>(_ body: () async throws -> Value) async throws(TapesError) -> Value {
        do {
            return try await body()
        } catch {
            let failure = try AlbumFailure(caught: error)
            throw TapesError(
                .libraryUnusable,
                detail: failure.detailOrPermissions,
                value: failure.reason.rawValue,
                underlying: failure.cause
            ).with(\.candidates, failure.missingPermissions)
        }
    }
}
