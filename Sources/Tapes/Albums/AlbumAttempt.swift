internal import Foundation
internal import MediaFiles
internal import MediaStore
internal import MediaSystem

/// One attempt at the album of one tape, under its lock: steps 4 to 8 of rule R2. Its methods are the steps; what it holds is
/// what they have found out.
struct AlbumAttempt {
    let service: AlbumService
    let isAsked: Bool
    /// A video that is to be in the album without being a clip (rule R16).
    let filed: ClipRecord?
    /// As it stands in the store.
    var tape: TapeRecord
    /// In the tape's order.
    var clips: [ClipRecord]
    /// The clips that there were at first: one that somebody else adds meanwhile is theirs to see to.
    private let firstClips: Set<String>
    /// Whether access was refused to this tape before.
    let wasRefused: Bool

    /// The library, once it is known to be there and to let us.
    var opened: OpenLibrary?
    /// The album, once it is known to be usable.
    var link: AlbumLink?
    var isCreated = false
    /// The album in the library that was in use before.
    var formerLink: AlbumLink?
    /// An album is made anew once; if that is gone as well, somebody is at work there.
    var isRemade = false
    /// What became of clips, not yet kept.
    var settlements: [String: ClipSettlement] = [:]
    var addedClips = 0
    var hiddenClips = 0
    /// What the library said of the first clip that it did not take.
    var clipDetail = ""
    /// Why the video is not filed.
    var filingReason: AssociationReason?
    var isFiled = false
    var setback: AlbumSetback?
    /// Whether the account, or the disk, has no room for any other clip either.
    var isFull = false

    /// Reads a tape.
    ///
    /// - Returns: nil for one that is gone, or empty: it gets no album (rules R1, R2.3).
    init?(_ service: AlbumService, tapeID: String, isAsked: Bool, filing path: [UInt8]?) throws(TapesError) {
        guard let tape = try service.stored({ () throws(StoreError) in try service.store.tape(tapeID) }) else {
            return nil
        }
        clips = try service.stored { () throws(StoreError) in try service.store.clips(of: tapeID) }
        guard !clips.isEmpty else { return nil }
        firstClips = Set(clips.map(\.id))
        self.service = service
        self.isAsked = isAsked
        self.tape = tape
        wasRefused = tape.reason?.isOfAccess ?? false
        filed = path.map { ClipRecord(id: UUID().uuidString.lowercased(), tapeID: tapeID, kind: .video, source: $0) }
    }

    /// Does what is to be done, and keeps what came of it.
    mutating func run() async throws(TapesError) -> (outcome: AlbumOutcome, isLibraryWide: Bool) {
        guard try isDue() else {
            link = try service.knownLink(of: tape.id)
            return (outcome(), false)
        }
        do throws(AlbumTrouble) {
            try await ensureAlbum()
            try await fillAlbum()
        } catch {
            switch error {
            case .fatal(let fatal):
                // What the library has confirmed is kept, whatever ends this.
                try settle()
                throw fatal
            case .setback(let setback): try keep(setback)
            }
        }
        try settle()
        try reload()
        if let opened, link != nil, setback == nil {
            try service.keep(opened, isGranted: isGranted(opened))
        }
        if let link, addedClips > 0 || isCreated {
            _ = try await service.arrange(tape, clips, in: link)
        }
        return (outcome(), setback?.isLibraryWide ?? isFull)
    }

    /// Whether it is time: a clip is new or has waited long enough, or there is no album (rule R9).
    private func isDue() throws(TapesError) -> Bool {
        guard !isAsked, filed == nil else { return true }
        let pending = clips.filter { $0.association == .pending }
        if pending.contains(where: isDue) { return true }
        guard pending.isEmpty else { return false }
        if tape.association != .associated { return true }
        return try service.knownLink(of: tape.id) == nil
    }

    func isDue(_ clip: ClipRecord) -> Bool { clip.nextAttemptAt.map { $0 <= service.now() } ?? true }

    /// Whether a grant that was refused is proven to suffice now, or is another one.
    private func isGranted(_ opened: OpenLibrary) throws(TapesError) -> Bool {
        if isCreated || wasRefused { return true }
        return try service.record()?.refusedFingerprint != opened.access.fingerprint
    }

    // MARK: Keeping

    /// Commits what became of clips (rule R2.8).
    mutating func settle() throws(TapesError) {
        guard !settlements.isEmpty else { return }
        let kept = clips.compactMap { settlements[$0.id] }
        settlements = [:]
        let libraryID = opened?.id ?? ""
        let time = service.now()
        try service.stored { () throws(StoreError) in
            try service.store.settle(kept, in: libraryID, at: time)
        }
        TapeKillPoint.clipsSettled.reach()
    }

    /// Reads the tape and its clips again.
    mutating func reload() throws(TapesError) {
        let id = tape.id
        if let tape = try service.stored({ () throws(StoreError) in try service.store.tape(id) }) { self.tape = tape }
        clips = try service.stored { () throws(StoreError) in try service.store.clips(of: id) }
    }

    /// Makes the tape pending.
    mutating func makePending(_ reason: AssociationReason) throws(TapesError) {
        guard tape.association != .pending || tape.reason != reason else { return }
        let id = tape.id
        try service.stored { () throws(StoreError) in try service.store.settleTape(id, .pending, reason) }
        tape.association = .pending
        tape.reason = reason
    }

    /// Keeps why it went no further: in the tape where it has no usable album, and in the clips that were to be added.
    private mutating func keep(_ setback: AlbumSetback) throws(TapesError) {
        self.setback = setback
        for clip in clips where clip.association == .pending && settlements[clip.id] == nil && isIncluded(clip) {
            fail(clip, setback)
        }
        let isUnusable = setback.reason.isOfAccess || [.libraryChanged, .albumMissing].contains(setback.reason)
        if isUnusable || tape.association != .associated { try makePending(setback.reason) }
        if setback.reason.isOfAccess, !setback.isBelieved, let opened {
            try service.refuse(opened.access)
        }
        report(.pending, setback.reason.rawValue, details: setback.detail)
    }

    func report(_ kind: AlbumEvent.Kind, _ message: String = "", albumID: String? = nil, details: String = "") {
        service.report(
            AlbumEvent(
                kind,
                tapeID: tape.id,
                albumID: albumID ?? link?.albumID,
                message: message,
                details: details
            )
        )
    }

    // MARK: Outcome

    private func outcome() -> AlbumOutcome {
        let missing = clips.filter {
            $0.association != .linked && (firstClips.contains($0.id) || $0.reason != nil)
        }
        let isUsable = link != nil && tape.association == .associated
        let isComplete = missing.isEmpty && filingReason == nil && setback == nil
        var permissions = setback?.missingPermissions ?? []
        if permissions.isEmpty, case .limited(let names)? = opened?.access.state { permissions = names }
        return AlbumOutcome(
            isUsable ? (isComplete ? .associated : .partly) : .pending,
            link: link,
            isCreated: isCreated,
            formerLink: isCreated ? formerLink : nil,
            reason: setback?.reason ?? tape.reason ?? filingReason ?? missing.first { $0.reason != nil }?.reason,
            detail: setback?.detail ?? clipDetail,
            isAlbumDamaged: setback?.isOfAlbum ?? false,
            missingPermissions: permissions,
            pendingClips: missing.count,
            addedClips: addedClips,
            isFiled: isFiled,
            hiddenClips: hiddenClips
        )
    }
}
