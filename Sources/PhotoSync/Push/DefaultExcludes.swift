internal import MediaFiles

/// Files that are not a user's photos: hidden directories, trash, thumbnails, and system files.
enum DefaultExcludes {
    /// Directory patterns end in a slash. All patterns apply only below a specified directory, never to the directory
    /// itself.
    static let texts = [
        // Hidden directories, including .Trash-1000, .Trashes and .thumbnails.
        ".*/",
        // Trash directories used by Windows, Synology, QNAP and file managers.
        "$RECYCLE.BIN/", "RECYCLER/", "#recycle/", "@Recycle/", "[Tt]rash/", ".trashed-*",
        // Thumbnails and metadata created by NAS systems and Windows.
        "@eaDir/", "[Tt]humbs.db", "[Dd]esktop.ini", "System Volume Information/", "lost+found/",
        // Thumbnails stored by `Download.runThumbnails`.
        "????????-????-????-????-????????????.thumbnail.jpg",
        // Metadata created by macOS, and photos that Android is still writing.
        "._*", ".DS_Store", ".pending-*",
    ]

    /// All texts are valid patterns; a test compares the counts.
    static let patterns = texts.compactMap { try? GlobPattern($0) }
}
