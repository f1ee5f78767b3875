internal import MediaSystem

/// Failpoints in a change to a tape or its album; see ``Failpoint``.
enum TapeFailpoint: String, CaseIterable, Failpoint {
    /// The clips are committed, but not in the album.
    case clipsCommitted
    /// The tape is locked and was reloaded.
    case lockTaken
    /// The intent is stored; nothing was sent to the library.
    case intentKept
    /// The library has created the album; the store has no link.
    case albumCreated
    /// The link to the album is stored; the album is empty.
    case linkKept
    /// The library's IDs for the originals are known; nothing is added.
    case assetsResolved
    /// The assets are in the album, but not recorded in the store.
    case assetsAdded
    /// The result is in the store.
    case clipsRecorded
    /// Folder library: the folder of an album exists without a manifest.
    case folderMade
    /// Folder library: the first manifest is written.
    case manifestWritten
    /// Folder library: the first link exists, but not in the manifest.
    case linkMade
    /// Folder library: all links exist, but not in the manifest.
    case linksMade
    /// Folder library: the manifest contains all links.
    case manifestRewritten
    /// Folder library: the manifest has the old and the new names of the links; none is renamed.
    case renamesPlanned
    /// Folder library: a link whose new name is still taken has its temporary name.
    case linkParked
    /// Folder library: the first link has its new name.
    case linkRenamed
    /// Folder library: all links have their new names; the manifest still has the old ones as well.
    case linksRenamed
    /// Folder library: the playlist is written.
    case playlistWritten
    /// The tape is deleted and its tombstone is stored; the album exists.
    case tapeDeleted
    /// The album is deleted; the tombstone exists.
    case albumDeleted
}
