internal import MediaSystem

/// Where a change to a tape or its album can be made to die; ``KillPlace`` tells how.
enum TapeKillPoint: String, CaseIterable, KillPlace {
    /// The clips are committed, the album knows nothing of them.
    case clipsCommitted
    /// The tape is locked and was read again.
    case lockTaken
    /// The intent is kept, the library was not asked.
    case intentKept
    /// The library has made the album, the store does not say so.
    case albumCreated
    /// The identifier of the album is kept, it is empty.
    case linkKept
    /// The library's names for the originals are known, nothing is added.
    case assetsResolved
    /// The assets are in the album, the store does not say so.
    case assetsAdded
    /// The store says so.
    case clipsSettled
    /// Folder library: the folder of an album is made, it has no manifest.
    case folderMade
    /// Folder library: the first manifest is written.
    case manifestWritten
    /// Folder library: the first link is made, the manifest does not name it.
    case linkMade
    /// Folder library: all links are made, the manifest does not name them.
    case linksMade
    /// Folder library: the manifest names all links.
    case manifestRewritten
    /// Folder library: the playlist is written.
    case playlistWritten
    /// The tape is gone, its tombstone is kept, the album is there.
    case tapeDeleted
    /// The album is gone, the tombstone is there.
    case albumDeleted
}
