internal import MediaFiles
public import MediaStore

/// A library that answers, is recognised, and may be asked to do something: steps 4 of rule R2, and contract 4.2.
struct OpenLibrary {
    /// Which one; links name it so.
    var id: String
    /// What is allowed.
    var access: AlbumAccess
    /// Who we are to it.
    var identity: AlbumLibraryIdentity
}

extension AlbumService {
    /// What was last found at the library's address.
    func record() throws(TapesError) -> AlbumLibraryRecord? {
        try stored { () throws(StoreError) in try store.albumLibrary(kind: library.kind, address: library.address) }
    }

    /// Asks for access and for who is there. Nothing is made unless there never was a library at the address.
    ///
    /// - Parameters:
    ///   - level: What is to be done.
    ///   - isBelieving: Whether a grant that was refused before is believed to be refused still (rule R10); nothing is asked
    ///     for then.
    /// - Returns: The library.
    /// - Throws: `AlbumTrouble` when it cannot be used now.
    func open(
        _ level: AccessLevel,
        believingRefusal isBelieving: (AlbumAccess) -> Bool = { _ in false }
    ) async throws(AlbumTrouble) -> OpenLibrary {
        let known = try kept { () throws(TapesError) in try record() }
        var access = try await asked { () async throws(AlbumError) in try await library.access(level) }
        if let refused = known?.refusedFingerprint, refused == access.fingerprint, isBelieving(access) {
            var setback = AlbumSetback(access)
            setback.isBelieved = true
            throw .setback(setback)
        }
        if access.state == .notDetermined, known?.libraryID == nil, level == .addOnly {
            // Where a library was found before, a new one must not take its place (trap 1).
            access = try await asked { () async throws(AlbumError) in try await library.requestAccess(level) }
        }
        switch access.state {
        case .authorized, .limited: break
        case .notDetermined, .restricted, .denied:
            if level == .addOnly { try kept { () throws(TapesError) in try refuse(access) } }
            throw .setback(AlbumSetback(access))
        }
        let identity = try await asked { () async throws(AlbumError) in try await library.identity() }
        let id = known.flatMap(identity.knownID) ?? identity.libraryID
        return OpenLibrary(id: id, access: access, identity: identity)
    }

    /// Makes sure that a verdict of the library is one of the very library that it is about (contract 4.2): a disk may have
    /// gone since it was opened.
    func confirm(_ opened: OpenLibrary) async throws(AlbumTrouble) {
        let known = try kept { () throws(TapesError) in try record() }
        let identity = try await asked { () async throws(AlbumError) in try await library.identity() }
        guard (known.flatMap(identity.knownID) ?? identity.libraryID) == opened.id else {
            throw .setback(AlbumSetback(.libraryChanged))
        }
    }

    /// Keeps what was found at the address, once it is used.
    func keep(_ opened: OpenLibrary, isGranted: Bool) throws(TapesError) {
        try change { record in
            let isSame = record.libraryID == opened.id
            record.libraryID = opened.id
            record.accountID = opened.identity.accountID ?? (isSame ? record.accountID : nil)
            record.keyID = opened.identity.keyID
            if isGranted { record.refusedFingerprint = nil }
        }
    }

    /// Keeps the grant that did not suffice, so that it is not tried on every command (rule R10).
    func refuse(_ access: AlbumAccess) throws(TapesError) {
        try change { $0.refusedFingerprint = access.fingerprint }
    }

    /// Believes in no refusal any more: the user has asked for access.
    func forgetRefusal() throws(TapesError) {
        guard try record() != nil else { return }
        try change { $0.refusedFingerprint = nil }
    }

    /// Changes what is known of the address, if that differs.
    private func change(_ body: (inout AlbumLibraryRecord) -> Void) throws(TapesError) {
        let known = try record()
        var record = known ?? AlbumLibraryRecord(kind: library.kind, address: library.address, updatedAt: now())
        body(&record)
        guard record != known else { return }
        record.updatedAt = now()
        try stored { [record] () throws(StoreError) in try store.keep(record) }
    }

    /// Whether a link leads to a library that was at the address in use: then another one there is no reason to make its
    /// albums anew (trap 1).
    func isOfThisAddress(_ link: AlbumLink, _ record: AlbumLibraryRecord?) -> Bool {
        guard link.libraryID.hasPrefix(library.kind + ":") else { return false }
        if link.libraryID == record?.libraryID { return true }
        if link.libraryID.hasPrefix("\(library.kind):\(library.address)#") { return true }
        guard let hint = link.hint, hint.contains(UInt8(ascii: "/")) else { return false }
        return FolderLibrary.address(of: hint.directoryOfPath) == library.address
    }

    // MARK: Questions

    /// A question to the library.
    func asked<Value>(
        refusal: AssociationReason = .internalError,
        _ body: () async throws(AlbumError) -> Value
    ) async throws(AlbumTrouble) -> Value {
        do throws(AlbumError) { return try await body() } catch { throw AlbumTrouble(error, refusal: refusal) }
    }

    /// A question to the store within an attempt.
    func kept<Value>(_ body: () throws(TapesError) -> Value) throws(AlbumTrouble) -> Value {
        do throws(TapesError) { return try body() } catch { throw .fatal(error) }
    }
}

extension AlbumLibraryIdentity {
    /// The id that a known library has in links, when this is that one: the same instance, the same account, or the same
    /// key as at the last success, which may have lost or got the right to tell its account (contract 4.2).
    func knownID(_ record: AlbumLibraryRecord) -> String? {
        guard let known = record.libraryID else { return nil }
        if known == libraryID { return known }
        if let accountID, let before = record.accountID { return accountID == before ? known : nil }
        guard let keyID, keyID == record.keyID else { return nil }
        return known
    }
}

extension AlbumSetback {
    /// What it means that access is not enough.
    init(_ access: AlbumAccess) {
        switch access.state {
        case .notDetermined: self.init(.accessNotDetermined, detail: access.detail)
        case .limited(let missing): self.init(.accessLimited, detail: access.detail, missing: missing)
        case .restricted, .denied, .authorized: self.init(.accessDenied, detail: access.detail)
        }
    }
}

/// A library and what it allows.
public struct LibraryStatus: Sendable, Equatable {
    /// `folder`, `immich`.
    public var kind: String
    /// Path of the root, or base address.
    public var address: String
    /// nil when it cannot be told.
    public var identity: AlbumLibraryIdentity?
    /// nil when the library cannot be reached.
    public var addOnly: AlbumAccess?
    /// nil when the library cannot be reached.
    public var readWrite: AlbumAccess?
    /// Why something above is nil.
    public var reason: AssociationReason?
    /// What the library said, for people.
    public var detail: String = ""
}

/// What an operation needs (contract 4.3).
public enum AccessLevel: String, Sendable {
    /// Albums are made, and filled; nobody else's are looked at.
    case addOnly = "add_only"
    /// Albums are looked at, emptied and deleted as well.
    case readWrite = "read_write"
}

/// What is allowed, and the fingerprint of the grant (rule R10): it changes when the rights do.
public struct AlbumAccess: Sendable, Equatable {
    /// How much is allowed (contract 4.3).
    public enum State: Sendable, Equatable {
        /// Nobody was asked yet.
        case notDetermined
        /// The system forbids it.
        case restricted
        /// The user, or the library, has refused it.
        case denied
        /// Some of it is; these permissions are missing.
        case limited(missing: [String])
        /// All of it.
        case authorized
    }

    /// How much is allowed.
    public var state: State
    /// Library, account, and permissions or mode, owner and device of the root. Holds no secret.
    public var fingerprint: String
    /// What the system said; for people.
    public var detail: String
    /// Whether the grant itself says that no new album could be made, or nothing put into it: then none is begun.
    public var forbidsNewAlbums: Bool

    /// Makes an answer.
    public init(_ state: State, fingerprint: String, detail: String = "", forbidsNewAlbums: Bool = false) {
        self.state = state
        self.fingerprint = fingerprint
        self.detail = detail
        self.forbidsNewAlbums = forbidsNewAlbums
    }
}
