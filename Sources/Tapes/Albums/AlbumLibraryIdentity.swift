/// One library instance (contract 4.2).
public struct AlbumLibraryIdentity: Sendable, Equatable {
    /// `folder:UUID`, or `immich:BASE#ACCOUNT`.
    public var libraryID: String
    /// The account; nil where there are none, or it cannot be told.
    public var accountID: String?
    /// Id of the API key; nil where there is none.
    public var keyID: String?
    /// For people.
    public var name: String

    /// Makes an identity.
    public init(libraryID: String, accountID: String? = nil, keyID: String? = nil, name: String) {
        self.libraryID = libraryID
        self.accountID = accountID
        self.keyID = keyID
        self.name = name
    }
}
