internal import Foundation
internal import Glibc
internal import MediaCore
internal import MediaFiles
public import MediaStore
internal import MediaTransport

/// Albums as folders of symbolic links (tapes contract section 5): every file manager shows them, no server is needed, and
/// originals are only referred to.
public struct FolderLibrary: AlbumLibrary {
    /// Where the albums are.
    public struct Root: Sendable {
        /// Absolute path, as bytes.
        public var path: [UInt8]
        /// The directory of pictures, as bytes: links to originals below it are relative when the root is below it too.
        public var picturesDirectory: [UInt8]?
        /// Whether the settings name it; the default root is made only where the directory of pictures exists.
        public var isConfigured: Bool

        /// Makes a place.
        public init(path: [UInt8], picturesDirectory: [UInt8]?, isConfigured: Bool) {
            self.path = path
            self.picturesDirectory = picturesDirectory
            self.isConfigured = isConfigured
        }
    }

    /// Where the albums are.
    public let root: Root
    let directory: DataDirectory
    let store: LibraryStore
    /// Asks whether the root may be made; nil where nobody can be asked.
    let confirm: (@Sendable (_ path: [UInt8]) async -> Bool)?
    /// How long the file system may take for one step (rule R14).
    var stallLimit: Duration = .seconds(30)
    /// This machine's clock.
    var now: @Sendable () -> Date = { Date() }

    /// Makes a library.
    ///
    /// - Parameters:
    ///   - root: Where the albums are.
    ///   - directory: Where its lock is.
    ///   - store: Knows which library was at the root.
    ///   - confirm: Asks whether the root may be made; nil where nobody can be asked.
    public init(
        root: Root,
        directory: DataDirectory,
        store: LibraryStore,
        confirm: (@Sendable (_ path: [UInt8]) async -> Bool)? = nil
    ) {
        self.root = root
        self.directory = directory
        self.store = store
        self.confirm = confirm
    }

    /// `folder`.
    public var kind: String { "folder" }

    /// Path of the root; what is no text in it is percent-encoded, and so is `%`, so that no two paths share an address.
    public var address: String { Self.address(of: path) }

    /// Without a slash at its end.
    var path: [UInt8] { Self.withoutTrailingSlashes(root.path) }

    static func address(of path: [UInt8]) -> String {
        let isText = String(validating: path, as: UTF8.self) != nil
        var address: [UInt8] = []
        for byte in path {
            if byte >= 0x20, byte != 0x7f, byte != UInt8(ascii: "%"), isText || byte < 0x80 {
                address.append(byte)
            } else {
                address += PercentEncoding.triplet(byte)
            }
        }
        return String(decoding: address, as: UTF8.self)
    }

    static func withoutTrailingSlashes(_ path: [UInt8]) -> [UInt8] {
        Array(path.prefix(max(1, path.count - path.reversed().prefix { $0 == UInt8(ascii: "/") }.count)))
    }

    // MARK: Which library, and what it allows

    /// The library of the marker.
    public func identity() async throws(AlbumError) -> AlbumLibraryIdentity {
        try await run { _ throws(AlbumError) in
            let root = try open(needing: .addOnly)
            let name = TerminalText.escaped(root.directory.path)
            return AlbumLibraryIdentity(libraryID: root.marker.libraryID, name: name)
        }
    }

    /// What the rights in the root allow, as far as they tell: the operation's own error decides.
    public func access(_ level: AccessLevel) async throws(AlbumError) -> AlbumAccess {
        try await run { _ throws(AlbumError) in
            switch try sight(of: level) {
            case .place(_, wasLibrary: true): throw Self.isGone
            case .place(let access, wasLibrary: false), .library(let access): return access
            }
        }
    }

    /// Makes root and marker where there is no library, if whoever can be asked agrees, or the settings do.
    public func requestAccess(_ level: AccessLevel) async throws(AlbumError) -> AlbumAccess {
        let sight: Sight = try await run { _ throws(AlbumError) in try self.sight(of: level) }
        guard case .place(let access, let wasLibrary) = sight else { return try await self.access(level) }
        // A library that is gone, perhaps only not mounted, is never made anew without somebody who says so (trap 1).
        guard !wasLibrary || confirm != nil else { throw Self.isGone }
        guard access.state == .notDetermined else { return access }
        guard try await mayMakeRoot() else {
            // Who was asked has refused; where nobody could be asked it stays undetermined.
            guard confirm != nil else { return access }
            return AlbumAccess(.denied, fingerprint: access.fingerprint, detail: "the folder was not wanted")
        }
        return try await makeRoot(level, insteadOf: access)
    }
}

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

/// What a folder library allows (tapes contract 4.3), as far as can be told without trying.
enum FolderAccess {
    /// Of a root that was recognised.
    static func ofLibrary(_ root: OpenRoot, _ level: AccessLevel) throws(AlbumError) -> AlbumAccess {
        let rights = try AlbumError.needing(level) { () throws(FileWriteError) in try root.directory.rights() }
        let fingerprint = fingerprint(rights, "folder:\(root.marker.id)")
        if rights.isReadOnly {
            return AlbumAccess(.restricted, fingerprint: fingerprint, detail: "the file system is read-only")
        }
        if root.marker.isNewer {
            return AlbumAccess(.restricted, fingerprint: fingerprint, detail: "kept by a newer version of this program")
        }
        guard rights.isSearchable else {
            return AlbumAccess(.denied, fingerprint: fingerprint, detail: "the root may not be entered")
        }
        let missing = missing(rights, level)
        guard missing.isEmpty else {
            let detail = "not allowed in the root: \(missing.joined(separator: ", "))"
            return AlbumAccess(.limited(missing: missing), fingerprint: fingerprint, detail: detail)
        }
        return AlbumAccess(.authorized, fingerprint: fingerprint)
    }

    private static func missing(_ rights: DirectoryRights, _ level: AccessLevel) -> [String] {
        var missing: [String] = []
        if !rights.isWritable { missing.append("write") }
        if level == .readWrite {
            if !rights.isReadable { missing.append("read") }
            if rights.keepsEntriesOfOthers { missing.append("unlink") }
        }
        return missing
    }

    /// Of an absolute path where there is no library yet.
    static func ofPlace(_ path: [UInt8]) -> AlbumAccess {
        var parts = path.split(separator: UInt8(ascii: "/"))[...]
        while true {
            let path = [UInt8(ascii: "/")] + Array(parts.joined(separator: [UInt8(ascii: "/")]))
            do throws(FileWriteError) {
                if let directory = try TargetDirectory.openForAdding(path) { return ofPlace(try directory.rights()) }
            } catch {
                return AlbumAccess(.denied, fingerprint: "\(error.detail);euid=\(geteuid())", detail: error.detail)
            }
            guard parts.popLast() != nil else { return AlbumAccess(.denied, fingerprint: "none") }
        }
    }

    /// Of the directory that the root is to be made in, or that is to become the root.
    private static func ofPlace(_ rights: DirectoryRights) -> AlbumAccess {
        let fingerprint = fingerprint(rights, "none")
        if rights.isReadOnly {
            return AlbumAccess(.restricted, fingerprint: fingerprint, detail: "the file system is read-only")
        }
        guard rights.isSearchable, rights.isWritable else {
            return AlbumAccess(.denied, fingerprint: fingerprint, detail: "the root cannot be made there")
        }
        return AlbumAccess(.notDetermined, fingerprint: fingerprint, detail: "there is no library yet")
    }

    /// Changes when the rights may have.
    private static func fingerprint(_ rights: DirectoryRights, _ library: String) -> String {
        let mode = String(rights.mode, radix: 8)
        let owner = "owner=\(rights.owner):\(rights.group);euid=\(geteuid())"
        return "\(library);mode=\(mode);\(owner);device=\(rights.device)\(rights.isReadOnly ? ";ro" : "")"
    }
}

/// What makes a directory the root of one library (tapes contract section 5): not its path, which an unmounted disk leaves
/// behind empty (trap 1).
struct FolderMarker: Equatable {
    private static let format = "mediactl.library"
    private static let version: Int64 = 1

    /// UUID, lower case.
    var id: String
    /// Of the format; a higher one than ours is not written to.
    var version = Self.version

    /// The library as the store names it.
    var libraryID: String { "folder:" + id }
    var isNewer: Bool { version > Self.version }

    /// Reads the marker of a root; nil when there is none.
    ///
    /// - Throws: `.libraryChanged` for a file that is no marker, `.unauthorized`, `.unreachable`.
    static func read(in root: TargetDirectory) throws(AlbumError) -> FolderMarker? {
        let bytes: [UInt8]?
        do throws(FileWriteError) {
            bytes = try LibraryFile.marker.read(in: root)
        } catch {
            if error.kind == .unsafe { throw unrecognised }
            throw AlbumError(error, needing: .addOnly)
        }
        guard let bytes else { return nil }
        guard let members = JSONValue.object(in: bytes[...]), members["format"]?.text == format,
            let version = members["version"]?.wholeNumber, version >= 1,
            let id = members["id"]?.text.flatMap(UUID.init(uuidString:))
        else { throw unrecognised }
        return FolderMarker(id: id.uuidString.lowercased(), version: version)
    }

    private static let unrecognised = AlbumError(.libraryChanged, detail: "the marker of the library is damaged")

    /// Makes a root of a directory, unless another process does so first.
    ///
    /// - Returns: The marker that is there now.
    static func make(in root: TargetDirectory, at now: Date) throws(AlbumError) -> FolderMarker {
        let id = UUID().uuidString.lowercased()
        let marker: JSONObject = [
            "format": .string(format), "version": .integer(version), "id": .string(id),
            "createdAt": .string(RFC3339.text(seconds: Int64(now.timeIntervalSince1970.rounded(.down)))),
        ]
        do throws(FileWriteError) {
            try LibraryFile.marker.write(Array((marker.json() + "\n").utf8), in: root, replacing: false)
        } catch {
            guard error.kind == .exists else { throw AlbumError(error, needing: .addOnly) }
        }
        guard let marker = try read(in: root) else { throw unrecognised }
        return marker
    }
}
