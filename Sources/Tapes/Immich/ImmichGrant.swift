internal import MediaCore
internal import MediaCrypto
internal import MediaTransport

/// What the server says of a key: whose it is, and what it may (tapes contract 4.3, 6.1).
struct ImmichGrant: Sendable, Equatable {
    /// One thing that a key may do, by the server's name.
    enum Permission: String {
        case createAlbum = "album.create"
        case readAlbum = "album.read"
        case deleteAlbum = "album.delete"
        case addAsset = "albumAsset.create"
        case removeAsset = "albumAsset.delete"
        case upload = "asset.upload"
        case readAsset = "asset.read"
        case readUser = "user.read"
    }

    /// Id of the key; not the key.
    var keyID: String
    /// Names of permissions; `all` stands for all of them.
    var permissions: Set<String>
    /// The account; nil when the key may not read its user.
    var accountID: String?
    /// What the account is called.
    var accountName: String?

    /// Reads the answer to `GET /api-keys/me`.
    init?(key value: JSONValue) {
        guard let id = value.members?["id"]?.text, let names = value.members?["permissions"] else { return nil }
        keyID = id
        permissions = Set(names.elements.compactMap(\.text))
    }

    /// Adds what `GET /users/me` says.
    mutating func add(user value: JSONValue) {
        accountID = value.members?["id"]?.text
        accountName = value.members?["name"]?.text
    }

    /// Whether something may be done.
    func allows(_ permission: Permission) -> Bool {
        permissions.contains("all") || permissions.contains(permission.rawValue)
    }

    /// How much of a level is allowed.
    func state(of level: AccessLevel) -> AlbumAccess.State {
        var needed: [Permission] = [.createAlbum, .addAsset]
        // One way to name an asset is enough; the one that can also send is asked for.
        needed.append(allows(.readAsset) ? .readAsset : .upload)
        if level == .readWrite { needed += [.readAlbum, .deleteAlbum, .removeAsset] }
        let missing = needed.filter { !allows($0) }
        if missing.isEmpty { return .authorized }
        return missing.count == needed.count ? .denied : .limited(missing: missing.map(\.rawValue))
    }

    /// Changes when key, account or permissions do (rule R10).
    func fingerprint(at address: String) -> String {
        [address, "key:" + keyID, accountID ?? "-", permissions.sorted().joined(separator: ",")].joined(separator: " ")
    }

    /// Of a key that the server does not take: another key has another one. Holds no more of the key than a digest says.
    static func fingerprint(ofRefused key: Authorization?, at address: String) -> String {
        guard let text = key?.apiKey else { return address + " no key" }
        guard var hasher = try? SHA256Hasher() else { return address + " refused" }
        Array(text.utf8).withUnsafeBytes { hasher.update($0) }
        let digest = (try? hasher.snapshot().hex) ?? ""
        return "\(address) refused \(digest.prefix(16))"
    }
}
