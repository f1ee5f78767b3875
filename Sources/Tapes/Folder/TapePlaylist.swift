internal import MediaFiles
internal import MediaStore
internal import MediaSystem

/// `tape.m3u8` in an album: the order of the tape, for players (tapes contract section 5). Derived from the store,
/// without trims and transitions.
enum TapePlaylist {
    private static let head = Array("#EXTM3U\n#PLAYLIST:".utf8)

    /// The playlist: exactly the clips of the tape, in its order. A clip without a link in the album is listed by its
    /// path. `links` contains the names of links by the path of their original.
    static func bytes(of tape: TapeRecord, clips: [ClipRecord], links: [[UInt8]: [UInt8]]) -> [UInt8] {
        let entries = clips.compactMap { clip -> M3UPlaylist.Entry? in
            guard let source = clip.source else { return nil }
            // The link of a live photo leads to its still.
            let milliseconds = clip.kind == .video ? clip.durationMilliseconds : clip.imageMilliseconds
            guard let link = links[source] else {
                let line = M3UPlaylist.line(for: source)
                return M3UPlaylist.Entry(milliseconds: milliseconds, name: source.nameOfPath, location: line)
            }
            return M3UPlaylist.Entry(milliseconds: milliseconds, name: link, location: Array("./".utf8) + link)
        }
        return M3UPlaylist(title: tape.title, entries: entries).bytes
    }

    /// Writes the playlist if it has changed. A foreign file with that name is kept.
    static func write(_ text: [UInt8], in directory: TargetDirectory) throws(FileWriteError) {
        if try directory.kind(of: LibraryFile.playlist.name) != nil {
            guard try isOurs(in: directory), try LibraryFile.playlist.read(in: directory) != text else { return }
        }
        try LibraryFile.playlist.write(text, in: directory)
        TapeFailpoint.playlistWritten.reach()
    }

    /// Whether there is a playlist that starts like one written by mediactl.
    static func isOurs(in directory: TargetDirectory) throws(FileWriteError) -> Bool {
        do throws(FileWriteError) {
            return try LibraryFile.playlist.read(in: directory)?.starts(with: head) ?? false
        } catch {
            guard error.kind == .unsafe || error.kind == .denied else { throw error }
            return false
        }
    }

    /// The entries of a playlist, without its title: renaming the tape does not make it outdated (rule R8).
    static func entries(of text: [UInt8]) -> [ArraySlice<UInt8>] {
        Array(text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropFirst(2))
    }
}
