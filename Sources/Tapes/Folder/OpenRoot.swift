internal import MediaCore
internal import MediaFiles

/// The root of a folder library, opened and identified by its marker. Its contents are accessed through its descriptor.
struct OpenRoot {
    let directory: TargetDirectory
    let marker: FolderMarker
    /// The pictures directory, as bytes, without trailing slashes.
    let pictures: [UInt8]?
    /// Whether this is the library last found here, or there never was one: only then does a missing album count as
    /// deleted.
    let isExpected: Bool

    /// Throws if a newer version has written the library.
    func checkIsOurs() throws(AlbumError) {
        if marker.isNewer { throw Self.newer(marker.newerDetail) }
    }

    static func newer(_ detail: String) -> AlbumError {
        AlbumError(.insufficient(["write"]), detail: detail, obstacle: .newerVersion)
    }

    /// Finds an album (contract section 5, finding) by the ID in its manifest: at its last known path, of which only the
    /// last component is used, and then elsewhere. Returns nil if the expected library has no such album; throws if that
    /// is uncertain. If `isSearching` is false, nil means only that the album is not at its last known path.
    func album(_ id: String, hint: [UInt8]?, isSearching: Bool = true) throws(AlbumError) -> AlbumFolder? {
        let id = id.lowercased()
        var uncertain: AlbumError?
        if let name = hint?.split(separator: UInt8(ascii: "/")).last.map(Array.init) {
            switch child(into: name) {
            case .album(let album) where album.manifest.id == id: return album
            case .uncertain(let error): uncertain = error
            // A folder with an unreadable manifest may be the requested album, so the album cannot be reported as
            // missing.
            case .damaged: uncertain = Self.damaged(name)
            case .album, .nothing: break
            }
        }
        guard isSearching else {
            if let uncertain { throw uncertain }
            return nil
        }
        if let album = try scan(uncertain, where: { $0.id == id }) { return album }
        guard isExpected else {
            let path = TerminalText.escaped(directory.path)
            throw AlbumError(
                .libraryChanged,
                detail: "\(path) now has the library \(marker.libraryID), without the album",
                obstacle: .otherFolder
            )
        }
        return nil
    }

    private static func damaged(_ name: [UInt8]) -> AlbumError {
        AlbumError(
            .albumDamaged,
            detail: "the manifest in \(TerminalText.escaped(name)) is damaged; restore its .mediactl-album.json from "
                + "a backup, or remove it: the next attempt then creates a new album in another folder"
        )
    }

    /// The album of a tape, by the tape ID in its manifest (rule R4).
    func album(markedBy tapeID: String) throws(AlbumError) -> AlbumFolder? {
        let tapeID = tapeID.lowercased()
        return try scan { $0.tapeID == tapeID }
    }

    /// Searches the direct children of the root in the order of their names, since the user may have renamed album
    /// folders. If none is found, throws `earlier`, or the first error.
    private func scan(
        _ earlier: AlbumError? = nil,
        where isWanted: (AlbumManifest) -> Bool
    ) throws(AlbumError) -> AlbumFolder? {
        var uncertain = earlier
        let names: [[UInt8]]
        do throws(FileWriteError) {
            names = try directory.names()
        } catch {
            guard error.kind == .denied else { throw AlbumError(error) }
            throw AlbumError(.insufficient(["read"]), detail: "no permission to list the root directory")
        }
        for name in names.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            switch child(into: name) {
            case .album(let album) where isWanted(album.manifest): return album
            case .uncertain(let error): uncertain = uncertain ?? error
            case .album, .damaged, .nothing: break
            }
        }
        if let uncertain { throw uncertain }
        return nil
    }

    private enum Child {
        case album(AlbumFolder)
        /// Not an album of this library.
        case nothing
        /// An invalid manifest.
        case damaged
        /// Unknown because of an error.
        case uncertain(AlbumError)
    }

    private func child(into name: [UInt8]) -> Child {
        do throws(FileWriteError) {
            guard AlbumManifest.isLinkName(name), let folder = try directory.subdirectoryForAdding(name),
                let text = try LibraryFile.manifest.read(in: folder)
            else { return .nothing }
            guard let manifest = AlbumManifest(text) else { return .damaged }
            guard manifest.libraryID == marker.id else { return .nothing }
            return .album(AlbumFolder(root: self, directory: folder, name: name, manifest: manifest))
        } catch {
            // Files, links to directories, and manifests that are not regular files are foreign, as are inaccessible
            // directories that belong to other users, such as `lost+found`.
            let isForeign = error.kind == .denied && (try? directory.isOfOthers(name)) == true
            return error.kind == .unsafe || isForeign ? .nothing : .uncertain(AlbumError(error))
        }
    }
}
