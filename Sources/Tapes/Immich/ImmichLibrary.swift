internal import Foundation
internal import MediaCore
internal import MediaFiles
public import MediaStore
internal import MediaSystem
public import MediaTransport

/// Albums on an Immich server, major version 2 or later (tapes contract section 6).
///
/// Facts about the server, key and account are queried once per value created by `init`, and again after a refusal.
/// Idempotent requests are retried by the client's retry policy; creating an album and uploading a file are not.
public struct ImmichLibrary: AlbumLibrary {
    /// The base of every request: the user's address, with `/api` appended unless already present.
    public let base: ServerURL
    /// Whether there is a key.
    public var hasKey: Bool { client.authorization != nil }
    let client: ImmichClient
    let session = ImmichSession()
    let store: LibraryStore
    let pathMap: [(local: [UInt8], server: String)]
    let jobs: Int
    let progress: (@Sendable (_ path: [UInt8], _ sent: Int64, _ total: Int64) -> Void)?

    /// `pathMap` maps prefixes of local paths, as bytes, to the server's prefixes (contract 6.3, no. 3); `jobs` is the
    /// maximum number of parallel uploads, at least 1. `progress` is called with the path of an uploading file, the
    /// bytes sent and their total, on any thread, for several files in parallel. `store` stores checksums, and records
    /// which account was used at the address.
    public init(
        server: ServerURL,
        http: HTTPClient,
        key: String?,
        timeouts: TransferTimeouts,
        store: LibraryStore,
        pathMap: [(local: [UInt8], server: String)] = [],
        jobs: Int = 4,
        progress: (@Sendable (_ path: [UInt8], _ sent: Int64, _ total: Int64) -> Void)? = nil
    ) {
        base = Self.base(of: server)
        client = ImmichClient(
            base: base,
            http: http,
            authorization: key.map { .apiKey($0, header: "x-api-key", for: server.origin) },
            timeouts: timeouts
        )
        self.store = store
        self.pathMap = pathMap
        self.jobs = jobs
        self.progress = progress
    }

    /// The base of the requests to a server.
    package static func base(of server: ServerURL) -> ServerURL {
        guard !server.basePath.hasSuffix("/api") else { return server }
        // Appending the path cannot invalidate an address.
        return (try? ServerURL("\(server)/api", allowingPath: true)) ?? server
    }

    public var kind: String { "immich" }

    public var address: String { "\(base)" }

    // MARK: Access

    /// Server, account and key (contract 4.2).
    ///
    /// - Throws: `AlbumError`: `.libraryChanged` if both the account and the key differ from the earlier ones.
    public func identity() async throws(AlbumError) -> AlbumLibraryIdentity {
        let grant = try await grant()
        let host = base.origin.scope
        var identity = AlbumLibraryIdentity(
            libraryID: "immich:\(address)#" + (grant.accountID ?? "key:" + grant.keyID),
            accountID: grant.accountID,
            keyID: grant.keyID,
            name: grant.accountName.map { "Immich at \(host), \($0)" } ?? "Immich at \(host)"
        )
        guard let record = try record(), record.libraryID != nil else { return identity }
        if let known = identity.knownID(record) {
            identity.libraryID = known
            identity.accountID = identity.accountID ?? record.accountID
        } else if identity.accountID == nil {
            throw AlbumError(
                .libraryChanged,
                detail: "another API key, without the permission to read its account (user.read)",
                obstacle: .otherAccount
            )
        }
        return identity
    }

    /// Access according to the key's permissions.
    ///
    /// - Throws: `AlbumError` if the server cannot be queried; a refused key is `.denied`.
    public func access(_ level: AccessLevel) async throws(AlbumError) -> AlbumAccess {
        guard hasKey else {
            return AlbumAccess(.notDetermined, fingerprint: ImmichGrant.fingerprint(ofRefused: nil, at: address))
        }
        do {
            let grant = try await grant()
            return AlbumAccess(
                grant.state(of: level),
                fingerprint: grant.fingerprint(at: address),
                forbidsNewAlbums: grant.state(of: .addOnly) != .authorized
            )
        } catch {
            switch error.kind {
            case .unauthorized, .insufficient:
                let fingerprint = ImmichGrant.fingerprint(ofRefused: client.authorization, at: address)
                return AlbumAccess(.denied, fingerprint: fingerprint, detail: error.detail)
            default: throw error
            }
        }
    }

    /// Checks the access again, and reports the missing permissions and where to create keys: mediactl cannot change a
    /// key.
    ///
    /// - Throws: `AlbumError` if the server cannot be queried.
    public func requestAccess(_ level: AccessLevel) async throws(AlbumError) -> AlbumAccess {
        session.learn { $0.grant = nil }
        var access = try await access(level)
        switch access.state {
        case .limited(let missing):
            access.detail = "the key lacks \(missing.joined(separator: ", ")); \(Self.whereKeysAreMade)"
        case .denied, .notDetermined:
            access.detail =
                access.detail.isEmpty ? Self.whereKeysAreMade : "\(access.detail); \(Self.whereKeysAreMade)"
        case .restricted, .authorized: break
        }
        return access
    }

    private static let whereKeysAreMade = "create keys on the server's web page: Account Settings, API Keys"

    // MARK: Assets

    /// The server's IDs for originals, found by checksum in one request for all; missing originals are uploaded
    /// (contract 6.3). An unreadable or rejected file does not affect the others.
    ///
    /// - Throws: `AlbumError` for failures that affect all originals: a failed request, a refused key, `.cancelled`.
    public func resolveAssets(
        _ clips: [ClipRecord],
        mayUpload: Bool
    ) async throws(AlbumError) -> [AssetResolution] {
        guard !clips.isEmpty else { return [] }
        var search = ImmichAssetSearch(self, grant: try await grant(), clips: clips)
        return try await search.run(mayUpload: mayUpload)
    }

    // MARK: Order

    /// Does nothing: the server sorts by date, and only the store has the tape's order (trap 11).
    public func arrange(
        _ albumID: String,
        hint: [UInt8]?,
        tape: TapeRecord,
        clips: [ClipRecord]
    ) async throws(AlbumError) {}
}

extension ImmichLibrary {
    /// The key's permissions; queried once.
    func grant() async throws(AlbumError) -> ImmichGrant {
        if let grant = session.known.grant { return grant }
        guard hasKey else { throw AlbumError(.unauthorized, detail: "no API key is stored") }
        _ = try await majorVersion()
        let response = try await client.json(client.request(.get, "/api-keys/me"))
        guard var grant = ImmichGrant(key: response) else {
            throw AlbumError(.unreachable(retryAfter: nil), detail: "the response has no API key")
        }
        if grant.allows(.readUser) {
            do {
                grant.add(user: try await client.json(client.request(.get, "/users/me")))
            } catch {
                // The account is useful, but not required (contract 4.2).
                guard case .insufficient = error.kind else { throw error }
            }
        }
        session.learn { $0.grant = grant }
        return grant
    }

    /// The server's major version, at least 2; queried once.
    func majorVersion() async throws(AlbumError) -> Int {
        if let version = session.known.majorVersion { return version }
        let version = try await version()
        guard let major = version.first else {
            throw AlbumError(.unreachable(retryAfter: nil), detail: "not a response from an Immich server")
        }
        guard major >= 2 else {
            let text = version.map { "\($0)" }.joined(separator: ".")
            throw AlbumError(.unsupported, detail: "the server is Immich \(text); version 2 or later is required")
        }
        session.learn { $0.majorVersion = Int(clamping: major) }
        return Int(clamping: major)
    }

    /// The components of the server's version, major version first; empty for a response without a version.
    private func version() async throws(AlbumError) -> [Int64] {
        let response: JSONValue
        do {
            response = try await client.json(client.request(.get, "/server/version"))
        } catch {
            // Immich before 1.107 reports the version at a different URL, which is queried only to recognize such a
            // server.
            guard error.httpStatus == 404,
                let old = try? await client.json(client.request(.get, "/server-info/version")),
                old.members?["major"]?.wholeNumber != nil
            else { throw error }
            response = old
        }
        guard let major = response.members?["major"]?.wholeNumber else { return [] }
        return [major] + ["minor", "patch"].compactMap { response.members?[$0]?.wholeNumber }
    }

    /// The library record from the last success.
    private func record() throws(AlbumError) -> AlbumLibraryRecord? {
        do {
            return try store.albumLibrary(kind: kind, address: address)
        } catch {
            throw AlbumError(.libraryChanged, detail: "the stored record of the library cannot be read: \(error)")
        }
    }

    /// Sends a request subject to the key's permissions, and parses its JSON. After a refusal, the permissions are
    /// queried again.
    func json(_ request: HTTPRequest) async throws(AlbumError) -> JSONValue {
        do {
            return try await client.json(request)
        } catch {
            noteRefusal(error)
            throw error
        }
    }

    /// Clears the permissions if a response contradicts them.
    func noteRefusal(_ error: AlbumError) {
        switch error.kind {
        case .unauthorized, .insufficient: session.learn { $0.grant = nil }
        default: break
        }
    }
}

// Albums and their contents (tapes contract 6.2).
extension ImmichLibrary {
    static let largestChunk = 250

    /// Whether an album exists; `.unknown` without a request if the key lacks `album.read`.
    public func album(_ id: String, hint: [UInt8]?) async throws(AlbumError) -> AlbumPresence {
        let path = try Self.path(ofAlbum: id)
        // Trap 3: without permission to read them, albums must not count as missing.
        guard try await grant().allows(.readAlbum) else { return .unknown }
        do throws(AlbumError) {
            let response = try await json(client.request(.get, path))
            guard let album = ImmichAlbum(response) else { throw Self.noAlbum }
            return .found(title: album.title, hint: nil, count: album.assetCount)
        } catch {
            switch error.kind {
            case .albumMissing: return .missing
            case .insufficient: return .unknown
            default: throw error
            }
        }
    }

    /// The user's own album with the tape's mark in its description (rule R4); the oldest if there are several.
    public func albumMarked(_ tapeID: String) async throws(AlbumError) -> MadeAlbum? {
        let grant = try await grant()
        guard grant.allows(.readAlbum) else {
            throw AlbumError(.insufficient([ImmichGrant.Permission.readAlbum.rawValue]))
        }
        // Version 2 has no such filter, and lists only the user's own albums anyway.
        let query = try await majorVersion() >= 3 ? [(name: "isOwned", value: "true")] : []
        let response = try await json(client.request(.get, "/albums", query: query))
        let mark = Self.mark(of: tapeID)
        return response.elements.compactMap(ImmichAlbum.init)
            .filter { $0.carries(mark) && ($0.ownerID ?? grant.accountID) == (grant.accountID ?? $0.ownerID) }
            .min { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }?
            .made
    }

    /// Creates an album, at most once: if the response is lost, the mark identifies it.
    public func createAlbum(title: String, tapeID: String) async throws(AlbumError) -> MadeAlbum {
        // `assetIds` is omitted: the server would silently ignore assets that the user does not own.
        let body: JSONObject = ["albumName": .string(title), "description": .string(Self.mark(of: tapeID))]
        let request = client.request(.post, "/albums", body: body, repeatability: .atMostOnce)
        let response = try await json(request)
        guard let album = ImmichAlbum(response), UUID(uuidString: album.id) != nil else { throw Self.noAlbum }
        return album.made
    }

    /// One request per asset, several in parallel: the server lists the albums of an asset, but version 3 does not list
    /// the assets of an album. nil if the server refuses such a request.
    public func contained(_ assetIDs: [[UInt8]], in albumID: String) async throws(AlbumError) -> Set<[UInt8]>? {
        let assets = Array(zip(assetIDs, try Self.texts(of: assetIDs)))
        var found: Set<[UInt8]> = []
        var rest = assets[...]
        while !rest.isEmpty {
            // A failure ends the check after this chunk.
            let chunk = rest.prefix(4 * jobs)
            rest = rest.dropFirst(chunk.count)
            let results = await withBoundedTasks(chunk, limit: jobs) { id, text in
                do throws(AlbumError) {
                    return Result<[UInt8]?, AlbumError>.success(try await contains(text, in: albumID) ? id : nil)
                } catch {
                    return .failure(error)
                }
            }
            do throws(AlbumError) {
                for result in results {
                    if let id = try result.get() { found.insert(id) }
                }
            } catch {
                // The number of assets is still compared.
                guard case .rejected = error.kind else { throw error }
                return nil
            }
        }
        return found
    }

    /// Whether an album is among the albums of an asset (tapes contract 6.2).
    private func contains(_ asset: String, in albumID: String) async throws(AlbumError) -> Bool {
        let request = client.request(.get, "/albums", query: [(name: "assetId", value: asset)])
        return try await json(request).elements.compactMap(ImmichAlbum.init)
            .contains { $0.id.lowercased() == albumID.lowercased() }
    }

    /// Adds assets in chunks of 250. A failure of the first chunk is thrown; a failure of a later chunk is the result
    /// for its assets.
    public func add(
        _ assets: [AlbumAsset],
        to albumID: String,
        hint: [UInt8]?
    ) async throws(AlbumError) -> [AddResult] {
        let ids = try Self.texts(of: assets.map(\.id))
        let responses = try await change(.put, ids, in: albumID)
        var seen: Set<String> = []
        return ids.map { id in
            let isFirst = seen.insert(id).inserted
            return switch responses[id] {
            case .done?: isFirst ? .added : .alreadyInAlbum
            case .refused("duplicate")?: .alreadyInAlbum
            case .refused("no_permission")?: .notAllowed
            case .refused("not_found")?: .notFound
            case .refused(let reason)?: .failed(reason)
            case .notNow(let error)?: .notNow(error)
            case nil: .notNow(Self.noResponse)
            }
        }
    }

    /// Removes assets from an album; they stay on the server.
    public func remove(
        _ assetIDs: [[UInt8]],
        from albumID: String,
        hint: [UInt8]?
    ) async throws(AlbumError) -> [RemoveResult] {
        let ids = try Self.texts(of: assetIDs)
        let responses = try await change(.delete, ids, in: albumID)
        return ids.map { id in
            switch responses[id] {
            case .done?, .refused("not_found")?: .removed
            case .refused("no_permission")?: .notAllowed
            case .refused(let reason)?: .failed(reason)
            case .notNow(let error)?: .failed(error.detail)
            case nil: .failed("no result in the response")
            }
        }
    }

    /// Deletes an album; its assets stay on the server.
    public func deleteAlbum(_ id: String, hint: [UInt8]?) async throws(AlbumError) -> AlbumDeletion {
        let request = client.request(.delete, try Self.path(ofAlbum: id))
        do throws(AlbumError) {
            _ = try await json(request)
            return .deleted
        } catch {
            guard case .albumMissing = error.kind else { throw error }
            return .alreadyGone
        }
    }
}

extension ImmichLibrary {
    /// The server's result for one ID (`success`, `error`).
    private enum Verdict {
        case done
        case refused(String)
        /// The request for its chunk failed.
        case notNow(AlbumError)
    }

    /// Adds or removes assets in chunks. Status 200 does not mean success, so every element is checked. If a later
    /// chunk fails, the results of earlier chunks are kept; all other IDs get that failure.
    private func change(
        _ method: HTTPMethod,
        _ ids: [String],
        in albumID: String
    ) async throws(AlbumError) -> [String: Verdict] {
        let path = try Self.path(ofAlbum: albumID) + "/assets"
        var responses: [String: Verdict] = [:]
        let ids = ids.uniqued { $0 }
        for chunk in ids.chunks(of: Self.largestChunk) {
            do throws(AlbumError) {
                let body: JSONObject = ["ids": .array(chunk.map(JSONValue.string))]
                let request = client.request(method, path, body: body)
                let response = try await json(request)
                for (id, verdict) in response.elements.compactMap(Self.verdict) {
                    // If there are several results for an ID, a success takes precedence.
                    if case .done? = responses[id] { continue }
                    responses[id] = verdict
                }
            } catch {
                // A missing album and a cancellation are not results of single assets.
                if responses.isEmpty || error.kind == .albumMissing || error.kind == .cancelled { throw error }
                for id in ids[chunk.startIndex...] { responses[id] = .notNow(error) }
                return responses
            }
        }
        return responses
    }

    private static func verdict(_ element: JSONValue) -> (id: String, Verdict)? {
        guard let members = element.members, let id = members["id"]?.text else { return nil }
        if case .bool(true)? = members["success"] { return (id.lowercased(), .done) }
        return (id.lowercased(), .refused(members["error"]?.text.map(ServerText.sentence) ?? "unknown"))
    }

    private static func path(ofAlbum id: String) throws(AlbumError) -> String {
        guard UUID(uuidString: id) != nil else { throw .malformed(id) }
        return "/albums/\(id)"
    }

    private static func texts(of ids: [[UInt8]]) throws(AlbumError) -> [String] {
        try ids.map { id throws(AlbumError) in
            let text = String(decoding: id, as: UTF8.self)
            guard UUID(uuidString: text) != nil else { throw .malformed(text) }
            return text.lowercased()
        }
    }

    /// The line that marks mediactl's albums in their descriptions (rule R4).
    static func mark(of tapeID: String) -> String { "mediactl tape \(tapeID)" }

    /// The result on the server is unknown: the next attempt searches for the mark.
    private static let noAlbum = AlbumError(.unreachable(retryAfter: nil), detail: "the response has no album")
}

// The server's IDs for files (tapes contract 6.3).
extension ImmichLibrary {
    // MARK: By checksum

    struct CheckedFile {
        /// The ID sent in the request, which the response repeats.
        var id: String
        var checksum: ImmichChecksum
    }

    /// `POST /assets/bulk-upload-check` in blocks of 5,000. Results are matched by ID, not by order. Files that are not
    /// on the server are omitted.
    func check(_ files: [CheckedFile]) async throws(AlbumError) -> [String: AssetResolution] {
        var found: [String: AssetResolution] = [:]
        for block in files.chunks(of: ImmichAssetSearch.largestCheck) {
            let assets = block.map {
                JSONValue.object(["id": .string($0.id), "checksum": .string($0.checksum.base64)])
            }
            let body: JSONObject = ["assets": .array(assets)]
            let response = try await json(client.request(.post, "/assets/bulk-upload-check", body: body))
            let results = response.members?["results"]?.elements ?? []
            var noResponse = Set(block.map(\.id))
            for result in results.compactMap(\.members) {
                guard let id = result["id"]?.text, noResponse.remove(id) != nil else { continue }
                found[id] = Self.resolution(ofCheck: result)
            }
            for id in noResponse { found[id] = .failed(Self.noResponse) }
        }
        return found
    }

    /// nil if the server would accept the file.
    private static func resolution(ofCheck result: JSONObject) -> AssetResolution? {
        if let asset = asset(result["assetId"], isTrashed: result["isTrashed"]) { return asset }
        switch result["action"]?.text {
        case "accept": return nil
        case "reject": return .rejected(ServerText.sentence(result["reason"]?.text ?? "refused"))
        default: return .failed(noResponse)
        }
    }

    /// `POST /search/metadata` by checksum: for keys that allow reading but not uploading.
    func asset(withChecksum checksum: ImmichChecksum) async throws(AlbumError) -> AssetResolution? {
        let page = try await search(["checksum": .string(checksum.base64)])
        return page.items.lazy
            .filter { ($0["checksum"]?.text ?? checksum.base64) == checksum.base64 }
            .compactMap { Self.asset($0["id"], isTrashed: $0["isTrashed"]) }
            .first
    }

    // MARK: By path

    /// The server's path of a file; nil if no prefix matches, or the path is not UTF-8.
    func serverPath(of source: [UInt8]) -> String? {
        let fitting = pathMap.filter { entry in
            let prefix = entry.local.last == UInt8(ascii: "/") ? Array(entry.local.dropLast()) : entry.local
            return source.starts(with: prefix) && source.dropFirst(prefix.count).first == UInt8(ascii: "/")
        }
        guard let longest = fitting.max(by: { $0.local.count < $1.local.count }) else { return nil }
        let length = longest.local.last == UInt8(ascii: "/") ? longest.local.count - 1 : longest.local.count
        guard let rest = String(validating: source.dropFirst(length), as: UTF8.self) else { return nil }
        return longest.server.replacing(/\/+$/, with: "") + rest
    }

    /// `POST /search/metadata` by path, page by page. The server matches substrings, ignoring case, so the results
    /// must be compared byte by byte.
    func asset(atServerPath path: String) async throws(AlbumError) -> AssetResolution? {
        var members: JSONObject = ["originalPath": .string(path)]
        var number: Int64 = 1
        while true {
            let page = try await search(members)
            for item in page.items where item["originalPath"]?.text.map({ $0.utf8.elementsEqual(path.utf8) }) == true {
                if let asset = Self.asset(item["id"], isTrashed: item["isTrashed"]) { return asset }
            }
            // Stop at a pagination loop.
            guard let next = page.next, next > number else { return nil }
            number = next
            members["page"] = .integer(next)
        }
    }

    private func search(
        _ members: JSONObject
    ) async throws(AlbumError) -> (items: [JSONObject], next: Int64?) {
        let request = client.request(.post, "/search/metadata", body: members)
        let assets = try await json(request).members?["assets"]?.members ?? [:]
        return (assets["items"]?.elements.compactMap(\.members) ?? [], assets["nextPage"]?.wholeNumber)
    }

    // MARK: Accepted files

    /// The extensions that the server accepts; queried once. nil if unknown: the server then checks each file.
    func takenExtensions() async throws(AlbumError) -> Set<String>? {
        if let extensions = session.known.extensions { return extensions }
        let response: JSONValue
        do {
            response = try await json(client.request(.get, "/server/media-types"))
        } catch {
            if error.kind == .cancelled { throw error }
            return nil
        }
        let lists = ["image", "video"].map { response.members?[$0]?.elements ?? [] }
        let extensions = Set(lists.joined().compactMap { $0.text?.lowercased() })
        guard !extensions.isEmpty else { return nil }
        session.learn { $0.extensions = extensions }
        return extensions
    }

    // MARK: Forms

    private static func asset(_ id: JSONValue?, isTrashed: JSONValue?) -> AssetResolution? {
        guard let id = id?.text, UUID(uuidString: id) != nil else { return nil }
        if case .bool(true)? = isTrashed { return .asset(Array(id.utf8), isHidden: true) }
        return .asset(Array(id.utf8))
    }

    private static let noResponse = AlbumError(.unreachable(retryAfter: nil), detail: "no result in the response")
}
