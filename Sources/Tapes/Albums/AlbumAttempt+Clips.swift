internal import Foundation
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport

/// Steps 7 and 8 of rule R2: every pending clip goes into the album, and what became of each is kept on its own (trap 5).
extension AlbumAttempt {
    /// A clip, and the library's name for its original.
    private typealias Named = (clip: ClipRecord, asset: [UInt8])

    /// Adds what is pending, the oldest first, in one request however many there are.
    mutating func fillAlbum() async throws(AlbumTrouble) {
        guard let opened, let link else { return }
        for clip in clips where clip.association == .pending && clip.source == nil {
            settlements[clip.id] = ClipSettlement(
                clipID: clip.id,
                association: .unlinkable,
                reason: .assetUnidentified
            )
        }
        let wanted = try pendingClips()
        guard !wanted.isEmpty else { return }
        let named = try await resolve(wanted)
        TapeKillPoint.assetsResolved.reach()
        do throws(AlbumError) {
            let refused = try await add(named, to: link)
            guard !refused.isEmpty else { return }
            // The name may be an old one, or the asset was taken away meanwhile: asked for afresh, once.
            let again = try await resolve(refused, afresh: true)
            for clip in try await add(again, to: link) { refuse(clip) }
        } catch {
            guard error.kind == .albumMissing else { throw AlbumTrouble(error) }
            settlements = [:]
            try await remakeAlbum(link.albumID, opened)
            try await fillAlbum()
        }
    }

    /// Whether a clip is taken along: every pending one is, when there is a try (rule R2.7), but for originals that would
    /// have to be waited for before their time.
    func isIncluded(_ clip: ClipRecord) -> Bool {
        guard clip.association == .pending, clip.source != nil else { return false }
        return isAsked || isDue(clip) || !(clip.reason?.isCostly ?? false)
    }

    private func pendingClips() throws(AlbumTrouble) -> [ClipRecord] {
        let byID = Dictionary(clips.map { ($0.id, $0) }) { first, _ in first }
        let ids = try service.kept { () throws(TapesError) in
            try service.stored { () throws(StoreError) in try service.store.clipIDsByAge(of: tape.id) }
        }
        return ids.compactMap { byID[$0] }.filter(isIncluded) + (filed.map { [$0] } ?? [])
    }

    // MARK: Names

    /// Asks for the library's names; clips without one are settled.
    private mutating func resolve(_ wanted: [ClipRecord]) async throws(AlbumTrouble) -> [Named] {
        do throws(AlbumError) { return try await resolve(wanted, afresh: false) } catch { throw AlbumTrouble(error) }
    }

    private mutating func resolve(_ wanted: [ClipRecord], afresh: Bool) async throws(AlbumError) -> [Named] {
        let answers = try await service.library.resolveAssets(wanted, mayUpload: service.policy.mayUpload)
        guard answers.count == wanted.count else {
            throw AlbumError(.rejected(status: nil), detail: "\(answers.count) answers for \(wanted.count) originals")
        }
        var named: [Named] = []
        for (clip, answer) in zip(wanted, answers) {
            switch answer {
            case .asset(let id, let isHidden):
                named.append((clip, id))
                if isHidden, !afresh { hiddenClips += 1 }
            case .unavailable(let detail): postpone(clip, AlbumSetback(.originalUnavailable, detail: detail))
            case .unidentified: postpone(clip, AlbumSetback(.assetUnidentified))
            case .rejected(let detail): refuse(clip, detail)
            case .failed(let error):
                if error.kind == .cancelled { throw error }
                if case .rejected = error.kind {
                    refuse(clip, error.detail)
                } else {
                    postpone(clip, AlbumSetback(error))
                }
            }
        }
        return named
    }

    // MARK: Adding

    /// - Returns: The clips whose asset the library did not let in, or did not find.
    private mutating func add(_ named: [Named], to link: AlbumLink) async throws(AlbumError) -> [ClipRecord] {
        guard !named.isEmpty else { return [] }
        // An original that is there twice is one asset (trap 8).
        var known: Set<[UInt8]> = []
        let assets = named.filter { known.insert($0.asset).inserted }
            .map { AlbumAsset(id: $0.asset, kind: $0.clip.kind) }
        let results = try await service.library.add(assets, to: link.albumID, hint: link.hint)
        guard results.count == assets.count else {
            throw AlbumError(.rejected(status: nil), detail: "\(results.count) answers for \(assets.count) assets")
        }
        TapeKillPoint.assetsAdded.reach()
        let byAsset = Dictionary(zip(assets.map(\.id), results)) { first, _ in first }
        var refused: [ClipRecord] = []
        for (clip, asset) in named {
            switch byAsset[asset] {
            case .added, .alreadyThere: succeed(clip, asset)
            case .notAllowed, .notFound: refused.append(clip)
            case .failed(let detail): postpone(clip, AlbumSetback(.internalError, detail: detail))
            case .notNow(let error): fail(clip, AlbumSetback(error), isAlone: true)
            case nil: break
            }
        }
        let count = named.count - refused.count
        report(refused.isEmpty ? .add : .addPartly, "\(count) of \(named.count)")
        return refused
    }

    // MARK: What became of a clip

    private mutating func succeed(_ clip: ClipRecord, _ asset: [UInt8]) {
        guard clip.id != filed?.id else {
            isFiled = true
            return
        }
        settlements[clip.id] = ClipSettlement(clipID: clip.id, association: .linked, assetID: asset)
        addedClips += 1
    }

    /// Refused for good.
    private mutating func refuse(_ clip: ClipRecord, _ detail: String = "the library does not let it in") {
        note(clip, .assetRejected, detail)
        settlements[clip.id] = ClipSettlement(
            clipID: clip.id,
            association: .failed,
            reason: .assetRejected,
            attempts: clip.attempts + 1
        )
    }

    /// This one alone not now.
    private mutating func postpone(_ clip: ClipRecord, _ setback: AlbumSetback) {
        note(clip, setback.reason, setback.detail)
        fail(clip, setback, isAlone: true)
    }

    /// Not now: it is tried again after a time that doubles, or when the grant is another one.
    ///
    /// - Parameters:
    ///   - clip: The clip.
    ///   - setback: Why.
    ///   - isAlone: Whether other clips may have fared better, so that time alone decides.
    mutating func fail(_ clip: ClipRecord, _ setback: AlbumSetback, isAlone: Bool = false) {
        let attempts = clip.attempts + (setback.isBelieved ? 0 : 1)
        let needsTime = isAlone || !(setback.reason.isOfAccess || setback.reason == .libraryChanged)
        let pause = RetryPolicy.album.delay(after: attempts, retryAfter: setback.retryAfter)
        settlements[clip.id] = ClipSettlement(
            clipID: clip.id,
            association: .pending,
            reason: setback.reason,
            attempts: attempts,
            nextAttemptAt: needsTime ? service.now().addingTimeInterval(pause / .seconds(1)) : nil
        )
        if setback.reason == .quota { isFull = true }
    }

    private mutating func note(_ clip: ClipRecord, _ reason: AssociationReason, _ detail: String) {
        if clipDetail.isEmpty { clipDetail = detail }
        if clip.id == filed?.id { filingReason = reason }
        report(.pending, "clip \(clip.id): \(reason.rawValue)", details: detail)
    }
}
