public import MediaStore

// Rule R13: pending updates are made when the user requests it, never automatically for all tapes.
extension AlbumService {
    /// Plans `reconcile`, without a call to the library.
    ///
    /// - Returns: Pending tapes and deletions; none with albums off.
    /// - Throws: `TapesError` `.storeUnusable`.
    public func reconcilePlan() throws(TapesError) -> ReconcilePlan {
        guard policy.isEnabled else { return ReconcilePlan(tapes: [], tombstones: []) }
        let libraryID = try record()?.libraryID
        return try stored { () throws(StoreError) in
            ReconcilePlan(
                tapes: try store.tapesToAssociate(in: libraryID),
                // With the flag off, old ones are ignored (rule R11).
                tombstones: mayDelete ? try store.albumTombstones() : []
            )
        }
    }

    /// Processes pending tapes, then tombstones, sequentially; stops at the first library-wide error. Does nothing when
    /// access is limited.
    ///
    /// - Parameters:
    ///   - limit: Maximum number of tapes.
    ///   - each: Called after each tape.
    /// - Returns: The result.
    /// - Throws: `TapesError` `.storeUnusable`, `.cancelled`.
    public func reconcile(
        limit: Int,
        each: @Sendable (TapeRecord, AlbumOutcome) -> Void
    ) async throws(TapesError) -> ReconcileOutcome {
        let plan = try reconcilePlan()
        var outcome = ReconcileOutcome(done: 0, left: plan.tapes.count, deletedAlbums: 0)
        guard !plan.tapes.isEmpty || !plan.tombstones.isEmpty else { return outcome }
        let tapes: [TapeRecord]
        do throws(AlbumTrouble) {
            let opened = try await open(.addOnly)
            if case .limited = opened.access.state { throw .setback(AlbumSetback(opened.access)) }
            tapes = try kept { () throws(TapesError) in
                try stored { () throws(StoreError) in try store.tapesToAssociate(in: opened.id) }
            }
        } catch {
            try outcome.stop(by: error)
            return outcome
        }
        outcome.left = tapes.count
        for tape in tapes.prefix(max(0, limit)) {
            let (album, isLibraryWide) = try await attempt(tape.id, isAsked: true)
            if isLibraryWide, album.reason == .libraryChanged {
                // Nothing was done: a different disk or account than the one with the albums.
                outcome.stoppedBy = album.reason
                outcome.detail = album.detail
                return outcome
            }
            outcome.left -= 1
            guard album.state != .skipped else { continue }
            outcome.done += 1
            each(tape, album)
            guard !isLibraryWide else {
                outcome.stoppedBy = album.reason
                outcome.detail = album.detail
                return outcome
            }
        }
        for stone in plan.tombstones {
            switch try await workOff(stone, hint: nil) {
            case .gone: outcome.deletedAlbums += 1
            case .spared: break
            case .owed(let setback):
                guard setback.isLibraryWide else { continue }
                outcome.stoppedBy = setback.reason
                outcome.detail = setback.detail
                return outcome
            }
        }
        return outcome
    }

    /// Checks every stored album in the library, and marks the tapes of missing ones; creates none. Needs `.readWrite`.
    ///
    /// - Parameter each: Called with each link and its album's state.
    /// - Returns: Number of missing albums.
    /// - Throws: `TapesError` `.albumsOff`, `.libraryUnusable`, `.storeUnusable`, `.cancelled`.
    public func verifyAlbums(
        each: @Sendable (AlbumLink, AlbumPresence) -> Void
    ) async throws(TapesError) -> Int {
        guard policy.isEnabled else { throw TapesError(.albumsOff) }
        let opened = try await usable { () async throws(AlbumTrouble) in try await open(.readWrite) }
        let links = try stored { () throws(StoreError) in try store.albumLinks(in: opened.id) }
        if !links.isEmpty { try keep(opened, isGranted: false) }
        var goneCount = 0
        for link in links {
            let presence = try await locked(link.tapeID) { () async throws(TapesError) in
                try await usable { () async throws(AlbumTrouble) in try await verify(link, opened) }
            }
            guard let presence else { continue }
            each(link, presence)
            if presence == .missing { goneCount += 1 }
        }
        return goneCount
    }

    /// - Returns: nil for a link that changed before its tape was locked.
    private func verify(_ link: AlbumLink, _ opened: OpenLibrary) async throws(AlbumTrouble) -> AlbumPresence? {
        let links = try kept { () throws(TapesError) in
            try stored { () throws(StoreError) in try store.albumLinks(of: link.tapeID) }
        }
        guard let current = links.first(where: { $0.libraryID == opened.id }), current.albumID == link.albumID else {
            return nil
        }
        let presence: AlbumPresence
        do throws(AlbumError) {
            presence = try await library.album(link.albumID, hint: current.hint)
        } catch {
            switch error.kind {
            case .albumMissing: presence = .missing
            // One unreadable album does not affect the others.
            case .albumDamaged: presence = .damaged(error.detail)
            default: throw AlbumTrouble(error)
            }
        }
        switch presence {
        case .missing:
            try await confirm(opened)
            try kept { () throws(TapesError) in
                try stored { () throws(StoreError) in
                    try store.settleTape(link.tapeID, .pending, .albumMissing)
                }
            }
            report(AlbumEvent(.pending, tapeID: link.tapeID, albumID: link.albumID, message: "album is gone"))
        case .found(_, _, let hint):
            var current = current
            current.hint = hint ?? current.hint
            current.verifiedAt = now()
            try kept { () throws(TapesError) in try keepVerified(current) }
        case .unknown, .damaged: break
        }
        return presence
    }

    /// A pending tape stays pending: that its album exists does not mean that it can be used.
    private func keepVerified(_ link: AlbumLink) throws(TapesError) {
        try stored { () throws(StoreError) in
            guard try store.tape(link.tapeID)?.association == .associated else { return }
            try store.keep(link)
        }
    }
}

extension ReconcileOutcome {
    /// - Throws: A fatal error; a setback becomes state.
    fileprivate mutating func stop(by trouble: AlbumTrouble) throws(TapesError) {
        switch trouble {
        case .fatal(let error): throw error
        case .setback(let setback):
            stoppedBy = setback.reason
            detail = setback.detail.isEmpty ? setback.missingPermissions.joined(separator: ", ") : setback.detail
        }
    }
}

/// A planned `reconcile`.
public struct ReconcilePlan: Sendable, Equatable {
    /// Pending tapes, the longest waiting first.
    public var tapes: [TapeRecord]
    /// Pending deletions.
    public var tombstones: [AlbumTombstone]
}

/// The result of `reconcile --apply`.
public struct ReconcileOutcome: Sendable, Equatable {
    /// Tapes processed.
    public var done: Int
    /// Tapes left.
    public var left: Int
    /// Albums deleted.
    public var deletedAlbums: Int
    /// Why it ended early; nil when it did not.
    public var stoppedBy: AssociationReason?
    /// What the library said, for people.
    public var detail: String = ""
}
