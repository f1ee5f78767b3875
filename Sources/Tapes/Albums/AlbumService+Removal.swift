public import MediaStore

extension AlbumService {
    /// Removes clips from a tape; with the flag on also from the album, unless another clip uses the same original (R12).
    ///
    /// The album keeps its link even when it is empty. What the library does not take out stays there: the clip is gone.
    ///
    /// - Parameters:
    ///   - clipIDs: The clips.
    ///   - tapeID: Their tape.
    /// - Returns: The clips that were removed, and what became of the album.
    /// - Throws: `TapesError` `.storeUnusable`, `.cancelled`.
    public func removeClips(
        _ clipIDs: [String],
        of tapeID: String
    ) async throws(TapesError) -> (removed: [ClipRecord], album: AlbumOutcome) {
        guard mayDelete else {
            let removed = try stored { () throws(StoreError) in try store.removeClips(clipIDs, of: tapeID, now: now()) }
            return (removed, AlbumOutcome(.skipped, link: try knownLink(of: tapeID)))
        }
        return try await locked(tapeID) { () async throws(TapesError) in
            let link = try knownLink(of: tapeID)
            let assets = try link.map { link throws(TapesError) in
                try stored { () throws(StoreError) in try store.clipAssets(of: tapeID, in: link.libraryID) }
            }
            let removed = try stored { () throws(StoreError) in try store.removeClips(clipIDs, of: tapeID, now: now()) }
            let left = try stored { () throws(StoreError) in try store.clips(of: tapeID) }
            guard let link, let assets, !removed.isEmpty else { return (removed, AlbumOutcome(.skipped, link: link)) }
            let unused = Self.unused(assets, removed: removed, left: left)
            return (removed, try await takeOut(unused, from: link, left: left))
        }
    }

    /// The assets of removed clips that no clip uses which is left, each once (trap 8).
    private static func unused(
        _ assets: [String: [UInt8]],
        removed: [ClipRecord],
        left: [ClipRecord]
    ) -> [[UInt8]] {
        var seen = Set(left.compactMap { assets[$0.id] })
        // A clip that is not linked yet has no asset, but the same original.
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
        var outcome = AlbumOutcome(.associated, link: link, pendingClips: left.count { $0.association != .linked })
        do throws(AlbumTrouble) {
            if !assets.isEmpty {
                let opened = try await open(.readWrite)
                guard opened.id == link.libraryID else { throw .setback(AlbumSetback(.libraryChanged)) }
                try kept { () throws(TapesError) in try keep(opened, isGranted: false) }
                let results = try await asked { () async throws(AlbumError) in
                    try await library.remove(assets, from: link.albumID, hint: link.hint)
                }
                let kept = results.count { $0 != .removed }
                report(
                    AlbumEvent(
                        .remove,
                        tapeID: link.tapeID,
                        albumID: link.albumID,
                        message: "\(results.count - kept) of \(results.count)"
                    )
                )
                if kept > 0 { throw .setback(AlbumSetback(.accessLimited, detail: "\(kept) stay in the album")) }
            }
            if let tape = try kept({ () throws(TapesError) in
                try stored { () throws(StoreError) in try store.tape(link.tapeID) }
            }) {
                _ = try await arrangedAfterRemoval(tape, left, link)
            }
        } catch {
            switch error {
            case .fatal(let error): throw error
            case .setback(let setback):
                outcome.state = .partly
                outcome.reason = setback.reason
                outcome.detail = setback.detail
                outcome.missingPermissions = setback.missingPermissions
                report(
                    AlbumEvent(
                        .pending,
                        tapeID: link.tapeID,
                        albumID: link.albumID,
                        message: "not taken out: \(setback.reason.rawValue)",
                        details: setback.detail
                    )
                )
            }
        }
        return outcome
    }

    private func arrangedAfterRemoval(
        _ tape: TapeRecord,
        _ clips: [ClipRecord],
        _ link: AlbumLink
    ) async throws(AlbumTrouble) -> AlbumSetback? {
        do throws(TapesError) { return try await arrange(tape, clips, in: link) } catch { throw .fatal(error) }
    }
}
