public import MediaStore

/// What deleting a tape did.
public struct TapeDeletion: Sendable, Equatable {
    /// What became of the album.
    public enum Album: Sendable, Equatable {
        /// There was none.
        case none
        /// It stays: the flag is off, it was to be kept, or another tape has it.
        case kept(AlbumLink)
        /// It is gone from the library, or was before.
        case deleted(AlbumLink)
        /// Ours is gone from it; so many things of others keep it.
        case keptForeign(AlbumLink, Int)
        /// Owed: `reconcile --apply` tries again.
        case owed(AlbumLink, AssociationReason, detail: String)
    }

    /// The tape that is gone.
    public var tape: TapeRecord
    /// What became of its albums.
    public var albums: [Album]

    /// Makes a description.
    package init(tape: TapeRecord, albums: [Album]) {
        self.tape = tape
        self.albums = albums
    }
}
