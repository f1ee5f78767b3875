internal import MediaFiles
internal import MediaStore
internal import MediaSystem

/// Rule R11: an album goes with its tape only where the flag says so, and is owed until it is gone.
extension AlbumService {
    /// Deletes a tape; with the flag on also its album, unless it is to be kept.
    ///
    /// With the flag off the library is not called at all.
    ///
    /// - Parameters:
    ///   - tapeID: The tape.
    ///   - keepingAlbum: Whether its albums are to stay this once.
    /// - Returns: The tape, and what became of its albums.
    /// - Throws: `TapesError` `.tapeNotFound`, `.storeUnusable`, `.cancelled`.
    public func deleteTape(_ tapeID: String, keepingAlbum: Bool) async throws(TapesError) -> TapeDeletion {
        try await locked(tapeID) { () async throws(TapesError) in
            guard let tape = try stored({ () throws(StoreError) in try store.tape(tapeID) }) else {
                throw TapesError(.tapeNotFound, value: tapeID)
            }
            let links = try stored { () throws(StoreError) in try store.albumLinks(of: tapeID) }
            let isOwed = mayDelete && !keepingAlbum
            let stones = try stored { () throws(StoreError) in try store.deleteTape(tapeID, owing: isOwed) }
            guard let stones else { throw TapesError(.tapeNotFound, value: tapeID) }
            TapeKillPoint.tapeDeleted.reach()
            var albums: [TapeDeletion.Album] = []
            for link in links {
                let stone = stones.first { $0.libraryID == link.libraryID && $0.albumID == link.albumID }
                guard let stone else {
                    albums.append(.kept(link))
                    continue
                }
                albums.append(TapeDeletion.Album(link, try await workOff(stone, hint: link.hint, tapeID: tapeID)))
            }
            return TapeDeletion(tape: tape, albums: albums)
        }
    }

    /// What became of a deletion that was owed.
    enum WorkedOff {
        case gone(AlbumDeletion)
        /// Another tape has the album now, or the flag is off: nothing was asked.
        case spared
        case owed(AlbumSetback)
    }

    /// Tries to delete one album. The flag is checked here, below everything that deletes.
    func workOff(_ stone: AlbumTombstone, hint: [UInt8]?, tapeID: String = "") async throws(TapesError) -> WorkedOff {
        guard mayDelete else { return .spared }
        let links = try stored { () throws(StoreError) in try store.albumLinks(in: stone.libraryID) }
        guard !links.contains(where: { $0.albumID == stone.albumID }) else {
            try forget(stone)
            return .spared
        }
        do throws(AlbumTrouble) {
            let deletion = try await delete(stone, hint: hint)
            TapeKillPoint.albumDeleted.reach()
            try kept { () throws(TapesError) in try forget(stone) }
            report(AlbumEvent(.delete, tapeID: tapeID, albumID: stone.albumID, message: "\(deletion)"))
            return .gone(deletion)
        } catch {
            switch error {
            case .fatal(let error): throw error
            case .setback(let setback):
                var stone = stone
                stone.attempts += 1
                stone.lastError = setback.detail.isEmpty ? setback.reason.rawValue : setback.detail
                try stored { [stone] () throws(StoreError) in try store.keep(stone) }
                report(
                    AlbumEvent(
                        .pending,
                        tapeID: tapeID,
                        albumID: stone.albumID,
                        message: "not deleted: \(setback.reason.rawValue)",
                        details: setback.detail
                    )
                )
                return .owed(setback)
            }
        }
    }

    private func delete(_ stone: AlbumTombstone, hint: [UInt8]?) async throws(AlbumTrouble) -> AlbumDeletion {
        let opened = try await open(.readWrite)
        guard opened.id == stone.libraryID else {
            throw .setback(AlbumSetback(.libraryChanged, isLibraryWide: false))
        }
        try kept { () throws(TapesError) in try keep(opened, isGranted: false) }
        do throws(AlbumError) {
            return try await library.deleteAlbum(stone.albumID, hint: hint)
        } catch {
            guard error.kind == .albumMissing else { throw AlbumTrouble(error) }
            return .alreadyGone
        }
    }

    private func forget(_ stone: AlbumTombstone) throws(TapesError) {
        try stored { () throws(StoreError) in try store.removeAlbumTombstone(stone.albumID, in: stone.libraryID) }
    }
}

extension TapeDeletion.Album {
    init(_ link: AlbumLink, _ end: AlbumService.WorkedOff) {
        self =
            switch end {
            case .gone(.keptForeign(let count)): .keptForeign(link, count)
            case .gone(.deleted), .gone(.alreadyGone): .deleted(link)
            case .spared: .kept(link)
            case .owed(let setback): .owed(link, setback.reason, detail: setback.detail)
            }
    }
}
