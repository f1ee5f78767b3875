public import MediaStore

// Rule R13: pending updates are applied when the user requests it, never automatically for all tapes.
extension AlbumService {
    /// Plans `reconcile`, without sending a request to the library. If albums are disabled, nothing is pending.
    ///
    /// - Throws: `TapesError` `.storeUnusable`.
    public func reconcilePlan() throws(TapesError) -> ReconcilePlan {
        guard policy.isEnabled else { return ReconcilePlan(tapes: [], tombstones: []) }
        let libraryID = try record()?.libraryID
        let tapes = try stored(store.tapesToAssociate(in: libraryID))
        // If the flag is not set, old tombstones are ignored (rule R11).
        return ReconcilePlan(tapes: tapes, tombstones: mayDelete ? try stored(store.albumTombstones()) : [])
    }

    /// Processes pending tapes, then tombstones, sequentially; stops at the first library-wide error. Does nothing if
    /// access is limited. `limit` is the maximum number of tapes.
    ///
    /// - Throws: `TapesError` `.storeUnusable`, `.cancelled`.
    public func reconcile(
        limit: Int,
        each: @Sendable (TapeRecord, AlbumOutcome) -> Void
    ) async throws(TapesError) -> ReconcileOutcome {
        let plan = try reconcilePlan()
        var outcome = ReconcileOutcome(done: 0, left: plan.tapes.count, deletedAlbums: 0)
        guard !plan.tapes.isEmpty || !plan.tombstones.isEmpty else { return outcome }
        let tapes: [TapeRecord]
        do {
            let opened = try await open(.addOnly)
            if case .limited = opened.access.state { throw AlbumFailure(opened.access) }
            tapes = try store.tapesToAssociate(in: opened.id)
        } catch {
            let failure = try AlbumFailure(caught: error)
            return outcome.stopped(by: failure.reason, failure.detailOrPermissions, failure.obstacle)
        }
        outcome.left = tapes.count
        for tape in tapes.prefix(max(0, limit)) {
            let (album, isLibraryWide) = try await attempt(tape.id, isRequested: true)
            if isLibraryWide, album.reason == .libraryChanged {
                // Nothing was done: the disk or account is not the one with the albums.
                return outcome.stopped(by: album.reason, album.detail, album.obstacle)
            }
            outcome.left -= 1
            guard album.state != .skipped else { continue }
            outcome.done += 1
            each(tape, album)
            guard !isLibraryWide else { return outcome.stopped(by: album.reason, album.detail, album.obstacle) }
        }
        for stone in plan.tombstones {
            switch try await process(stone, hint: nil) {
            case .gone: outcome.deletedAlbums += 1
            case .spared: break
            case .pending(let failure):
                guard failure.isLibraryWide else { continue }
                return outcome.stopped(by: failure.reason, failure.detail, failure.obstacle)
            }
        }
        return outcome
    }

    /// Checks every stored album in the library, and marks the tapes of missing albums; does not create albums.
    /// Requires `.readWrite`. Returns the number of missing albums.
    ///
    /// - Throws: `TapesError` `.albumsOff`, `.libraryUnusable`, `.storeUnusable`, `.cancelled`.
    public func verifyAlbums(
        each: @Sendable (AlbumLink, AlbumPresence) -> Void
    ) async throws(TapesError) -> Int {
        guard policy.isEnabled else { throw TapesError(.albumsOff) }
        let opened = try await usable { try await open(.readWrite) }
        let links = try stored(store.albumLinks(in: opened.id))
        if !links.isEmpty { try keep(opened, isGranted: false) }
        var goneCount = 0
        for link in links {
            let presence = try await locked(link.tapeID) { () async throws(TapesError) in
                try await usable { try await verify(link, opened) }
            }
            guard let presence else { continue }
            each(link, presence)
            if presence == .missing { goneCount += 1 }
        }
        return goneCount
    }

    /// - Returns: nil if the link changed before its tape was locked.
    private func verify(_ link: AlbumLink, _ opened: OpenLibrary) async throws -> AlbumPresence? {
        let links = try store.albumLinks(of: link.tapeID)
        guard let current = links.first(where: { $0.libraryID == opened.id }), current.albumID == link.albumID else {
            return nil
        }
        let presence: AlbumPresence
        do throws(AlbumError) {
            presence = try await library.album(link.albumID, hint: current.hint)
        } catch {
            // One unreadable album does not affect the others.
            guard error.kind == .albumDamaged else { throw error }
            presence = .damaged(error.detail)
        }
        switch presence {
        case .missing:
            try await confirm(opened)
            try store.setTapeAssociation(link.tapeID, .pending, .albumMissing)
            report(.pending, link.tapeID, album: link.albumID, "album no longer exists")
        case .found(_, let hint, _):
            var current = current
            current.hint = hint ?? current.hint
            current.verifiedAt = now()
            // A pending tape stays pending: an existing album is not necessarily usable.
            if try store.tape(link.tapeID)?.association == .associated { try store.keep(current) }
        case .unknown, .damaged: break
        }
        return presence
    }
}

extension ReconcileOutcome {
    fileprivate func stopped(
        by reason: AssociationReason?,
        _ detail: String,
        _ obstacle: AlbumObstacle?
    ) -> ReconcileOutcome {
        var outcome = self
        (outcome.stoppedBy, outcome.detail, outcome.obstacle) = (reason, detail, obstacle)
        return outcome
    }
}

/// A planned `reconcile`.
public struct ReconcilePlan: Sendable, Equatable {
    /// Pending tapes: fewest attempts first, then earliest change first.
    public var tapes: [TapeRecord]
    /// Pending deletions.
    public var tombstones: [AlbumTombstone]
}

/// The result of `reconcile --apply`.
public struct ReconcileOutcome: Sendable, Equatable {
    /// Number of tapes processed.
    public var done: Int
    /// Number of tapes remaining.
    public var left: Int
    public var deletedAlbums: Int
    /// Why the run stopped early; nil if it did not.
    public var stoppedBy: AssociationReason?
    /// The library's message for the user.
    public var detail: String = ""
    /// The cause, if it is known and determines the remedy.
    public var obstacle: AlbumObstacle?
}
