internal import Foundation
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport

/// One attempt to update the album of one tape, under its lock: steps 4 to 8 of rule R2. The methods are the steps; the
/// properties are their results.
struct AlbumAttempt {
    let service: AlbumService
    let isRequested: Bool
    /// A video that is to be added to the album but is not a clip (rule R16).
    let filed: ClipRecord?
    var tape: TapeRecord
    /// The clips in the tape's order.
    var clips: [ClipRecord]
    /// The initial clips; clips added later belong to another process.
    private let firstClips: Set<String>
    let wasRefused: Bool

    var opened: OpenLibrary?
    var link: AlbumLink?
    var isCreated = false
    /// The tape's previous album in the library.
    var formerLink: AlbumLink?
    /// An album is recreated once; if it disappears again, another process is deleting it.
    var isRemade = false
    /// Results for clips that have not been stored yet.
    var outcomes: [String: ClipOutcome] = [:]
    var addedClips = 0
    /// Whether clips were submitted to the library, regardless of its response.
    var hasFilled = false
    var hiddenClips = 0
    /// The library's message for the first clip that it rejected.
    var clipDetail = ""
    var refusedByteCount: Int64?
    var filingReason: AssociationReason?
    var isFiled = false
    var failure: AlbumFailure?
    /// Whether the account or the disk is full, so other clips cannot be added either.
    var isFull = false

    /// - Returns: nil for a deleted or empty tape, which does not get an album (rules R1, R2.3).
    init?(_ service: AlbumService, tapeID: String, isRequested: Bool, filing path: [UInt8]?) throws(TapesError) {
        guard let tape = try stored(service.store.tape(tapeID)) else {
            return nil
        }
        clips = try stored(service.store.clips(of: tapeID))
        guard !clips.isEmpty else { return nil }
        firstClips = Set(clips.map(\.id))
        self.service = service
        self.isRequested = isRequested
        self.tape = tape
        wasRefused = tape.reason?.isOfAccess ?? false
        filed = path.map { ClipRecord(id: UUID().uuidString.lowercased(), tapeID: tapeID, kind: .video, source: $0) }
    }

    mutating func run() async throws(TapesError) -> (outcome: AlbumOutcome, isLibraryWide: Bool) {
        guard try isDue() else {
            link = try service.knownLink(of: tape.id)
            return (outcome(), false)
        }
        do {
            try await ensureAlbum()
            try await fillAlbum()
        } catch {
            let failure: AlbumFailure
            do {
                failure = try AlbumFailure(caught: error)
            } catch {
                // Results confirmed by the library are stored in any case.
                try recordOutcomes()
                throw error
            }
            try keep(failure)
        }
        try recordOutcomes()
        try reload()
        if let opened, link != nil, failure == nil {
            try service.keep(opened, isGranted: isGranted(opened))
        }
        if let link, hasFilled || isCreated, failure?.isLibraryWide != true {
            _ = try await service.arrange(tape, clips, in: link)
        }
        return (outcome(), failure?.isLibraryWide ?? isFull)
    }

    /// Whether an attempt is due: a clip is new or has waited long enough, or there is no album (rule R9).
    private func isDue() throws(TapesError) -> Bool {
        guard !isRequested, filed == nil else { return true }
        let pending = clips.filter { $0.association == .pending }
        if pending.contains(where: isDue) { return true }
        guard pending.isEmpty else { return false }
        if tape.association != .associated { return true }
        return try service.knownLink(of: tape.id) == nil
    }

    func isDue(_ clip: ClipRecord) -> Bool { clip.nextAttemptAt.map { $0 <= service.now() } ?? true }

    /// Whether previously refused access is now proven sufficient, or has changed.
    private func isGranted(_ opened: OpenLibrary) throws(TapesError) -> Bool {
        if isCreated || wasRefused { return true }
        return try service.record()?.refusedFingerprint != opened.access.fingerprint
    }

    // MARK: Storing results

    /// Commits the results for clips (rule R2.8).
    mutating func recordOutcomes() throws(TapesError) {
        guard !outcomes.isEmpty else { return }
        let kept = clips.compactMap { outcomes[$0.id] }
        outcomes = [:]
        try stored(service.store.recordOutcomes(kept, in: opened?.id ?? "", at: service.now()))
        TapeFailpoint.clipsRecorded.reach()
    }

    mutating func reload() throws(TapesError) {
        tape = try stored(service.store.tape(tape.id)) ?? tape
        clips = try stored(service.store.clips(of: tape.id))
    }

    mutating func makePending(_ reason: AssociationReason) throws(TapesError) {
        guard tape.association != .pending || tape.reason != reason else { return }
        try stored(service.store.setTapeAssociation(tape.id, .pending, reason))
        tape.association = .pending
        tape.reason = reason
    }

    /// Stores the reason for the failure: in the tape if it has no usable album, and in the clips to be added.
    private mutating func keep(_ failure: AlbumFailure) throws(TapesError) {
        self.failure = failure
        for clip in clips where clip.association == .pending && outcomes[clip.id] == nil && isIncluded(clip) {
            fail(clip, failure)
        }
        let isUnusable = failure.reason.isOfAccess || [.libraryChanged, .albumMissing].contains(failure.reason)
        if isUnusable || tape.association != .associated { try makePending(failure.reason) }
        if failure.reason.isOfAccess, failure.obstacle == nil, !failure.isBelieved, let opened {
            try service.refuse(opened.access)
        }
        report(.pending, failure.reason.rawValue, details: failure.detail)
    }

    func report(_ kind: AlbumEvent.Kind, _ message: String = "", albumID: String? = nil, details: String = "") {
        service.report(kind, tape.id, album: albumID ?? link?.albumID, message, details: details)
    }

    // MARK: Outcome

    private func outcome() -> AlbumOutcome {
        let missing = clips.filter {
            $0.association != .linked && (firstClips.contains($0.id) || $0.reason != nil)
        }
        let isUsable = link != nil && tape.association == .associated
        let isComplete = missing.isEmpty && filingReason == nil && failure == nil
        var permissions = failure?.missingPermissions ?? []
        if permissions.isEmpty, case .limited(let names)? = opened?.access.state { permissions = names }
        return AlbumOutcome(
            state: isUsable ? (isComplete ? .associated : .partly) : .pending,
            link: link,
            isCreated: isCreated,
            formerLink: isCreated ? formerLink : nil,
            reason: failure?.reason ?? tape.reason ?? filingReason ?? missing.first { $0.reason != nil }?.reason,
            detail: failure?.detail ?? clipDetail,
            isAlbumDamaged: failure?.isOfAlbum ?? false,
            obstacle: failure?.obstacle,
            missingPermissions: permissions,
            pendingClips: missing.count,
            addedClips: addedClips,
            isFiled: isFiled,
            hiddenClips: hiddenClips,
            refusedByteCount: refusedByteCount
        )
    }
}

// Steps 4 to 6 of rule R2: access, the album, its link.
extension AlbumAttempt {
    /// Sets `link` and stores it: the link is committed before anything is added (trap 4).
    mutating func ensureAlbum() async throws {
        let opened = try await service.open(.addOnly, believingRefusal: believesRefusal)
        self.opened = opened
        let links = try service.store.albumLinks(of: tape.id)
        report(.ensure)
        if let known = links.first(where: { $0.libraryID == opened.id }) {
            try service.keep(opened, isGranted: false)
            try await visit(known, opened)
            return
        }
        let record = try service.record()
        if let former = links.first(where: { service.isOfThisAddress($0, record) }) {
            // The tape's album is in a different library: an unmounted disk or a different account (trap 1).
            throw service.otherLibrary(opened.id, insteadOf: former.libraryID)
        }
        if !links.isEmpty {
            formerLink = links.last
            // The user has selected a different library: a new album is created there, and the link to the old one is
            // kept.
            try makePending(.libraryChanged)
        }
        try service.keep(opened, isGranted: false)
        try await makeAlbum(opened)
    }

    /// Whether an earlier refusal applies to this tape: access that forbids creating albums may allow adding to them
    /// (rule R10).
    private func believesRefusal(_ access: AlbumAccess) -> Bool {
        guard !isRequested else { return false }
        switch access.state {
        case .authorized, .limited: return wasRefused || (try? service.knownLink(of: tape.id)) == nil
        case .notDetermined, .restricted, .denied: return true
        }
    }

    /// Checks the album of a link, by its ID only (rule R3).
    private mutating func visit(_ known: AlbumLink, _ opened: OpenLibrary) async throws {
        var known = known
        switch try await service.library.album(known.albumID, hint: known.hint) {
        case .found(_, let hint, _):
            known.hint = hint ?? known.hint
            known.verifiedAt = service.now()
            try use(known)
        case .unknown:
            // The album cannot be checked with add-only access: the link is presumed valid (trap 3).
            try use(known)
        case .missing:
            try await remakeAlbum(known.albumID, opened)
            return
        case .damaged(let detail): throw AlbumError(.albumDamaged, detail: detail)
        }
        report(.reuse)
    }

    /// Recreates a missing album with the tape's current title, for all clips (rule R5).
    mutating func remakeAlbum(_ goneID: String, _ opened: OpenLibrary) async throws {
        try await service.confirm(opened)
        try makePending(.albumMissing)
        report(.pending, AssociationReason.albumMissing.rawValue, albumID: goneID)
        guard !isRemade else { throw AlbumFailure(.albumMissing, isLibraryWide: false) }
        isRemade = true
        link = nil
        try await makeAlbum(opened)
    }

    private mutating func makeAlbum(_ opened: OpenLibrary) async throws {
        if let marked = try await albumLeftBehind(opened) {
            try use(service.link(tape.id, marked, opened))
            report(.reuse, "found by its marker")
            return
        }
        // Creating an album is known to be forbidden: the request would be refused, or leave an empty album (rule R10).
        guard !opened.access.forbidsNewAlbums else { throw AlbumFailure(opened.access) }
        let title = AlbumTitle.of(tape)
        let intent = AlbumIntent(tapeID: tape.id, libraryID: opened.id, title: title, startedAt: service.now())
        try service.store.keep(intent)
        TapeFailpoint.intentKept.reach()
        let made: MadeAlbum
        do throws(AlbumError) {
            made = try await service.library.createAlbum(title: title, tapeID: tape.id)
        } catch {
            try forgetIntent(after: error, opened)
            throw error.kind == .cancelled ? error : AlbumFailure(error, refusal: .createFailed)
        }
        TapeFailpoint.albumCreated.reach()
        isCreated = true
        try use(service.link(tape.id, made, opened))
        TapeFailpoint.linkKept.reach()
        report(.create, try namesakes(of: made, opened), details: made.title)
    }

    /// Finds an album by its mark if the response to its creation was lost (rule R4).
    private func albumLeftBehind(_ opened: OpenLibrary) async throws -> MadeAlbum? {
        guard try service.store.albumIntent(of: tape.id, in: opened.id) != nil else { return nil }
        do throws(AlbumError) {
            return try await service.library.albumMarked(tape.id)
        } catch {
            switch error.kind {
            // Without permission to search, create the album.
            case .unauthorized, .insufficient: return nil
            default: throw error
            }
        }
    }

    /// Removes the intent unless the library may have created an album.
    private func forgetIntent(after error: AlbumError, _ opened: OpenLibrary) throws {
        switch error.kind {
        case .unreachable, .cancelled: return
        case .unauthorized, .insufficient, .albumMissing, .albumDamaged, .libraryChanged, .rejected, .quota,
            .tooLarge, .unsupported:
            break
        }
        try service.store.removeAlbumIntent(of: tape.id, in: opened.id)
    }

    /// Commits the link; if it is new or in a different library, all clips become pending again.
    private mutating func use(_ link: AlbumLink) throws {
        guard try service.store.keep(link) else {
            throw AlbumFailure(.internalError, detail: "the tape no longer exists", isLibraryWide: false)
        }
        self.link = link
        try reload()
    }

    /// Lists other albums created by mediactl with the same title: two tapes with one title have two albums (rule R3).
    private func namesakes(of made: MadeAlbum, _ opened: OpenLibrary) throws -> String {
        let links = try service.store.albumLinks(in: opened.id)
        let others = links.filter { $0.titleAtCreation == made.title && $0.albumID != made.id }.map(\.albumID)
        return others.isEmpty ? "" : "other albums with this title: \(others.joined(separator: ", "))"
    }
}

// Steps 7 and 8 of rule R2: every pending clip is added to the album, with its own result (trap 5).
extension AlbumAttempt {
    private typealias Named = (clip: ClipRecord, asset: [UInt8])

    /// Adds pending clips in one request, oldest first.
    mutating func fillAlbum() async throws {
        guard let opened, let link else { return }
        for clip in clips where clip.association == .pending && clip.source == nil {
            outcomes[clip.id] = ClipOutcome(
                clipID: clip.id,
                association: .unlinkable,
                reason: .assetUnidentified
            )
        }
        let wanted = try pendingClips()
        guard !wanted.isEmpty else { return }
        hasFilled = true
        let named = try await resolve(wanted)
        TapeFailpoint.assetsResolved.reach()
        do throws(AlbumError) {
            let refused = try await add(named, to: link)
            guard !refused.isEmpty else { return }
            // The ID may be outdated, or the asset may have been removed: resolve it again, once.
            let again = try await resolve(refused, afresh: true)
            for clip in try await add(again, to: link) { refuse(clip) }
        } catch {
            guard error.kind == .albumMissing else { throw error }
            outcomes = [:]
            try await remakeAlbum(link.albumID, opened)
            try await fillAlbum()
        }
    }

    /// Whether a clip is included: every pending clip (rule R2.7), except clips with a slow original before their retry
    /// time.
    func isIncluded(_ clip: ClipRecord) -> Bool {
        guard clip.association == .pending, clip.source != nil else { return false }
        return isRequested || isDue(clip) || !(clip.reason?.isCostly ?? false)
    }

    private func pendingClips() throws -> [ClipRecord] {
        let byID = Dictionary(clips.map { ($0.id, $0) }) { first, _ in first }
        let ids = try service.store.clipIDsByAge(of: tape.id)
        return ids.compactMap { byID[$0] }.filter(isIncluded) + (filed.map { [$0] } ?? [])
    }

    // MARK: Asset IDs

    /// Resolves the library's IDs; clips without an ID get their result.
    private mutating func resolve(_ wanted: [ClipRecord], afresh: Bool = false) async throws(AlbumError) -> [Named] {
        let responses = try await service.library.resolveAssets(wanted, mayUpload: service.policy.mayUpload)
        guard responses.count == wanted.count else {
            throw AlbumError(
                .rejected(status: nil),
                detail: "\(responses.count) responses for \(wanted.count) originals"
            )
        }
        var named: [Named] = []
        for (clip, response) in zip(wanted, responses) {
            switch response {
            case .asset(let id, let isHidden):
                named.append((clip, id))
                if isHidden, !afresh { hiddenClips += 1 }
            case .unavailable(let detail): postpone(clip, AlbumFailure(.originalUnavailable, detail: detail))
            case .unidentified: postpone(clip, AlbumFailure(.assetUnidentified))
            case .rejected(let detail): refuse(clip, detail)
            case .failed(let error):
                if error.kind == .cancelled { throw error }
                if case .rejected = error.kind {
                    refuse(clip, error.detail)
                } else {
                    postpone(clip, AlbumFailure(error))
                }
            }
        }
        return named
    }

    // MARK: Adding

    /// - Returns: The clips whose assets the library rejected or did not find.
    private mutating func add(_ named: [Named], to link: AlbumLink) async throws(AlbumError) -> [ClipRecord] {
        guard !named.isEmpty else { return [] }
        // An original used by two clips is one asset (trap 8).
        var known: Set<[UInt8]> = []
        let assets = named.filter { known.insert($0.asset).inserted }
            .map { AlbumAsset(id: $0.asset, kind: $0.clip.kind) }
        let results = try await service.library.add(assets, to: link.albumID, hint: link.hint)
        guard results.count == assets.count else {
            throw AlbumError(.rejected(status: nil), detail: "\(results.count) responses for \(assets.count) assets")
        }
        TapeFailpoint.assetsAdded.reach()
        let byAsset = Dictionary(zip(assets.map(\.id), results)) { first, _ in first }
        var refused: [ClipRecord] = []
        for (clip, asset) in named {
            switch byAsset[asset] {
            case .added, .alreadyInAlbum: succeed(clip, asset)
            case .notAllowed, .notFound: refused.append(clip)
            case .rejected(let detail): refuse(clip, detail)
            case .failed(let detail): postpone(clip, AlbumFailure(.internalError, detail: detail))
            case .notNow(let error): postpone(clip, AlbumFailure(error))
            case nil: break
            }
        }
        let count = named.count - refused.count
        report(refused.isEmpty ? .add : .addPartly, "\(count) of \(named.count)")
        return refused
    }

    // MARK: Results of clips

    private mutating func succeed(_ clip: ClipRecord, _ asset: [UInt8]) {
        guard clip.id != filed?.id else {
            isFiled = true
            return
        }
        outcomes[clip.id] = ClipOutcome(clipID: clip.id, association: .linked, assetID: asset)
        addedClips += 1
    }

    private mutating func refuse(_ clip: ClipRecord, _ detail: String = "the library refused it") {
        note(clip, .assetRejected, detail)
        outcomes[clip.id] = ClipOutcome(
            clipID: clip.id,
            association: .failed,
            reason: .assetRejected,
            attempts: clip.attempts + 1
        )
    }

    private mutating func postpone(_ clip: ClipRecord, _ failure: AlbumFailure) {
        note(clip, failure.reason, failure.detail)
        refusedByteCount = [refusedByteCount, failure.refusedByteCount].compactMap { $0 }.min()
        fail(clip, failure, isAlone: true)
    }

    /// Postpones a clip: it is retried with exponential backoff, or when the access changes. With `isAlone`, other
    /// clips may have succeeded, so only the backoff applies.
    mutating func fail(_ clip: ClipRecord, _ failure: AlbumFailure, isAlone: Bool = false) {
        let attempts = clip.attempts + (failure.isBelieved ? 0 : 1)
        let needsTime = isAlone || !(failure.reason.isOfAccess || failure.reason == .libraryChanged)
        let pause = RetryPolicy.album.delay(after: attempts, retryAfter: failure.retryAfter)
        outcomes[clip.id] = ClipOutcome(
            clipID: clip.id,
            association: .pending,
            reason: failure.reason,
            attempts: attempts,
            nextAttemptAt: needsTime ? service.now().addingTimeInterval(pause / .seconds(1)) : nil
        )
        if failure.reason == .quota { isFull = true }
    }

    private mutating func note(_ clip: ClipRecord, _ reason: AssociationReason, _ detail: String) {
        if clipDetail.isEmpty { clipDetail = detail }
        if clip.id == filed?.id { filingReason = reason }
        report(.pending, "clip \(clip.id): \(reason.rawValue)", details: detail)
    }
}
