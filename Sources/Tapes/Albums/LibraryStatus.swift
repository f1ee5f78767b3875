public import MediaStore

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
    public var detail: String

    /// Makes a status.
    package init(
        kind: String,
        address: String,
        identity: AlbumLibraryIdentity? = nil,
        addOnly: AlbumAccess? = nil,
        readWrite: AlbumAccess? = nil,
        reason: AssociationReason? = nil,
        detail: String = ""
    ) {
        self.kind = kind
        self.address = address
        self.identity = identity
        self.addOnly = addOnly
        self.readWrite = readWrite
        self.reason = reason
        self.detail = detail
    }
}
