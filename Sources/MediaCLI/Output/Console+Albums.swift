internal import Tapes

/// What is said of albums beside the results.
extension Console {
    /// Says the warning about an album, if there is one.
    func warn(_ warning: AlbumWarning?) {
        guard let warning else { return }
        self.warning(warning.text, hint: warning.hint)
    }

    /// What happens to albums (rule R19): with -v tapes and albums by their ids, with -vv titles and paths as well.
    func log(_ event: AlbumEvent) {
        guard verbosity > 0 else { return }
        var words = ["photos: \(event.kind.rawValue): tape \(ErrorCatalogue.clean(event.tapeID))"]
        if let album = event.albumID {
            words.append("album \(ErrorCatalogue.clean(album))")
        }
        if !event.message.isEmpty {
            words.append(ErrorCatalogue.clean(event.message))
        }
        if verbosity > 1, !event.details.isEmpty {
            words.append(ErrorCatalogue.clean(event.details))
        }
        trace(words.joined(separator: ", "))
    }
}
