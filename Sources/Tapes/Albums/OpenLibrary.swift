internal import MediaFiles
public import MediaStore

/// A library that responds, is identified, and may be used: step 4 of rule R2, and contract 4.2.
struct OpenLibrary {
    /// The library ID used in links.
    var id: String
    var access: AlbumAccess
    var identity: AlbumLibraryIdentity
}

extension AlbumService {
    func record() throws(TapesError) -> AlbumLibraryRecord? {
        try stored(store.albumLibrary(kind: library.kind, address: library.address))
    }

    /// Checks access and identity. Creates nothing unless there never was a library at the address. `isBelieving`
    /// determines whether an earlier refusal still applies (rule R10), without a request.
    ///
    /// - Throws: Errors that `AlbumFailure.init(caught:)` converts, if the library cannot currently be used.
    func open(
        _ level: AccessLevel,
        believingRefusal isBelieving: (AlbumAccess) -> Bool = { _ in false }
    ) async throws -> OpenLibrary {
        let known = try record()
        var access = try await library.access(level)
        if let refused = known?.refusedFingerprint, refused == access.fingerprint, isBelieving(access) {
            var failure = AlbumFailure(access)
            failure.isBelieved = true
            throw failure
        }
        if access.state == .notDetermined, known?.libraryID == nil, level == .addOnly {
            // A new library must not replace one found earlier (trap 1).
            access = try await library.requestAccess(level)
        }
        switch access.state {
        case .authorized, .limited: break
        case .notDetermined, .restricted, .denied:
            // The fingerprint does not change when a version that supports a newer library is installed, so a stored
            // refusal would persist.
            if level == .addOnly, access.obstacle == nil { try refuse(access) }
            throw AlbumFailure(access)
        }
        let identity = try await library.identity()
        let id = known.flatMap(identity.knownID) ?? identity.libraryID
        return OpenLibrary(id: id, access: access, identity: identity)
    }

    /// Confirms that a result came from the opened library (contract 4.2): its disk may have been unmounted since then.
    func confirm(_ opened: OpenLibrary) async throws {
        let known = try record()
        let identity = try await library.identity()
        let id = known.flatMap(identity.knownID) ?? identity.libraryID
        guard id == opened.id else { throw otherLibrary(id, insteadOf: opened.id) }
    }

    /// The failure if the library at the address is not the one that has the album.
    func otherLibrary(_ id: String, insteadOf known: String) -> AlbumFailure {
        AlbumFailure(
            AlbumError(
                .libraryChanged,
                detail: "\(library.address) now has the library \(id); the album is in \(known)",
                obstacle: library.kind == "folder" ? .otherFolder : .otherAccount
            )
        )
    }

    func keep(_ opened: OpenLibrary, isGranted: Bool) throws(TapesError) {
        try change { record in
            let isSame = record.libraryID == opened.id
            record.libraryID = opened.id
            record.accountID = opened.identity.accountID ?? (isSame ? record.accountID : nil)
            record.keyID = opened.identity.keyID
            if isGranted { record.refusedFingerprint = nil }
        }
    }

    /// Stores the insufficient access, so later commands do not repeat the attempt (rule R10).
    func refuse(_ access: AlbumAccess) throws(TapesError) {
        try change { $0.refusedFingerprint = access.fingerprint }
    }

    func forgetRefusal() throws(TapesError) {
        guard try record() != nil else { return }
        try change { $0.refusedFingerprint = nil }
    }

    /// Forgets a library that has no albums of tapes, so a different library at its address is used (ADR 0020).
    func forgetUnused(_ libraryID: String) throws(TapesError) {
        guard try record()?.libraryID == libraryID else { return }
        let links = try stored(store.albumLinks(in: libraryID))
        let tombstones = try stored(store.albumTombstones())
        guard links.isEmpty, !tombstones.contains(where: { $0.libraryID == libraryID }) else { return }
        try change { $0.libraryID = nil }
    }

    private func change(_ body: (inout AlbumLibraryRecord) -> Void) throws(TapesError) {
        let known = try record()
        var record = known ?? AlbumLibraryRecord(kind: library.kind, address: library.address, updatedAt: now())
        body(&record)
        guard record != known else { return }
        record.updatedAt = now()
        try stored(store.keep(record))
    }

    /// Whether a link leads to a library that was previously at the current address: a different library found there
    /// must not recreate its albums (trap 1).
    func isOfThisAddress(_ link: AlbumLink, _ record: AlbumLibraryRecord?) -> Bool {
        guard link.libraryID.hasPrefix(library.kind + ":") else { return false }
        if link.libraryID == record?.libraryID { return true }
        if link.libraryID.hasPrefix("\(library.kind):\(library.address)#") { return true }
        guard let hint = link.hint, hint.contains(UInt8(ascii: "/")) else { return false }
        return FolderLibrary.address(of: hint.directoryOfPath) == library.address
    }
}

extension AlbumLibraryIdentity {
    /// The ID that a known library has in links, if this is that library: the same instance with the same account, or
    /// with the key last used successfully, which may have lost or gained `user.read` (contract 4.2).
    func knownID(_ record: AlbumLibraryRecord) -> String? {
        guard let known = record.libraryID else { return nil }
        if known == libraryID { return known }
        if let accountID, let before = record.accountID { return accountID == before ? known : nil }
        guard let keyID, keyID == record.keyID else { return nil }
        return known
    }
}

/// A library and its access.
public struct LibraryStatus: Sendable, Equatable {
    /// `folder` or `immich`.
    public var kind: String
    /// Path of the root, or base address.
    public var address: String
    /// nil if unknown.
    public var identity: AlbumLibraryIdentity?
    /// nil if the library is unreachable.
    public var addOnly: AlbumAccess?
    /// nil if the library is unreachable.
    public var readWrite: AlbumAccess?
    /// Why a property above is nil.
    public var reason: AssociationReason?
    /// The library's message for the user.
    public var detail: String = ""
    /// The cause, if it is known and determines the remedy.
    public var obstacle: AlbumObstacle?
}

/// The access that an operation requires (contract 4.3).
public enum AccessLevel: String, Sendable {
    /// Create and fill albums; read only albums created by mediactl.
    case addOnly = "add_only"
    /// In addition, read, empty and delete albums.
    case readWrite = "read_write"
}

/// Granted access, with a fingerprint (rule R10) that changes with the permissions.
public struct AlbumAccess: Sendable, Equatable {
    /// The extent of the granted access (contract 4.3).
    public enum State: Sendable, Equatable {
        /// Not requested yet.
        case notDetermined
        /// Forbidden by the system.
        case restricted
        /// Refused by the user or the library.
        case denied
        /// Partly granted; contains the missing permissions.
        case limited(missing: [String])
        /// Fully granted.
        case authorized
    }

    public var state: State
    /// Consists of library and account, and of the permissions or the mode, owner and device of the root. Does not
    /// contain a secret.
    public var fingerprint: String
    /// The system's message for the user.
    public var detail: String
    /// Whether the permissions forbid creating or filling a new album; if so, albums are not created.
    public var forbidsNewAlbums: Bool
    /// Whether the library does not exist yet and is created by the first addition.
    public var willBeCreated = false
    /// The cause of a refusal, if it is known and determines the remedy.
    public var obstacle: AlbumObstacle?

    public init(_ state: State, fingerprint: String, detail: String = "", forbidsNewAlbums: Bool = false) {
        self.state = state
        self.fingerprint = fingerprint
        self.detail = detail
        self.forbidsNewAlbums = forbidsNewAlbums
    }
}
