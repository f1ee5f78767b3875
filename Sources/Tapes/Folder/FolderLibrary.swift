internal import Foundation
internal import Glibc
internal import MediaCore
internal import MediaFiles
public import MediaStore
internal import MediaTransport

/// Albums as folders of symbolic links (tapes contract section 5): visible in every file manager, without a server, and
/// without modifying originals.
public struct FolderLibrary: AlbumLibrary {
    /// The root of the albums.
    public struct Root: Sendable {
        /// Absolute path, as bytes.
        public var path: [UInt8]
        /// The pictures directory, as bytes: links to originals in it are relative if the root is also in it.
        public var picturesDirectory: [UInt8]?
        /// Whether the root is configured; the default root is created only if the pictures directory exists.
        public var isConfigured: Bool

        public init(path: [UInt8], picturesDirectory: [UInt8]?, isConfigured: Bool) {
            self.path = path
            self.picturesDirectory = picturesDirectory
            self.isConfigured = isConfigured
        }
    }

    public let root: Root
    let directory: DataDirectory
    let store: LibraryStore
    let confirm: (@Sendable (_ path: [UInt8]) async -> Bool)?
    /// Maximum duration of one step on the file system (rule R14).
    var stallLimit: Duration = .seconds(30)
    var now: @Sendable () -> Date = { Date() }

    /// `store` records which library was at the root. `confirm` asks the user to confirm creating the root; nil if the user
    /// cannot be prompted.
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

    public var kind: String { "folder" }

    public var linksToOriginals: Bool { true }

    /// Path of the root; invalid UTF-8 and `%` are percent-encoded, so addresses are unique.
    public var address: String { Self.address(of: path) }

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

    // MARK: Identity and access

    /// The library identified by the marker.
    public func identity() async throws(AlbumError) -> AlbumLibraryIdentity {
        try await run { _ throws(AlbumError) in
            let root = try open()
            let name = TerminalText.escaped(root.directory.path)
            return AlbumLibraryIdentity(libraryID: root.marker.libraryID, name: name)
        }
    }

    /// Access according to the permissions of the root; an operation may still fail.
    public func access(_ level: AccessLevel) async throws(AlbumError) -> AlbumAccess {
        try await run { _ throws(AlbumError) in
            switch try rootStatus(of: level) {
            case .place(_, wasLibrary: true): throw Self.isGone
            case .library(let access): return access
            case .place(var access, wasLibrary: false):
                access.willBeCreated = access.state == .notDetermined && isRootExpected
                return access
            }
        }
    }

    /// Creates the root and its marker if there is no library and the user or the settings allow it.
    public func requestAccess(_ level: AccessLevel) async throws(AlbumError) -> AlbumAccess {
        let rootStatus: RootStatus = try await run { _ throws(AlbumError) in try self.rootStatus(of: level) }
        guard case .place(let access, let wasLibrary) = rootStatus else { return try await self.access(level) }
        // A missing library, which may only be unmounted, is never recreated without confirmation (trap 1).
        guard !wasLibrary || confirm != nil else { throw Self.isGone }
        guard access.state == .notDetermined else { return access }
        guard try await mayMakeRoot() else {
            // Denied by the user; undetermined if the user cannot be prompted.
            guard confirm != nil else { return access }
            return AlbumAccess(.denied, fingerprint: access.fingerprint, detail: "creating the folder was declined")
        }
        return try await makeRoot(level, insteadOf: access)
    }
}

// Identifies and creates the root.
extension FolderLibrary {
    enum RootStatus {
        case library(AlbumAccess)
        /// There is no library; `wasLibrary` is true if there was one before.
        case place(AlbumAccess, wasLibrary: Bool)
    }

    static let isGone = AlbumError(
        .libraryChanged,
        detail: "the folder has no library; is its disk mounted?",
        obstacle: .libraryMissing
    )

    /// Runs blocking work on the file system.
    func run<Value: Sendable>(
        _ body: @escaping @Sendable (WorkSteps) throws(AlbumError) -> Value
    ) async throws(AlbumError) -> Value {
        try await BoundedWork.run(stallLimit: stallLimit, body)
    }

    private func knownID() throws(AlbumError) -> String? {
        try stored(store.albumLibrary(kind: kind, address: address))?.libraryID
    }

    func stored<Value>(_ value: @autoclosure () throws(StoreError) -> Value) throws(AlbumError) -> Value {
        do throws(StoreError) {
            return try value()
        } catch {
            throw AlbumError(.unreachable(retryAfter: nil), detail: error.description)
        }
    }

    /// Opens the root and reads its marker.
    ///
    /// - Throws: `.libraryChanged` for a library that is missing or damaged; `.unauthorized` if there never was a
    ///   library.
    func open() throws(AlbumError) -> OpenRoot {
        let known = try knownID()
        if let root = try openLibrary(known: known) { return root }
        throw known == nil ? AlbumError(.unauthorized, detail: "no such directory") : Self.isGone
    }

    /// - Returns: nil if there is no library.
    private func openLibrary(known: String?) throws(AlbumError) -> OpenRoot? {
        let directory: TargetDirectory?
        do throws(FileWriteError) {
            directory = try TargetDirectory.openForAdding(path)
        } catch {
            guard error.kind == .unsafe else { throw AlbumError(error) }
            // The path is a file, or a dangling link.
            throw known == nil ? AlbumError(.unauthorized, detail: "not a directory") : Self.isGone
        }
        guard let directory, let marker = try FolderMarker.read(in: directory) else { return nil }
        return OpenRoot(
            directory: directory,
            marker: marker,
            pictures: root.picturesDirectory.map(Self.withoutTrailingSlashes),
            isExpected: known == nil || known == marker.libraryID
        )
    }

    func rootStatus(of level: AccessLevel) throws(AlbumError) -> RootStatus {
        let known = try knownID()
        do throws(AlbumError) {
            guard let root = try openLibrary(known: known) else {
                return .place(FolderAccess.ofPlace(path), wasLibrary: known != nil)
            }
            return .library(try FolderAccess.ofLibrary(root, level))
        } catch {
            // A root that cannot be entered cannot be identified.
            guard case .unauthorized = error.kind else { throw error }
            let place = FolderAccess.ofPlace(path)
            guard place.state == .notDetermined else { return .library(place) }
            return .library(AlbumAccess(.denied, fingerprint: place.fingerprint, detail: error.detail))
        }
    }

    // MARK: Creating the root

    /// Whether to create the root: decided by the user if a prompt is possible, otherwise by the settings, otherwise by
    /// the existence of a pictures directory.
    func mayMakeRoot() async throws(AlbumError) -> Bool {
        if let confirm { return await confirm(path) }
        return try await run { _ in isRootExpected }
    }

    /// Whether the settings or a pictures directory show that albums are wanted.
    private var isRootExpected: Bool {
        root.isConfigured
            || root.picturesDirectory.map { (try? TargetDirectory.openForAdding($0)) != nil } ?? false
    }

    /// Creates the root and its marker. A refusal is not an error; it is returned as the access.
    func makeRoot(_ level: AccessLevel, insteadOf access: AlbumAccess) async throws(AlbumError) -> AlbumAccess {
        let lock = try await lock("at " + address)
        defer { lock.release() }
        return try await run { _ throws(AlbumError) in
            do throws(AlbumError) {
                return try makeRoot(level) ?? access
            } catch {
                guard case .unauthorized = error.kind else { throw error }
                return AlbumAccess(.denied, fingerprint: access.fingerprint, detail: error.detail)
            }
        }
    }

    private func makeRoot(_ level: AccessLevel) throws(AlbumError) -> AlbumAccess? {
        let directory = try AlbumError.accessing(TargetDirectory.open(path, creating: true))
        guard let directory else { return nil }
        try FolderMarker.make(in: directory, at: now())
        return try openLibrary(known: nil).map { root throws(AlbumError) in
            try FolderAccess.ofLibrary(root, level)
        }
    }

    // MARK: Locking

    /// Locks a library, by the ID in its marker (by its address while its root is being created), against all processes
    /// that use this data directory.
    ///
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
    /// Finds an album by its manifest: at its last known path, otherwise in any other folder directly in the root.
    public func album(_ id: String, hint: [UInt8]?) async throws(AlbumError) -> AlbumPresence {
        try Self.check(id)
        return try await run { _ throws(AlbumError) in
            do throws(AlbumError) {
                guard let album = try open().album(id, hint: hint) else { return .missing }
                return .found(title: album.manifest.title, hint: album.path)
            } catch {
                if case .insufficient = error.kind { return .unknown }
                throw error
            }
        }
    }

    /// The album whose manifest contains the tape's ID.
    public func albumMarked(_ tapeID: String) async throws(AlbumError) -> MadeAlbum? {
        try await run { _ throws(AlbumError) in
            try open().album(markedBy: tapeID).map(Self.made)
        }
    }

    /// Creates a new folder with a manifest.
    public func createAlbum(title: String, tapeID: String) async throws(AlbumError) -> MadeAlbum {
        try await alone { root, _ throws(AlbumError) in
            try root.checkIsOurs()
            return Self.made(try AlbumFolder.make(title: title, tapeID: tapeID, in: root, at: now()))
        }
    }

    /// An asset ID is the original's path; files are not accessed, so the original may be unavailable (rule R14).
    public func resolveAssets(
        _ clips: [ClipRecord],
        mayUpload: Bool
    ) async throws(AlbumError) -> [AssetResolution] {
        if Task.isCancelled { throw AlbumError(.cancelled) }
        return clips.map { clip in
            guard let source = clip.source else { return .unidentified }
            guard source.first == UInt8(ascii: "/"), !source.contains(0), source.count < Self.longestPath else {
                return .rejected("the path is too long or invalid for a link")
            }
            return .asset(source)
        }
    }

    /// The system's `PATH_MAX`.
    private static let longestPath = 4096

    /// Creates links, with one listing and one manifest for all of them.
    public func add(
        _ assets: [AlbumAsset],
        to albumID: String,
        hint: [UInt8]?
    ) async throws(AlbumError) -> [AddResult] {
        guard !assets.isEmpty else { return [] }
        return try await inAlbum(albumID, hint: hint) { album, steps throws(AlbumError) in
            try album.checkIsOurs()
            var addition = try AlbumError.accessing(AlbumAddition(to: album, at: now()))
            return try addition.add(assets, steps)
        }
    }

    /// Removes links that are in the manifest.
    public func remove(
        _ assetIDs: [[UInt8]],
        from albumID: String,
        hint: [UInt8]?
    ) async throws(AlbumError) -> [RemoveResult] {
        guard !assetIDs.isEmpty else { return [] }
        return try await inAlbum(albumID, hint: hint) { album, steps throws(AlbumError) in
            try album.remove(assetIDs, steps)
        }
    }

    /// Removes mediactl's links and files, and the folder if nothing else is in it.
    public func deleteAlbum(_ id: String, hint: [UInt8]?) async throws(AlbumError) -> AlbumDeletion {
        do throws(AlbumError) {
            return try await inAlbum(id, hint: hint) { album, steps throws(AlbumError) in
                try album.delete(steps)
            }
        } catch {
            guard error.kind == .albumMissing else { throw error }
            return .alreadyGone
        }
    }

    /// Numbers the links in the order of the tape and writes its playlist, if they have changed.
    public func arrange(
        _ albumID: String,
        hint: [UInt8]?,
        tape: TapeRecord,
        clips: [ClipRecord]
    ) async throws(AlbumError) {
        try await inAlbum(albumID, hint: hint) { album, steps throws(AlbumError) in
            try album.arrange(tape, clips, steps)
        }
    }

    // MARK: Helpers

    private static func made(_ album: AlbumFolder) -> MadeAlbum {
        MadeAlbum(id: album.manifest.id, title: album.manifest.title, hint: album.path)
    }

    static func check(_ id: String) throws(AlbumError) {
        guard UUID(uuidString: id) != nil else {
            throw AlbumError(.rejected(status: nil), detail: "not an album ID of this library")
        }
    }

    /// Runs work on an album while the library is locked.
    ///
    /// - Throws: `.albumMissing` if the expected library has no album with this ID.
    func inAlbum<Value: Sendable>(
        _ id: String,
        hint: [UInt8]?,
        _ body: @escaping @Sendable (inout AlbumFolder, WorkSteps) throws(AlbumError) -> Value
    ) async throws(AlbumError) -> Value {
        try Self.check(id)
        return try await alone { root, steps throws(AlbumError) in
            guard var album = try root.album(id, hint: hint) else { throw AlbumError(.albumMissing) }
            try album.finishRenaming()
            return try body(&album, steps)
        }
    }

    /// Runs work on the locked library. The work holds the lock even if it hangs and is abandoned.
    func alone<Value: Sendable>(
        _ body: @escaping @Sendable (OpenRoot, WorkSteps) throws(AlbumError) -> Value
    ) async throws(AlbumError) -> Value {
        let id = try await run { _ throws(AlbumError) in try open().marker.id }
        let lock = try await lock(id)
        return try await run { steps throws(AlbumError) in
            defer { lock.release() }
            // Opened again: a different disk may have been mounted at this path during the wait for the lock.
            let root = try open()
            guard root.marker.id == id else { throw Self.isGone }
            return try body(root, steps)
        }
    }
}

/// Access to a folder library (tapes contract 4.3), as far as it can be determined without an attempt.
enum FolderAccess {
    static func ofLibrary(_ root: OpenRoot, _ level: AccessLevel) throws(AlbumError) -> AlbumAccess {
        let rights = try AlbumError.accessing(root.directory.rights())
        let fingerprint = fingerprint(rights, "folder:\(root.marker.id)")
        if rights.isReadOnly {
            return AlbumAccess(.restricted, fingerprint: fingerprint, detail: "the file system is read-only")
        }
        if root.marker.isNewer {
            var access = AlbumAccess(.restricted, fingerprint: fingerprint, detail: root.marker.newerDetail)
            access.obstacle = .newerVersion
            return access
        }
        guard rights.isSearchable else {
            return AlbumAccess(.denied, fingerprint: fingerprint, detail: "no permission to enter the root directory")
        }
        let missing = missing(rights, level)
        guard missing.isEmpty else {
            let detail = "not permitted in the root directory: \(missing.joined(separator: ", "))"
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

    /// Access to an absolute path where there is no library.
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

    /// Access to the directory in which the root is to be created, or which is to become the root.
    private static func ofPlace(_ rights: DirectoryRights) -> AlbumAccess {
        let fingerprint = fingerprint(rights, "none")
        if rights.isReadOnly {
            return AlbumAccess(.restricted, fingerprint: fingerprint, detail: "the file system is read-only")
        }
        guard rights.isSearchable, rights.isWritable else {
            return AlbumAccess(.denied, fingerprint: fingerprint, detail: "the root directory cannot be created")
        }
        return AlbumAccess(.notDetermined, fingerprint: fingerprint, detail: "no such directory")
    }

    /// The fingerprint, which changes with the permissions.
    private static func fingerprint(_ rights: DirectoryRights, _ library: String) -> String {
        let mode = String(rights.mode, radix: 8)
        let owner = "owner=\(rights.owner):\(rights.group);euid=\(geteuid())"
        return "\(library);mode=\(mode);\(owner);device=\(rights.device)\(rights.isReadOnly ? ";ro" : "")"
    }
}

/// Marks a directory as the root of a library (tapes contract section 5). The path alone does not identify it: an
/// unmounted disk leaves an empty mount point (trap 1).
struct FolderMarker: Equatable {
    private static let format = "mediactl.library"
    private static let version: Int64 = 1

    /// Lowercase UUID.
    var id: String
    /// Format version; a library with a higher version is not modified.
    var version = Self.version

    var libraryID: String { "folder:" + id }
    var isNewer: Bool { version > Self.version }

    var newerDetail: String { "a newer version of mediactl wrote the library in format \(version)" }

    /// Reads the marker of a root; nil if there is none.
    ///
    /// - Throws: `.libraryChanged` for an invalid marker, `.unauthorized`, `.unreachable`.
    static func read(in root: TargetDirectory) throws(AlbumError) -> FolderMarker? {
        let bytes: [UInt8]?
        do throws(FileWriteError) {
            bytes = try LibraryFile.marker.read(in: root)
        } catch {
            if error.kind == .unsafe { throw unrecognized }
            throw AlbumError(error)
        }
        guard let bytes else { return nil }
        guard let members = JSONValue.object(in: bytes[...]), members["format"]?.text == format,
            let version = members["version"]?.wholeNumber, version >= 1,
            let id = members["id"]?.text.flatMap(UUID.init(uuidString:))
        else { throw unrecognized }
        return FolderMarker(id: id.uuidString.lowercased(), version: version)
    }

    private static let unrecognized = AlbumError(
        .libraryChanged,
        detail: "the marker of the library is damaged",
        obstacle: .markerDamaged
    )

    /// Makes a directory a root, unless another process has already done so.
    static func make(in root: TargetDirectory, at now: Date) throws(AlbumError) {
        let id = UUID().uuidString.lowercased()
        let marker: JSONObject = [
            "format": .string(format), "version": .integer(version), "id": .string(id),
            "createdAt": .string(RFC3339.text(seconds: Int64(now.timeIntervalSince1970.rounded(.down)))),
        ]
        do throws(FileWriteError) {
            try LibraryFile.marker.write(Array((marker.json() + "\n").utf8), in: root, replacing: false)
        } catch {
            guard error.kind == .exists else { throw AlbumError(error) }
        }
    }
}
