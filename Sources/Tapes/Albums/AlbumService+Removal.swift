internal import MediaCore
internal import MediaFiles
public import MediaStore
internal import MediaSystem

extension AlbumService {
    /// Removes clips from a tape; if the flag is set, also from the album, unless another clip has the same original
    /// (rule R12). The album is then arranged in the order of the remaining clips.
    ///
    /// The album keeps its link even if empty. Assets that the library does not remove stay in the album, without a
    /// clip. If the flag is not set, nothing is locked or sent: ``rearrange(_:)`` updates the album.
    ///
    /// Cancellation interrupts the wait for another task that changes the album; in that case, nothing is removed. It
    /// does not interrupt the removal itself, which would leave assets without clips in the album.
    ///
    /// - Throws: `TapesError` `.storeUnusable`, `.cancelled`.
    public func removeClips(
        _ clipIDs: [String],
        of tapeID: String
    ) async throws(TapesError) -> (removed: [ClipRecord], album: AlbumOutcome) {
        guard mayDelete else {
            return (try stored(store.removeClips(clipIDs, of: tapeID, now: now())), .skipped)
        }
        return try await lockedToTheEnd(tapeID) { () async throws(TapesError) in
            try await removeFromBoth(clipIDs, of: tapeID)
        }
    }

    /// Like `locked`, but cancellation ends only the wait for the lock.
    private func lockedToTheEnd<Value: Sendable>(
        _ tapeID: String,
        _ work: @escaping @Sendable () async throws(TapesError) -> Value
    ) async throws(TapesError) -> Value {
        try await locked(tapeID) { () async throws(TapesError) in
            // A separate task is not canceled with this one.
            try await Task { await Result(awaiting: work) }.value.get()
        }
    }

    /// Removes clips from the tape and its album, which is locked.
    private func removeFromBoth(
        _ clipIDs: [String],
        of tapeID: String
    ) async throws(TapesError) -> (removed: [ClipRecord], album: AlbumOutcome) {
        let link = try knownLink(of: tapeID)
        let assets = try link.map { link throws(TapesError) in
            try stored(store.clipAssets(of: tapeID, in: link.libraryID))
        }
        let removed = try stored(store.removeClips(clipIDs, of: tapeID, now: now()))
        let left = try stored(store.clips(of: tapeID))
        guard let link, let assets, !removed.isEmpty else {
            return (removed, AlbumOutcome(state: .skipped, link: link))
        }
        let unused = Self.unused(assets, removed: removed, left: left)
        return (removed, try await takeOut(unused, from: link, left: left))
    }

    /// The assets of removed clips that no remaining clip uses, without duplicates (trap 8).
    private static func unused(
        _ assets: [String: [UInt8]],
        removed: [ClipRecord],
        left: [ClipRecord]
    ) -> [[UInt8]] {
        var seen = Set(left.compactMap { assets[$0.id] })
        // A clip that is not linked yet has no asset, but may have the same original.
        let sources = Set(left.compactMap(\.source))
        return removed.compactMap { clip in
            guard clip.association == .linked, let asset = assets[clip.id] else { return nil }
            if let source = clip.source, sources.contains(source) { return nil }
            return seen.insert(asset).inserted ? asset : nil
        }
    }

    private func takeOut(
        _ assets: [[UInt8]],
        from link: AlbumLink,
        left: [ClipRecord]
    ) async throws(TapesError) -> AlbumOutcome {
        var outcome = AlbumOutcome(
            state: .associated,
            link: link,
            pendingClips: left.count { $0.association != .linked }
        )
        do {
            if !assets.isEmpty {
                let opened = try await open(.readWrite)
                guard opened.id == link.libraryID else { throw otherLibrary(opened.id, insteadOf: link.libraryID) }
                try keep(opened, isGranted: false)
                let results = try await library.remove(assets, from: link.albumID, hint: link.hint)
                let kept = results.count { $0 != .removed }
                report(.remove, link.tapeID, album: link.albumID, "\(results.count - kept) of \(results.count)")
                if kept > 0 { throw AlbumFailure(.accessLimited, detail: "\(kept) not removed from the album") }
            }
        } catch {
            let failure = try AlbumFailure(caught: error)
            outcome.state = .partly
            outcome.reason = failure.reason
            outcome.detail = failure.detail
            outcome.obstacle = failure.obstacle
            outcome.missingPermissions = failure.missingPermissions
            let message = "not removed: \(failure.reason.rawValue)"
            report(.pending, link.tapeID, album: link.albumID, message, details: failure.detail)
        }
        // Assets that remain in the album come after the clips of the tape.
        guard let tape = try stored(store.tape(link.tapeID)) else { return outcome }
        if let failure = try await arrange(tape, left, in: link), outcome.state != .partly {
            outcome.state = .partly
            outcome.reason = failure.reason
            outcome.detail = failure.detail
            outcome.obstacle = failure.obstacle
        }
        return outcome
    }
}

// Rule R11: an album is deleted with its tape only if the flag is set; the deletion stays pending until it succeeds.
extension AlbumService {
    /// Deletes a tape; if the flag is set, also its album, unless `keepingAlbum` is true.
    ///
    /// If the flag is not set, nothing is sent to the library. Cancellation interrupts the wait for another task that
    /// changes the album; in that case, nothing is deleted. It does not interrupt the deletion itself.
    ///
    /// - Throws: `TapesError` `.tapeNotFound`, `.storeUnusable`, `.cancelled`.
    public func deleteTape(_ tapeID: String, keepingAlbum: Bool) async throws(TapesError) -> TapeDeletion {
        try await lockedToTheEnd(tapeID) { () async throws(TapesError) in
            guard let tape = try stored(store.tape(tapeID)) else {
                throw TapesError(.tapeNotFound, value: tapeID)
            }
            let links = try stored(store.albumLinks(of: tapeID))
            let isPending = mayDelete && !keepingAlbum
            let stones = try stored(store.deleteTape(tapeID, deletingAlbums: isPending))
            guard let stones else { throw TapesError(.tapeNotFound, value: tapeID) }
            TapeFailpoint.tapeDeleted.reach()
            var albums: [TapeDeletion.Album] = []
            for link in links {
                let stone = stones.first { $0.libraryID == link.libraryID && $0.albumID == link.albumID }
                guard let stone else {
                    albums.append(.kept(link))
                    continue
                }
                albums.append(TapeDeletion.Album(link, try await process(stone, hint: link.hint, tapeID: tapeID)))
            }
            return TapeDeletion(tape: tape, albums: albums)
        }
    }

    enum Processing {
        case gone(AlbumDeletion)
        /// The album now belongs to another tape, or the flag is not set: nothing was sent.
        case spared
        case pending(AlbumFailure)
    }

    /// Attempts to delete one album. The flag is checked here, at the lowest level of deletion.
    func process(_ stone: AlbumTombstone, hint: [UInt8]?, tapeID: String = "") async throws(TapesError) -> Processing {
        guard mayDelete else { return .spared }
        let links = try stored(store.albumLinks(in: stone.libraryID))
        guard !links.contains(where: { $0.albumID == stone.albumID }) else {
            try forget(stone)
            return .spared
        }
        do {
            let deletion = try await delete(stone, hint: hint)
            TapeFailpoint.albumDeleted.reach()
            try forget(stone)
            report(.delete, tapeID, album: stone.albumID, "\(deletion)")
            return .gone(deletion)
        } catch {
            let failure = try AlbumFailure(caught: error)
            var stone = stone
            stone.attempts += 1
            stone.lastError = failure.reason.rawValue
            try stored(store.keep(stone))
            let message = "not deleted: \(failure.reason.rawValue)"
            report(.pending, tapeID, album: stone.albumID, message, details: failure.detail)
            return .pending(failure)
        }
    }

    private func delete(_ stone: AlbumTombstone, hint: [UInt8]?) async throws -> AlbumDeletion {
        let opened = try await open(.readWrite)
        guard opened.id == stone.libraryID else {
            var failure = otherLibrary(opened.id, insteadOf: stone.libraryID)
            failure.isLibraryWide = false
            throw failure
        }
        try keep(opened, isGranted: false)
        do throws(AlbumError) {
            return try await library.deleteAlbum(stone.albumID, hint: hint)
        } catch {
            guard error.kind == .albumMissing else { throw error }
            return .alreadyGone
        }
    }

    private func forget(_ stone: AlbumTombstone) throws(TapesError) {
        try stored(store.removeAlbumTombstone(stone.albumID, in: stone.libraryID))
    }
}

extension TapeDeletion.Album {
    init(_ link: AlbumLink, _ end: AlbumService.Processing) {
        self =
            switch end {
            case .gone(.keptForeign(let count)): .keptForeign(link, count)
            case .gone(.deleted), .gone(.alreadyGone): .deleted(link)
            case .spared: .kept(link)
            case .pending(let failure): .pending(link, failure.reason, detail: failure.detail)
            }
    }
}

/// The result of deleting a tape.
public struct TapeDeletion: Sendable, Equatable {
    /// The result for an album.
    public enum Album: Sendable, Equatable {
        /// Kept: the flag is not set, the caller keeps it, or another tape uses it.
        case kept(AlbumLink)
        /// Deleted, now or earlier.
        case deleted(AlbumLink)
        /// All of mediactl's links were removed; the folder is kept for this number of foreign entries.
        case keptForeign(AlbumLink, Int)
        /// Pending: `reconcile --apply` retries.
        case pending(AlbumLink, AssociationReason, detail: String)
    }

    public var tape: TapeRecord
    public var albums: [Album]
}
