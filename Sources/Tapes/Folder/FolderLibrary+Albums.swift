internal import Foundation
internal import MediaFiles
public import MediaStore

extension FolderLibrary {
    /// Where an album is, by its manifest: where it was, else anywhere in the root.
    public func album(_ id: String, hint: [UInt8]?) async throws(AlbumError) -> AlbumPresence {
        try Self.check(id)
        return try await run { _ throws(AlbumError) in
            do throws(AlbumError) {
                guard let album = try open(needing: .addOnly).album(id, hint: hint, needing: .addOnly) else {
                    return .missing
                }
                let manifest = album.manifest
                return .found(title: manifest.title, count: manifest.entries.count, hint: album.path)
            } catch {
                if case .insufficient = error.kind { return .unknown }
                throw error
            }
        }
    }

    /// The album whose manifest names a tape.
    public func albumMarked(_ tapeID: String) async throws(AlbumError) -> MadeAlbum? {
        try await run { _ throws(AlbumError) in
            try open(needing: .readWrite).album(markedBy: tapeID).map(Self.made)
        }
    }

    /// Makes a new folder with a manifest.
    public func createAlbum(title: String, tapeID: String) async throws(AlbumError) -> MadeAlbum {
        try await alone(needing: .addOnly) { root, _ throws(AlbumError) in
            guard !root.marker.isNewer else {
                throw AlbumError(.insufficient(["write"]), detail: "a newer version of this program keeps this library")
            }
            return Self.made(try AlbumFolder.make(title: title, tapeID: tapeID, in: root, at: now()))
        }
    }

    /// The name of an original is its path: nothing is looked at, so that it may be away (rule R14).
    public func resolveAssets(
        _ clips: [ClipRecord],
        mayUpload: Bool
    ) async throws(AlbumError) -> [AssetResolution] {
        clips.map { clip in
            guard let source = clip.source else { return .unidentified }
            guard source.first == UInt8(ascii: "/"), !source.contains(0), source.count < Self.longestPath else {
                return .rejected("no link can hold this path")
            }
            return .asset(source)
        }
    }

    /// `PATH_MAX` of the system.
    private static let longestPath = 4096

    /// Makes links, one listing and one manifest for all of them.
    public func add(
        _ assets: [AlbumAsset],
        to albumID: String,
        hint: [UInt8]?
    ) async throws(AlbumError) -> [AddResult] {
        guard !assets.isEmpty else { return [] }
        return try await inAlbum(albumID, hint: hint, needing: .addOnly) { album, steps throws(AlbumError) in
            try album.checkIsOurs()
            var addition = try AlbumError.needing(.addOnly) { () throws(FileWriteError) in
                try AlbumAddition(to: album, at: now())
            }
            return try addition.add(assets, steps)
        }
    }

    /// Removes links that the manifest names.
    public func remove(
        _ assetIDs: [[UInt8]],
        from albumID: String,
        hint: [UInt8]?
    ) async throws(AlbumError) -> [RemoveResult] {
        guard !assetIDs.isEmpty else { return [] }
        return try await inAlbum(albumID, hint: hint, needing: .readWrite) { album, steps throws(AlbumError) in
            var album = album
            return try album.remove(assetIDs, steps)
        }
    }

    /// Removes what is ours, and the folder when nothing else is in it.
    public func deleteAlbum(_ id: String, hint: [UInt8]?) async throws(AlbumError) -> AlbumDeletion {
        do throws(AlbumError) {
            return try await inAlbum(id, hint: hint, needing: .readWrite) { album, steps throws(AlbumError) in
                try album.delete(steps)
            }
        } catch {
            guard error.kind == .albumMissing else { throw error }
            return .alreadyGone
        }
    }

    /// Writes the playlist of the tape when its order has changed.
    public func arrange(
        _ albumID: String,
        hint: [UInt8]?,
        tape: TapeRecord,
        clips: [ClipRecord]
    ) async throws(AlbumError) {
        try await inAlbum(albumID, hint: hint, needing: .addOnly) { album, _ throws(AlbumError) in
            try album.arrange(tape, clips)
        }
    }

    // MARK: Steps

    private static func made(_ album: AlbumFolder) -> MadeAlbum {
        MadeAlbum(id: album.manifest.id, title: album.manifest.title, hint: album.path)
    }

    private static func check(_ id: String) throws(AlbumError) {
        guard UUID(uuidString: id) != nil else {
            throw AlbumError(.rejected(status: nil), detail: "not the identifier of an album of this library")
        }
    }

    /// Works on an album as the library's one owner.
    ///
    /// - Throws: `.albumMissing` when this very library has none of that identifier.
    private func inAlbum<Value: Sendable>(
        _ id: String,
        hint: [UInt8]?,
        needing level: AccessLevel,
        _ body: @escaping @Sendable (AlbumFolder, WorkSteps) throws(AlbumError) -> Value
    ) async throws(AlbumError) -> Value {
        try Self.check(id)
        return try await alone(needing: level) { root, steps throws(AlbumError) in
            guard let album = try root.album(id, hint: hint, needing: level) else { throw AlbumError(.albumMissing) }
            return try body(album, steps)
        }
    }

    /// Works on the library as its one owner. The lock is kept by the work, also by one that hangs and that nobody waits for
    /// any more.
    private func alone<Value: Sendable>(
        needing level: AccessLevel,
        _ body: @escaping @Sendable (OpenRoot, WorkSteps) throws(AlbumError) -> Value
    ) async throws(AlbumError) -> Value {
        let id = try await run { _ throws(AlbumError) in try open(needing: level).marker.id }
        let lock = try await lock(id)
        return try await run { steps throws(AlbumError) in
            defer { lock.release() }
            // Opened again: another disk may have come to this place while the lock was waited for.
            let root = try open(needing: level)
            guard root.marker.id == id else { throw Self.isGone }
            return try body(root, steps)
        }
    }
}
