internal import MediaFiles
internal import MediaStore
internal import MediaSystem

/// `tape.m3u8` in an album: the order of the tape, for players (tapes contract section 5). Derived from the store; trims and
/// transitions cannot be told in it.
enum TapePlaylist {
    private static let head = Array("#EXTM3U\n#PLAYLIST:".utf8)

    /// The playlist: clips without a link in the album are left out.
    ///
    /// - Parameters:
    ///   - tape: Gives the title.
    ///   - clips: In their order.
    ///   - links: Names of links by the path of their original.
    /// - Returns: The bytes of the file.
    static func bytes(of tape: TapeRecord, clips: [ClipRecord], links: [[UInt8]: [UInt8]]) -> [UInt8] {
        let entries = clips.compactMap { clip -> M3UPlaylist.Entry? in
            guard let link = clip.source.flatMap({ links[$0] }) else { return nil }
            // Of a live picture the still is linked.
            let milliseconds = clip.kind == .video ? clip.durationMilliseconds : clip.imageMilliseconds
            return M3UPlaylist.Entry(milliseconds: milliseconds, name: link, location: Array("./".utf8) + link)
        }
        return M3UPlaylist(title: tape.title, entries: entries).bytes
    }

    /// Writes the playlist when it says something new. A file of that name that is none of ours stays.
    static func write(_ text: [UInt8], in directory: TargetDirectory) throws(FileWriteError) {
        if try directory.kind(of: LibraryFile.playlist.name) != nil {
            guard try isOurs(in: directory), try LibraryFile.playlist.read(in: directory) != text else { return }
        }
        try LibraryFile.playlist.write(text, in: directory)
        TapeKillPoint.playlistWritten.reach()
    }

    /// Whether there is a playlist that begins like those that we write.
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
    /// Writes the playlist of a tape.
    func arrange(_ tape: TapeRecord, _ clips: [ClipRecord]) throws(AlbumError) {
        try checkIsOurs()
        let targets = targets
        var links: [[UInt8]: [UInt8]] = [:]
        for entry in manifest.entries {
            if let source = targets.source(of: entry.target) { links[source] = entry.link }
        }
        let playlist = TapePlaylist.bytes(of: tape, clips: clips, links: links)
        try AlbumError.needing(.addOnly) { () throws(FileWriteError) in try TapePlaylist.write(playlist, in: directory)
        }
    }
}
