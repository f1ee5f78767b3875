public import Foundation
internal import MediaFiles
public import MediaStore
internal import MediaSystem

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

/// What the library is, and what it allows.
extension AlbumService {
    /// Which library this is, and what it allows. Changes nothing. With albums off nobody is asked.
    ///
    /// - Returns: What is known.
    /// - Throws: `TapesError` `.cancelled`.
    public func status() async throws(TapesError) -> LibraryStatus {
        var status = LibraryStatus(kind: library.kind, address: library.address)
        guard policy.isEnabled else {
            status.detail = "albums are off"
            return status
        }
        do throws(AlbumError) {
            status.addOnly = try await library.access(.addOnly)
            status.readWrite = try await library.access(.readWrite)
            guard status.addOnly?.state != .notDetermined else { return status }
            status.identity = try await library.identity()
        } catch {
            guard error.kind != .cancelled else { throw TapesError(.cancelled, underlying: error) }
            status.reason = error.reason(refusal: .internalError)
            status.detail = error.detail
        }
        return status
    }

    /// Asks for access anew (`library init`, `library grant`), and forgets what it was refused with (rule R10).
    ///
    /// - Parameter level: What is to be allowed.
    /// - Returns: What is known afterwards.
    /// - Throws: `TapesError` `.storeUnusable`, `.cancelled`.
    public func requestAccess(_ level: AccessLevel) async throws(TapesError) -> LibraryStatus {
        guard policy.isEnabled else { return try await status() }
        try forgetRefusal()
        var trouble: AlbumError?
        do throws(AlbumError) {
            _ = try await library.requestAccess(level)
        } catch {
            guard error.kind != .cancelled else { throw TapesError(.cancelled, underlying: error) }
            trouble = error
        }
        var status = try await status()
        if let trouble {
            status.reason = trouble.reason(refusal: .internalError)
            status.detail = trouble.detail
        } else if let identity = status.identity, let access = status.addOnly, access.isGranted {
            let id = try record().flatMap(identity.knownID) ?? identity.libraryID
            try keep(OpenLibrary(id: id, access: access, identity: identity), isGranted: true)
        }
        return status
    }
}

extension AlbumAccess {
    /// Whether anything is allowed: a library that refuses is not the one that was there at the last success.
    fileprivate var isGranted: Bool {
        switch state {
        case .authorized, .limited: true
        case .notDetermined, .restricted, .denied: false
        }
    }
}

extension AlbumService {
    /// Makes sure that a tape has its album, and that every pending clip is in it: steps 3 to 8 of rule R2, after the clips
    /// were committed.
    ///
    /// Cancelling ends it with `.cancelled`; what the library has confirmed is kept.
    ///
    /// - Parameters:
    ///   - tapeID: A tape; nothing happens for one that is gone, or empty.
    ///   - isAsked: Whether the user asked for this very thing (`reconcile --apply`, `library grant`): then refused access
    ///     and backoff are tried again at once.
    /// - Returns: What was done.
    /// - Throws: `TapesError` `.storeUnusable`, `.cancelled`.
    public func associate(_ tapeID: String, isAsked: Bool = false) async throws(TapesError) -> AlbumOutcome {
        TapeKillPoint.clipsCommitted.reach()
        return try await attempt(tapeID, isAsked: isAsked).outcome
    }

    /// Files a rendered video into the tape's own album (rule R16).
    ///
    /// - Parameters:
    ///   - path: Absolute path of the video, as bytes.
    ///   - tapeID: A tape with clips.
    /// - Returns: What was done; `.partly` when the album is there and the video is not in it.
    /// - Throws: `TapesError` `.storeUnusable`, `.cancelled`.
    public func file(_ path: [UInt8], into tapeID: String) async throws(TapesError) -> AlbumOutcome {
        try await attempt(tapeID, isAsked: false, filing: path).outcome
    }

    /// Tells the library a tape's new order, where it keeps one. Never makes an album.
    ///
    /// - Parameter tapeID: A tape.
    /// - Returns: What was done; `.skipped` for a tape without an album.
    /// - Throws: `TapesError` `.storeUnusable`, `.cancelled`.
    public func rearrange(_ tapeID: String) async throws(TapesError) -> AlbumOutcome {
        guard policy.isEnabled else { return AlbumOutcome(.skipped) }
        return try await locked(tapeID) { () async throws(TapesError) in
            guard let tape = try stored({ () throws(StoreError) in try store.tape(tapeID) }),
                let link = try knownLink(of: tapeID)
            else { return AlbumOutcome(.skipped) }
            let clips = try stored { () throws(StoreError) in try store.clips(of: tapeID) }
            let setback = try await arrange(tape, clips, in: link)
            return AlbumOutcome(
                setback == nil ? .associated : .partly,
                link: link,
                reason: setback?.reason,
                detail: setback?.detail ?? "",
                pendingClips: clips.count { $0.association != .linked }
            )
        }
    }

    /// - Returns: Why the library does not know the order, which is no trouble of any clip; nil when it does.
    func arrange(
        _ tape: TapeRecord,
        _ clips: [ClipRecord],
        in link: AlbumLink
    ) async throws(TapesError) -> AlbumSetback? {
        do throws(AlbumError) {
            try await library.arrange(link.albumID, hint: link.hint, tape: tape, clips: clips)
            return nil
        } catch {
            guard error.kind != .cancelled else { throw TapesError(.cancelled, underlying: error) }
            let setback = AlbumSetback(error)
            report(
                AlbumEvent(
                    .pending,
                    tapeID: tape.id,
                    albumID: link.albumID,
                    message: "its order was not told: \(setback.reason.rawValue)",
                    details: setback.detail
                )
            )
            return setback
        }
    }

    /// One attempt under the tape's lock.
    ///
    /// - Returns: What was done, and whether the library would refuse every other tape as well.
    func attempt(
        _ tapeID: String,
        isAsked: Bool,
        filing path: [UInt8]? = nil
    ) async throws(TapesError) -> (outcome: AlbumOutcome, isLibraryWide: Bool) {
        // The kill switch, below every command (rule R18).
        guard policy.isEnabled else { return (AlbumOutcome(.skipped), false) }
        return try await locked(tapeID) { () async throws(TapesError) in
            // Read again under the lock: a tape that is gone meanwhile gets no album (rule R2.3, trap 6).
            guard var attempt = try AlbumAttempt(self, tapeID: tapeID, isAsked: isAsked, filing: path) else {
                return (AlbumOutcome(.skipped), false)
            }
            TapeKillPoint.lockTaken.reach()
            return try await attempt.run()
        }
    }
}

/// Albums by hand: the only way in which an album gets a tape that was not made for it (rule R3).
extension AlbumService {
    /// Makes an album that the user names the tape's. Needs `.readWrite`. All clips of the tape are pending afterwards.
    ///
    /// - Parameters:
    ///   - tapeID: The tape.
    ///   - albumID: The library's name for the album.
    /// - Returns: The link.
    /// - Throws: `TapesError` `.albumsOff`, `.tapeNotFound`, `.albumNotFound`, `.albumTaken`, `.libraryUnusable`,
    ///   `.storeUnusable`, `.cancelled`.
    public func link(_ tapeID: String, to albumID: String) async throws(TapesError) -> AlbumLink {
        guard policy.isEnabled else { throw TapesError(.albumsOff) }
        return try await locked(tapeID) { () async throws(TapesError) in
            guard try stored({ () throws(StoreError) in try store.tape(tapeID) }) != nil else {
                throw TapesError(.tapeNotFound, value: tapeID)
            }
            let opened = try await usable { () async throws(AlbumTrouble) in try await open(.readWrite) }
            let holders = try stored { () throws(StoreError) in try store.albumLinks(in: opened.id) }
            if let holder = holders.first(where: { $0.albumID == albumID && $0.tapeID != tapeID }) {
                throw TapesError(.albumTaken, value: albumID, candidates: [holder.tapeID])
            }
            try keep(opened, isGranted: false)
            let link = try await found(albumID, for: tapeID, opened)
            let isKept = try stored { () throws(StoreError) in try store.keep(link) }
            guard isKept else { throw TapesError(.tapeNotFound, value: tapeID) }
            report(AlbumEvent(.reuse, tapeID: tapeID, albumID: albumID, message: "linked by hand"))
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
        case .found(let title, _, let hint):
            return AlbumLink(
                tapeID: tapeID,
                libraryID: opened.id,
                albumID: albumID,
                titleAtCreation: title,
                hint: hint,
                createdAt: now(),
                verifiedAt: now()
            )
        case .missing: throw TapesError(.albumNotFound, value: albumID)
        case .damaged(let detail): throw TapesError(.libraryUnusable, detail: detail, value: albumID)
        case .unknown: throw TapesError(.libraryUnusable, detail: "looking at albums is not allowed", value: albumID)
        }
    }

    /// Forgets the album of a tape in this library; the album stays as it is.
    ///
    /// - Parameter tapeID: The tape.
    /// - Returns: What was forgotten; nil when there was none.
    /// - Throws: `TapesError` `.tapeNotFound`, `.storeUnusable`, `.cancelled`.
    public func unlink(_ tapeID: String) async throws(TapesError) -> AlbumLink? {
        try await locked(tapeID) { () async throws(TapesError) in
            guard try stored({ () throws(StoreError) in try store.tape(tapeID) }) != nil else {
                throw TapesError(.tapeNotFound, value: tapeID)
            }
            // An album in a library that was here before is in the way of a new one: that, too, can be forgotten.
            let record = try record()
            let links = try stored { () throws(StoreError) in try store.albumLinks(of: tapeID) }
            guard let link = try knownLink(of: tapeID) ?? links.first(where: { isOfThisAddress($0, record) }) else {
                return nil
            }
            try stored { () throws(StoreError) in try store.removeAlbumLink(of: tapeID, in: link.libraryID) }
            report(AlbumEvent(.pending, tapeID: tapeID, albumID: link.albumID, message: "unlinked by hand"))
            return link
        }
    }

    /// The link that counts now: that of the library that was last found at this address. No call to the library.
    ///
    /// - Parameter tapeID: The tape.
    /// - Returns: nil when the tape has no album in that library.
    /// - Throws: `TapesError` `.storeUnusable`.
    public func knownLink(of tapeID: String) throws(TapesError) -> AlbumLink? {
        guard let libraryID = try record()?.libraryID else { return nil }
        let links = try stored { () throws(StoreError) in try store.albumLinks(of: tapeID) }
        return links.first { $0.libraryID == libraryID }
    }

    /// Does something that was asked for by itself, so that trouble with the library is an error.
    func usable<Value>(_ body: () async throws(AlbumTrouble) -> Value) async throws(TapesError) -> Value {
        do throws(AlbumTrouble) {
            return try await body()
        } catch {
            switch error {
            case .fatal(let error): throw error
            case .setback(let setback): throw TapesError(.libraryUnusable, setback)
            }
        }
    }
}

extension TapesError {
    /// Trouble with the library where the album itself was asked for; `value` is the code of the reason.
    init(_ code: OutcomeCode, _ setback: AlbumSetback) {
        let missing = setback.missingPermissions.joined(separator: ", ")
        self.init(
            code,
            detail: setback.detail.isEmpty ? missing : setback.detail,
            value: setback.reason.rawValue,
            candidates: setback.missingPermissions
        )
    }
}
