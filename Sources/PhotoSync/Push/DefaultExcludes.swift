internal import MediaFiles

/// Files that are not a user's photos: hidden directories, trash, thumbnails, and system files.
enum DefaultExcludes {
    /// Patterns of directories end in a slash. Applied only below a specified directory, never to the directory itself.
    static let texts = [
        // Hidden directories, also .Trash-1000, .Trashes and .thumbnails.
        ".*/",
        // Trash of Windows, Synology, QNAP, and of file managers.
        "$RECYCLE.BIN/", "RECYCLER/", "#recycle/", "@Recycle/", "[Tt]rash/", ".trashed-*",
        // Thumbnails and metadata of NAS systems and of Windows.
        "@eaDir/", "[Tt]humbs.db", "[Dd]esktop.ini", "System Volume Information/", "lost+found/",
        // Thumbnails stored by `Download.runThumbnails`.
        "????????-????-????-????-????????????.thumbnail.jpg",
        // Metadata of macOS, and photos that Android is still writing.
        "._*", ".DS_Store", ".pending-*",
    ]

    /// All texts are valid patterns; a test compares the counts.
    static let patterns = texts.compactMap { try? GlobPattern($0) }
}
