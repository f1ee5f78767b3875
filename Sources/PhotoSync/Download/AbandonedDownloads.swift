internal import MediaFiles
internal import MediaStore
internal import MediaSystem

/// Partial downloads that no run will resume.
struct AbandonedDownloads: Sendable {
    let account: SyncAccount
    let copies: LocalCopies

    /// Removes the partial files and the reserved names of photos that are no longer on the server, or that have
    /// another copy on this machine. Partial files in use by another process are kept. Blocks.
    ///
    /// - Throws: `StoreError`.
    func remove() throws {
        try account.library.forEachBlockOfCopies(of: account.server, in: .planned) { planned in
            let photos = try account.photosByID(planned.map(\.photoID))
            let holdings = try copies.holdings(of: Array(photos.values))
            let abandoned = planned.filter { photos[$0.photoID] == nil || holdings[$0.photoID]?.unchanged != nil }
            try account.library.remove(abandoned.filter { Self.removePart(of: $0) })
        }
    }

    /// Removes the partial file of a planned copy.
    ///
    /// - Returns: Whether the file certainly no longer exists.
    @discardableResult static func removePart(of copy: PhotoCopy) -> Bool {
        guard let name = copy.temporaryName, let part = copy.temporaryPath else { return true }
        // The directory may be missing because its disk is not mounted.
        guard let slash = copy.path.lastIndex(of: UInt8(ascii: "/")),
            let directory = try? TargetDirectory.open(Array(copy.path[..<slash]), creating: false)
        else { return false }
        if FileIdentity.isMissing(part) { return true }
        return (try? PartialFile.open(name, in: directory).discard()) != nil
    }
}
