/// Links, intents, tombstones and libraries of albums (tapes contract 1.3). Every change is one transaction, on the disk when
/// the method returns.
extension LibraryStore {
    // MARK: Links

    /// The albums of a tape, in all libraries.
    ///
    /// - Throws: `StoreError`; `.corrupt` for a row that no version has written, here and below.
    public func albumLinks(of tapeID: String) throws(StoreError) -> [AlbumLink] {
        throw StoreError.notThere(connection.path)
    }

    /// All links to albums of a library.
    ///
    /// - Throws: `StoreError`.
    public func albumLinks(in libraryID: String) throws(StoreError) -> [AlbumLink] {
        throw StoreError.notThere(connection.path)
    }

    /// Keeps the identifier of an album, in place of an earlier one of the same library, ends the intent, and makes the
    /// tape `associated`. Where the identifier differs from the earlier one, the clips of the tape are all pending again
    /// (rule R5).
    ///
    /// - Returns: false when the tape is gone; nothing was kept then.
    /// - Throws: `StoreError`.
    @discardableResult
    public func keep(_ link: AlbumLink) throws(StoreError) -> Bool { throw StoreError.notThere(connection.path) }

    /// Forgets the album of a tape in a library; its clips are pending again.
    ///
    /// - Throws: `StoreError`.
    public func removeAlbumLink(of tapeID: String, in libraryID: String) throws(StoreError) {
        throw StoreError.notThere(connection.path)
    }

    /// Commits what became of clips in a library.
    ///
    /// - Throws: `StoreError`.
    public func settle(_ clips: [ClipSettlement], in libraryID: String) throws(StoreError) {
        throw StoreError.notThere(connection.path)
    }

    /// The assets of the clips of a tape, by clip.
    ///
    /// - Throws: `StoreError`.
    public func clipAssets(of tapeID: String, in libraryID: String) throws(StoreError) -> [String: [UInt8]] {
        throw StoreError.notThere(connection.path)
    }

    // MARK: Intents

    /// The creation in flight; nil when there is none.
    ///
    /// - Throws: `StoreError`.
    public func albumIntent(of tapeID: String, in libraryID: String) throws(StoreError) -> AlbumIntent? {
        throw StoreError.notThere(connection.path)
    }

    /// Keeps an intent, in place of an earlier one.
    ///
    /// - Throws: `StoreError`.
    public func keep(_ intent: AlbumIntent) throws(StoreError) { throw StoreError.notThere(connection.path) }

    /// Ends an intent without an album: the library has said that it made none.
    ///
    /// - Throws: `StoreError`.
    public func removeAlbumIntent(of tapeID: String, in libraryID: String) throws(StoreError) {
        throw StoreError.notThere(connection.path)
    }

    // MARK: Tombstones

    /// All deletions owed, the oldest first.
    ///
    /// - Throws: `StoreError`.
    public func albumTombstones() throws(StoreError) -> [AlbumTombstone] { throw StoreError.notThere(connection.path) }

    /// Keeps a tombstone, in place of an earlier state.
    ///
    /// - Throws: `StoreError`.
    public func keep(_ tombstone: AlbumTombstone) throws(StoreError) { throw StoreError.notThere(connection.path) }

    /// The album is gone.
    ///
    /// - Throws: `StoreError`.
    public func removeAlbumTombstone(_ albumID: String, in libraryID: String) throws(StoreError) {
        throw StoreError.notThere(connection.path)
    }

    // MARK: Libraries

    /// What was last found at an address; nil when it was never used.
    ///
    /// - Throws: `StoreError`.
    public func albumLibrary(kind: String, address: String) throws(StoreError) -> AlbumLibraryRecord? {
        throw StoreError.notThere(connection.path)
    }

    /// Keeps what was found at an address.
    ///
    /// - Throws: `StoreError`.
    public func keep(_ library: AlbumLibraryRecord) throws(StoreError) { throw StoreError.notThere(connection.path) }
}
