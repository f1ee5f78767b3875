internal import MediaFiles
internal import MediaStore
internal import MediaSystem

/// Steps 4 to 6 of rule R2: access, the album, its identifier.
extension AlbumAttempt {
    /// Ends with `link`, kept in the store: an identifier is committed before anything is added (trap 4).
    mutating func ensureAlbum() async throws(AlbumTrouble) {
        let opened = try await service.open(.addOnly, believingRefusal: believesRefusal)
        self.opened = opened
        let id = tape.id
        let links = try service.kept { () throws(TapesError) in
            try service.stored { () throws(StoreError) in try service.store.albumLinks(of: id) }
        }
        report(.ensure)
        if let known = links.first(where: { $0.libraryID == opened.id }) {
            try service.kept { () throws(TapesError) in try service.keep(opened, isGranted: false) }
            try await visit(known, opened)
            return
        }
        let record = try service.kept { () throws(TapesError) in try service.record() }
        if let former = links.first(where: { service.isOfThisAddress($0, record) }) {
            // Another library where that of the tape was: a disk that is not mounted, another account (trap 1).
            throw .setback(AlbumSetback(.libraryChanged, detail: "its album is in \(former.libraryID)"))
        }
        if !links.isEmpty {
            formerLink = links.last
            // The user has chosen another place: the album there is a new one, the link to the old one stays.
            try service.kept { () throws(TapesError) in try makePending(.libraryChanged) }
        }
        try service.kept { () throws(TapesError) in try service.keep(opened, isGranted: false) }
        try await makeAlbum(opened)
    }

    /// Whether a refusal concerns this tape: one that may not make albums may still add to those there are (rule R10).
    private func believesRefusal(_ access: AlbumAccess) -> Bool {
        guard !isAsked else { return false }
        switch access.state {
        case .authorized, .limited: return wasRefused || (try? service.knownLink(of: tape.id)) == nil
        case .notDetermined, .restricted, .denied: return true
        }
    }

    /// Looks at the album that the identifier names, by nothing but the identifier (rule R3).
    private mutating func visit(_ known: AlbumLink, _ opened: OpenLibrary) async throws(AlbumTrouble) {
        var known = known
        let presence: AlbumPresence
        do throws(AlbumError) {
            presence = try await service.library.album(known.albumID, hint: known.hint)
        } catch {
            guard error.kind == .albumMissing else { throw AlbumTrouble(error) }
            presence = .missing
        }
        switch presence {
        case .found(_, _, let hint):
            known.hint = hint ?? known.hint
            known.verifiedAt = service.now()
            try use(known)
        case .unknown:
            // Whoever may only add may not look: the identifier is presumed good (trap 3).
            try use(known)
        case .missing:
            try await remakeAlbum(known.albumID, opened)
            return
        case .damaged(let detail): throw AlbumTrouble(AlbumError(.albumDamaged, detail: detail))
        }
        report(.reuse)
    }

    /// Makes the album again that is gone: under the title that the tape has now, for all clips (rule R5).
    mutating func remakeAlbum(_ goneID: String, _ opened: OpenLibrary) async throws(AlbumTrouble) {
        try await service.confirm(opened)
        try service.kept { () throws(TapesError) in try makePending(.albumMissing) }
        report(.pending, AssociationReason.albumMissing.rawValue, albumID: goneID)
        guard !isRemade else { throw .setback(AlbumSetback(.albumMissing, isLibraryWide: false)) }
        isRemade = true
        link = nil
        try await makeAlbum(opened)
    }

    private mutating func makeAlbum(_ opened: OpenLibrary) async throws(AlbumTrouble) {
        if let marked = try await albumLeftBehind(opened) {
            try use(albumLink(marked, opened))
            report(.reuse, "found by its mark")
            return
        }
        // What is known to be forbidden is not asked for: it would be refused, or leave an empty album (rule R10).
        guard !opened.access.forbidsNewAlbums else { throw .setback(AlbumSetback(opened.access)) }
        let title = AlbumTitle.of(tape)
        let intent = AlbumIntent(tapeID: tape.id, libraryID: opened.id, title: title, startedAt: service.now())
        try stored { () throws(StoreError) in try service.store.keep(intent) }
        TapeKillPoint.intentKept.reach()
        let made: MadeAlbum
        do throws(AlbumError) {
            made = try await service.library.createAlbum(title: title, tapeID: tape.id)
        } catch {
            try forgetIntent(after: error, opened)
            throw AlbumTrouble(error, refusal: .createFailed)
        }
        TapeKillPoint.albumCreated.reach()
        isCreated = true
        try use(albumLink(made, opened))
        TapeKillPoint.linkKept.reach()
        report(.create, try namesakes(of: made, opened), details: made.title)
    }

    /// The album of a creation whose answer never came, by our own mark (rule R4).
    private func albumLeftBehind(_ opened: OpenLibrary) async throws(AlbumTrouble) -> MadeAlbum? {
        let id = tape.id
        let intent = try stored { () throws(StoreError) in try service.store.albumIntent(of: id, in: opened.id) }
        guard intent != nil else { return nil }
        do throws(AlbumError) {
            return try await service.library.albumMarked(id)
        } catch {
            switch error.kind {
            // Without permission to look, create.
            case .unauthorized, .insufficient: return nil
            default: throw AlbumTrouble(error)
            }
        }
    }

    /// Ends the intent unless the library may have made an album all the same.
    private func forgetIntent(after error: AlbumError, _ opened: OpenLibrary) throws(AlbumTrouble) {
        switch error.kind {
        case .unreachable, .cancelled: return
        case .unauthorized, .insufficient, .albumMissing, .albumDamaged, .libraryChanged, .rejected, .quota: break
        }
        let id = tape.id
        try stored { () throws(StoreError) in try service.store.removeAlbumIntent(of: id, in: opened.id) }
    }

    private func albumLink(_ made: MadeAlbum, _ opened: OpenLibrary) -> AlbumLink {
        AlbumLink(
            tapeID: tape.id,
            libraryID: opened.id,
            albumID: made.id,
            titleAtCreation: made.title,
            ownerID: made.ownerID,
            hint: made.hint,
            createdAt: service.now(),
            verifiedAt: service.now()
        )
    }

    /// Commits the identifier; where it is another one, or another library's turn, all clips are pending again.
    private mutating func use(_ link: AlbumLink) throws(AlbumTrouble) {
        let isKept = try stored { () throws(StoreError) in try service.store.keep(link) }
        guard isKept else {
            throw .setback(AlbumSetback(.internalError, detail: "the tape is gone", isLibraryWide: false))
        }
        self.link = link
        try service.kept { () throws(TapesError) in try reload() }
    }

    /// Says which other albums of ours have the same title: two tapes of one title have two albums (rule R3).
    private func namesakes(of made: MadeAlbum, _ opened: OpenLibrary) throws(AlbumTrouble) -> String {
        let links = try stored { () throws(StoreError) in try service.store.albumLinks(in: opened.id) }
        let others = links.filter { $0.titleAtCreation == made.title && $0.albumID != made.id }.map(\.albumID)
        return others.isEmpty ? "" : "its title is also that of \(others.joined(separator: ", "))"
    }

    private func stored<Value>(_ body: () throws(StoreError) -> Value) throws(AlbumTrouble) -> Value {
        do throws(StoreError) { return try body() } catch { throw .fatal(TapesError(error)) }
    }
}
