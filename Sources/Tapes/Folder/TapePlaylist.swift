internal import MediaFiles
internal import MediaStore
internal import MediaSystem

/// `tape.m3u8` in an album: the order of the tape, for players (tapes contract section 5). Derived from the store,
/// without trims and transitions.
enum TapePlaylist {
    private static let head = Array("#EXTM3U\n#PLAYLIST:".utf8)

    /// The playlist; clips without a link in the album are omitted. `links` are names of links by the path of their
    /// original.
    static func bytes(of tape: TapeRecord, clips: [ClipRecord], links: [[UInt8]: [UInt8]]) -> [UInt8] {
        let entries = clips.compactMap { clip -> M3UPlaylist.Entry? in
            guard let link = clip.source.flatMap({ links[$0] }) else { return nil }
            // The link of a live picture is to its still.
            let milliseconds = clip.kind == .video ? clip.durationMilliseconds : clip.imageMilliseconds
            return M3UPlaylist.Entry(milliseconds: milliseconds, name: link, location: Array("./".utf8) + link)
        }
        return M3UPlaylist(title: tape.title, entries: entries).bytes
    }

    /// Writes the playlist if it has changed. A foreign file of that name is kept.
    static func write(_ text: [UInt8], in directory: TargetDirectory) throws(FileWriteError) {
        if try directory.kind(of: LibraryFile.playlist.name) != nil {
            guard try isOurs(in: directory), try LibraryFile.playlist.read(in: directory) != text else { return }
        }
        try LibraryFile.playlist.write(text, in: directory)
        TapeKillPoint.playlistWritten.reach()
    }

    /// Whether there is a playlist that starts like ours.
    static func isOurs(in directory: TargetDirectory) throws(FileWriteError) -> Bool {
        do throws(FileWriteError) {
            return try LibraryFile.playlist.read(in: directory)?.starts(with: head) ?? false
        } catch {
            guard error.kind == .unsafe || error.kind == .denied else { throw error }
            return false
        }
    }
}

extension AlbumFolder {
    func arrange(_ tape: TapeRecord, _ clips: [ClipRecord]) throws(AlbumError) {
        try checkIsOurs()
        let targets = targets
        var links: [[UInt8]: [UInt8]] = [:]
        for entry in manifest.entries {
            if let source = targets.source(of: entry.target) { links[source] = entry.link }
        }
        let playlist = TapePlaylist.bytes(of: tape, clips: clips, links: links)
        try AlbumError.needing(.addOnly, TapePlaylist.write(playlist, in: directory))
    }
}
