internal import MediaCore
internal import MediaTransport

/// What we use of an album object (tapes contract 6.2). `assetCount` proves nothing: it leaves out what is in the trash
/// (trap 10).
struct ImmichAlbum {
    var id: String
    var title: String
    var description: String
    var count: Int?
    /// Version 3 names the owner first among the users, version 2 may name it apart.
    var ownerID: String?
    /// As the server writes it: sorts by time.
    var createdAt: String

    /// Reads an album object; nil for anything else.
    init?(_ value: JSONValue) {
        guard let members = value.members, let id = members["id"]?.text, let title = members["albumName"]?.text else {
            return nil
        }
        self.id = id
        self.title = title
        description = members["description"]?.text ?? ""
        count = members["assetCount"]?.wholeNumber.map { Int(clamping: $0) }
        let first = members["albumUsers"]?.elements.first?.members?["user"]?.members?["id"]?.text
        ownerID = members["ownerId"]?.text ?? first
        createdAt = members["createdAt"]?.text ?? ""
    }

    /// Whether a line of the description is this mark: the user may have written others.
    func carries(_ mark: String) -> Bool {
        description.split(whereSeparator: \.isNewline).contains { $0.trimmingBlanks() == mark }
    }

    /// The album as the service knows it.
    var made: MadeAlbum { MadeAlbum(id: id, title: title, ownerID: ownerID) }
}
