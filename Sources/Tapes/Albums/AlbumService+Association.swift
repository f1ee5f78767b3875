internal import MediaFiles
internal import MediaStore
internal import MediaSystem

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
