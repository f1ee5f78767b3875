import GRDB

/// What the work on albums asks of many tapes or clips at once.
extension LibraryStore {
    /// Tapes that have clips and are not wholly in an album of a library. Clips that were refused for good do not count.
    ///
    /// The one that was tried least comes first, then the one that was not changed for the longest time: tapes that never
    /// succeed must not keep the others from their turn.
    ///
    /// - Parameter libraryID: nil counts every tape that has clips.
    /// - Returns: The tapes.
    /// - Throws: `StoreError`.
    public func tapesToAssociate(in libraryID: String?) throws(StoreError) -> [TapeRecord] {
        try connection.readBeside { db in
            try TapeRow.fetch(
                db,
                where: """
                    EXISTS (SELECT 1 FROM clips WHERE tape_id = tapes.id) AND (
                        association <> 'associated'
                        OR EXISTS (SELECT 1 FROM clips WHERE tape_id = tapes.id AND association = 'pending')
                        OR NOT EXISTS (SELECT 1 FROM album_links WHERE tape_id = tapes.id AND library_id IS ?)
                    ) ORDER BY (
                        SELECT coalesce(min(attempts), 0) FROM clips WHERE tape_id = tapes.id AND association = 'pending'
                    ), updated_at, rowid
                    """,
                [libraryID]
            )
        }
    }

    /// The ids of the clips of a tape, the one that was added first first.
    ///
    /// - Throws: `StoreError`.
    public func clipIDsByAge(of tapeID: String) throws(StoreError) -> [String] {
        try connection.readBeside { db in
            try String.fetchAll(db, sql: "SELECT id FROM clips WHERE tape_id = ? ORDER BY rowid", arguments: [tapeID])
        }
    }
}
