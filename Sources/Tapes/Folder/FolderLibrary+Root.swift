internal import MediaFiles
internal import MediaStore

/// Recognising the root, and making it.
extension FolderLibrary {
    /// What is at the address.
    enum Sight {
        case library(AlbumAccess)
        /// No library; `wasLibrary`: there was one.
        case place(AlbumAccess, wasLibrary: Bool)
    }

    static let isGone = AlbumError(.libraryChanged, detail: "the library that was here is gone; is its disk mounted?")

    /// Runs work on the file system where it may wait.
    func run<Value: Sendable>(
        _ body: @escaping @Sendable (WorkSteps) throws(AlbumError) -> Value
    ) async throws(AlbumError) -> Value {
        try await BoundedWork.run(stallLimit: stallLimit, body)
    }

    /// The library that was last found here.
    private func knownID() throws(AlbumError) -> String? {
        do throws(StoreError) {
            return try store.albumLibrary(kind: kind, address: address)?.libraryID
        } catch {
            throw AlbumError(.unreachable(retryAfter: nil), detail: error.description)
        }
    }

    /// Opens the root and reads its marker.
    ///
    /// - Throws: `.libraryChanged` where a library was and is not, or is damaged; `.unauthorized` where none ever was.
    func open(needing level: AccessLevel) throws(AlbumError) -> OpenRoot {
        let known = try knownID()
        if let root = try openLibrary(known: known, needing: level) { return root }
        throw known == nil ? AlbumError(.unauthorized(level), detail: "there is no library yet") : Self.isGone
    }

    /// - Returns: nil where there is no library.
    private func openLibrary(known: String?, needing level: AccessLevel) throws(AlbumError) -> OpenRoot? {
        let directory: TargetDirectory?
        do throws(FileWriteError) {
            directory = try TargetDirectory.openForAdding(path)
        } catch {
            guard error.kind == .unsafe else { throw AlbumError(error, needing: level) }
            // A file, or a link to nowhere.
            throw known == nil ? AlbumError(.unauthorized(level), detail: "not a directory") : Self.isGone
        }
        guard let directory, let marker = try FolderMarker.read(in: directory) else { return nil }
        return OpenRoot(
            directory: directory,
            marker: marker,
            pictures: root.picturesDirectory.map(Self.withoutTrailingSlashes),
            isExpected: known == nil || known == marker.libraryID
        )
    }

    func sight(of level: AccessLevel) throws(AlbumError) -> Sight {
        let known = try knownID()
        do throws(AlbumError) {
            guard let root = try openLibrary(known: known, needing: level) else {
                return .place(FolderAccess.ofPlace(path), wasLibrary: known != nil)
            }
            return .library(try FolderAccess.ofLibrary(root, level))
        } catch {
            // What may not be entered cannot be recognised.
            guard case .unauthorized = error.kind else { throw error }
            let place = FolderAccess.ofPlace(path)
            guard place.state == .notDetermined else { return .library(place) }
            return .library(AlbumAccess(.denied, fingerprint: place.fingerprint, detail: error.detail))
        }
    }

    // MARK: Making it

    /// Whoever can be asked is asked; else the settings decide, or that there is a directory of pictures.
    func mayMakeRoot() async throws(AlbumError) -> Bool {
        if let confirm { return await confirm(path) }
        if root.isConfigured { return true }
        guard let pictures = root.picturesDirectory else { return false }
        return try await run { _ in (try? TargetDirectory.openForAdding(pictures)) != nil }
    }

    /// Makes the root and its marker.
    ///
    /// - Returns: What it allows; refusals are no errors.
    func makeRoot(_ level: AccessLevel, insteadOf access: AlbumAccess) async throws(AlbumError) -> AlbumAccess {
        let lock = try await lock("at " + address)
        defer { lock.release() }
        return try await run { _ throws(AlbumError) in
            let made: AlbumAccess?
            do throws(AlbumError) {
                made = try makeRoot(level)
            } catch {
                guard case .unauthorized = error.kind else { throw error }
                return AlbumAccess(.denied, fingerprint: access.fingerprint, detail: error.detail)
            }
            return made ?? access
        }
    }

    private func makeRoot(_ level: AccessLevel) throws(AlbumError) -> AlbumAccess? {
        let directory = try AlbumError.needing(level) { () throws(FileWriteError) in
            try TargetDirectory.open(path, creating: true)
        }
        guard let directory else { return nil }
        _ = try FolderMarker.make(in: directory, at: now())
        return try openLibrary(known: nil, needing: level).map { root throws(AlbumError) in
            try FolderAccess.ofLibrary(root, level)
        }
    }

    // MARK: Locking

    /// Becomes the one owner of a library, among all processes that use this data directory.
    ///
    /// - Parameter name: The id in its marker.
    /// - Returns: Ends the ownership when it goes.
    /// - Throws: `.quota`, `.unreachable`, `.cancelled`.
    func lock(_ name: String) async throws(AlbumError) -> AlbumLock {
        do {
            return try await AlbumLock.acquire(.folderLibrary(name), in: directory)
        } catch let error as StoreError {
            throw AlbumError(error.kind == .full ? .quota : .unreachable(retryAfter: nil), detail: error.description)
        } catch {
            throw AlbumError(.cancelled)
        }
    }
}
