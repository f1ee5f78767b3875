public import MediaStore

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
    init(_ code: Code, _ setback: AlbumSetback) {
        let missing = setback.missingPermissions.joined(separator: ", ")
        self.init(
            code,
            detail: setback.detail.isEmpty ? missing : setback.detail,
            value: setback.reason.rawValue,
            candidates: setback.missingPermissions
        )
    }
}
