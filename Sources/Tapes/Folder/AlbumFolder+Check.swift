internal import Foundation
internal import MediaFiles
public import MediaStore
internal import MediaSystem

// Finds manual changes in the folder of an album.
extension AlbumFolder {
    /// Compares the folder with the tape. Unless `isThorough` is true, checks only the names in the manifest.
    func check(
        _ tape: TapeRecord,
        _ clips: [ClipRecord],
        isThorough: Bool
    ) throws(FileWriteError) -> [AlbumFinding] {
        let links = try links()
        let strays = isThorough ? try strays(links) : [:]
        var findings: [AlbumFinding] = []
        var byClip: [Int: ClipRecord] = [:]
        var seen: Set<[UInt8]> = []
        for clip in clips where clip.association == .linked {
            guard let source = clip.source, seen.insert(source).inserted else { continue }
            let places = links.indices.filter { links[$0].source == source }
            for place in places { byClip[place] = clip }
            if places.contains(where: { links[$0].name != nil }) { continue }
            findings.append(try finding(clip, places.first.map { links[$0].entry }, strays[source]))
        }
        guard isThorough else { return findings }
        if links.contains(where: { $0.entry.nextLink != nil }) {
            findings.append(AlbumFinding(kind: .renamingInterrupted, path: path))
        } else {
            for (index, (link, name)) in zip(links, try names(of: links, for: clips)).enumerated() {
                guard let current = link.name, current != name else { continue }
                findings.append(
                    AlbumFinding(
                        kind: .linkMisnumbered,
                        clip: byClip[index],
                        path: directory.path(of: current),
                        other: directory.path(of: name)
                    )
                )
            }
        }
        if let kind = try playlistFinding(tape, clips, links) {
            findings.append(AlbumFinding(kind: kind, path: directory.path(of: LibraryFile.playlist.name)))
        }
        findings += try temporaryFiles().map { AlbumFinding(kind: .temporaryFile, path: directory.path(of: $0)) }
        return findings
    }

    /// The links of clips removed from the tape, and of rendered videos.
    func linksWithoutClip(_ clips: [ClipRecord]) throws(FileWriteError) -> [(path: [UInt8], original: [UInt8])] {
        let sources = Set(clips.compactMap(\.source))
        return try links().compactMap { link in
            guard let name = link.name, let source = link.source, !sources.contains(source) else { return nil }
            return (directory.path(of: name), source)
        }
    }

    private func finding(
        _ clip: ClipRecord,
        _ entry: AlbumManifest.Entry?,
        _ stray: [UInt8]?
    ) throws(FileWriteError) -> AlbumFinding {
        let path = entry.map { directory.path(of: $0.link) }
        if let stray, entry != nil {
            return AlbumFinding(kind: .linkRenamed, clip: clip, path: path, other: directory.path(of: stray))
        }
        let isTaken =
            try entry.map { entry throws(FileWriteError) in try directory.kind(of: entry.link) != nil } ?? false
        return AlbumFinding(kind: isTaken ? .linkReplaced : .linkMissing, clip: clip, path: path)
    }

    /// Links without an entry, by the original of an entry whose link is missing: the link was renamed manually. The
    /// target must exactly match the entry's target; if several match, the first by name is used.
    private func strays(_ links: [AlbumLinkPlace]) throws(FileWriteError) -> [[UInt8]: [UInt8]] {
        let gone = links.filter { $0.name == nil }
        guard !gone.isEmpty else { return [:] }
        let known = Set(links.compactMap(\.name))
        var strays: [[UInt8]: [UInt8]] = [:]
        for name in try directory.names().sorted(by: { $0.lexicographicallyPrecedes($1) })
        where !known.contains(name) && AlbumManifest.isLinkName(name) && String(validating: name, as: UTF8.self) != nil
        {
            guard let target = try directory.target(ofLink: name),
                let source = gone.first(where: { $0.entry.target == target })?.source, strays[source] == nil
            else { continue }
            strays[source] = name
        }
        return strays
    }

    private func playlistFinding(
        _ tape: TapeRecord,
        _ clips: [ClipRecord],
        _ links: [AlbumLinkPlace]
    ) throws(FileWriteError) -> AlbumFinding.Kind? {
        guard try directory.kind(of: LibraryFile.playlist.name) != nil else { return .playlistMissing }
        guard try TapePlaylist.isOurs(in: directory), let text = try LibraryFile.playlist.read(in: directory) else {
            return .playlistForeign
        }
        let isCurrent = TapePlaylist.entries(of: text) == TapePlaylist.entries(of: playlist(tape, clips, links))
        return isCurrent ? nil : .playlistOutdated
    }

    /// Files left by a process that crashed while writing.
    func temporaryFiles() throws(FileWriteError) -> [[UInt8]] {
        var names: [[UInt8]] = []
        for file in [LibraryFile.manifest, .playlist] {
            let name = Array(file.temporaryName.utf8)
            if try directory.kind(of: name) == .regular { names.append(name) }
        }
        return names
    }

    // MARK: Repairing

    /// Restores the links of clips in the album: a link that was renamed manually gets its name back, and a missing
    /// link is created again. Entries with neither clip nor link are removed. Then arranges the album.
    ///
    /// - Throws: `.insufficient`, `.unauthorized`, `.unreachable`, `.quota`, `.cancelled`.
    mutating func mend(
        _ tape: TapeRecord,
        _ clips: [ClipRecord],
        at now: Date,
        _ steps: WorkSteps
    ) throws(AlbumError) {
        try checkIsOurs()
        try AlbumError.accessing(adoptRenamedLinks(clips))
        try steps.next()
        // The second occurrence of an original is already known.
        let assets = clips.filter { $0.association == .linked }
            .compactMap { clip in clip.source.map { AlbumAsset(id: $0, kind: clip.kind) } }
        var addition = try AlbumError.accessing(AlbumAddition(to: self, at: now))
        _ = try addition.add(assets, steps)
        self = addition.album
        try arrange(tape, clips, steps)
    }

    private mutating func adoptRenamedLinks(_ clips: [ClipRecord]) throws(FileWriteError) {
        for name in try temporaryFiles() { try directory.remove(name) }
        let links = try links()
        let strays = try strays(links)
        let sources = Set(clips.compactMap(\.source))
        var forgotten: Set<Int> = []
        var isChanged = false
        for link in links where link.name == nil {
            var entry = link.entry
            if let source = link.source, sources.contains(source) {
                guard let stray = strays[source] else { continue }
                entry.link = stray
                manifest.elements[link.place] = .entry(entry)
            } else {
                forgotten.insert(link.place)
            }
            isChanged = true
        }
        guard isChanged else { return }
        let kept = manifest.elements.enumerated().filter { !forgotten.contains($0.offset) }
        manifest.elements = kept.map(\.element)
        try writeManifest()
    }
}

// Checks and repairs albums, and handles leftovers from killed processes in the root.
extension FolderLibrary {
    /// Compares the links and the playlist of an album with the tape.
    public func check(
        _ albumID: String,
        hint: [UInt8]?,
        tape: TapeRecord,
        clips: [ClipRecord],
        isThorough: Bool
    ) async throws(AlbumError) -> [AlbumFinding] {
        try Self.check(albumID)
        guard isThorough else {
            return try await run { _ throws(AlbumError) in
                guard let album = try open().album(albumID, hint: hint, isSearching: false) else {
                    throw AlbumError(.albumMissing)
                }
                return try AlbumError.accessing(album.check(tape, clips, isThorough: false))
            }
        }
        let (findings, others) = try await alone { root, _ throws(AlbumError) in
            guard let album = try root.album(albumID, hint: hint) else { throw AlbumError(.albumMissing) }
            let findings = try AlbumError.accessing(album.check(tape, clips, isThorough: true))
            return (findings, try AlbumError.accessing(album.linksWithoutClip(clips)))
        }
        let missing: Set<[UInt8]>
        do throws(TapesError) {
            missing = try await OriginalReading.missing(among: others.map(\.original))
        } catch {
            throw AlbumError(.cancelled)
        }
        return findings
            + others.filter { missing.contains($0.original) }
            .map { AlbumFinding(kind: .originalMissing, path: $0.path, other: $0.original) }
    }

    /// Restores links, numbers and playlist.
    public func mend(
        _ albumID: String,
        hint: [UInt8]?,
        tape: TapeRecord,
        clips: [ClipRecord]
    ) async throws(AlbumError) {
        let now = now()
        try await inAlbum(albumID, hint: hint) { album, steps throws(AlbumError) in
            try album.mend(tape, clips, at: now, steps)
        }
    }

    /// Empty folders of albums whose creation was interrupted. None in a library that a newer version wrote: this
    /// version may not remove them.
    public func leftovers() async throws(AlbumError) -> [AlbumFinding] {
        try await alone { root, _ throws(AlbumError) in
            guard !root.marker.isNewer else { return [] }
            return try emptyFolders(root).map {
                AlbumFinding(kind: .emptyFolder, path: root.directory.path(of: $0))
            }
        }
    }

    /// Removes folders that are still empty.
    public func removeLeftovers(_ leftovers: [AlbumFinding]) async throws(AlbumError) {
        let names = Set(leftovers.compactMap(\.path?.nameOfPath))
        try await alone { root, steps throws(AlbumError) in
            try root.checkIsOurs()
            for name in try emptyFolders(root) where names.contains(name) {
                try steps.next()
                try AlbumError.accessing(root.removeEmptyFolder(name))
            }
        }
    }

    private func emptyFolders(_ root: OpenRoot) throws(AlbumError) -> [[UInt8]] {
        let intents = try stored(store.albumIntents(in: root.marker.libraryID))
        return try AlbumError.accessing(root.emptyFolders(requestedTitles: intents.map(\.title)))
    }
}

extension OpenRoot {
    private static let temporaryManifest = Array(LibraryFile.manifest.temporaryName.utf8)

    /// Folders owned by this user whose creation was interrupted: their names have the format of albums, and they
    /// contain only an unfinished manifest, or nothing if the creation of an album with this title was not finished.
    /// Any other empty folder may have been created manually or on another machine.
    fileprivate func emptyFolders(requestedTitles titles: [String]) throws(FileWriteError) -> [[UInt8]] {
        let prefix = Array(AlbumTitle.prefix.utf8)
        let names = try directory.names().filter { $0.starts(with: prefix) }
        var empty: [[UInt8]] = []
        for name in names.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            guard try directory.kind(of: name) == .directory, try !directory.isOfOthers(name),
                let folder = try? directory.subdirectoryForAdding(name)
            else { continue }
            let content: [[UInt8]]
            do throws(FileWriteError) {
                content = try folder.names()
            } catch {
                // A folder that cannot be listed may not be empty.
                guard error.kind == .denied else { throw error }
                continue
            }
            let isStarted = content == [Self.temporaryManifest]
            let isRequested = content.isEmpty && titles.contains { AlbumName.isFolder(name, of: $0) }
            if isStarted || isRequested { empty.append(name) }
        }
        return empty
    }

    fileprivate func removeEmptyFolder(_ name: [UInt8]) throws(FileWriteError) {
        guard let folder = try directory.subdirectoryForAdding(name) else { return }
        if try folder.kind(of: Self.temporaryManifest) == .regular { try folder.remove(Self.temporaryManifest) }
        try directory.removeDirectory(name)
        try directory.synchronize()
    }
}
