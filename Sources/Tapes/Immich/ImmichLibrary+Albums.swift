internal import Foundation
internal import MediaCore
internal import MediaTransport

/// Albums and what is in them (tapes contract 6.2).
extension ImmichLibrary {
    /// Ids in one request, at most.
    static let largestChunk = 250

    /// Whether an album is there; `.unknown` for a key without `album.read`, without a call.
    ///
    /// - Throws: `AlbumError`.
    public func album(_ id: String, hint: [UInt8]?) async throws(AlbumError) -> AlbumPresence {
        let path = try Self.path(ofAlbum: id)
        // Trap 3: a key that may not look must not make albums look missing.
        guard try await grant().allows(.readAlbum) else { return .unknown }
        do throws(AlbumError) {
            let answer = try await json(client.request(.get, path), needing: .readWrite)
            guard let album = ImmichAlbum(answer) else { throw Self.noAlbum }
            return .found(title: album.title, count: album.count, hint: nil)
        } catch {
            switch error.kind {
            case .albumMissing: return .missing
            case .insufficient: return .unknown
            default: throw error
            }
        }
    }

    /// Our own album whose description names the tape (rule R4), the oldest when there are several.
    ///
    /// - Throws: `AlbumError`.
    public func albumMarked(_ tapeID: String) async throws(AlbumError) -> MadeAlbum? {
        let grant = try await grant()
        guard grant.allows(.readAlbum) else {
            throw AlbumError(.insufficient([ImmichGrant.Permission.readAlbum.rawValue]))
        }
        // Version 2 has no such filter, and lists what is ours anyway.
        let query = try await majorVersion() >= 3 ? [(name: "isOwned", value: "true")] : []
        let answer = try await json(client.request(.get, "/albums", query: query), needing: .readWrite)
        let mark = Self.mark(of: tapeID)
        return answer.elements.compactMap(ImmichAlbum.init)
            .filter { $0.carries(mark) && ($0.ownerID ?? grant.accountID) == (grant.accountID ?? $0.ownerID) }
            .min { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }?
            .made
    }

    /// Makes an album, at most once: when the answer is lost, its mark finds it.
    ///
    /// - Throws: `AlbumError`.
    public func createAlbum(title: String, tapeID: String) async throws(AlbumError) -> MadeAlbum {
        // No `assetIds`: those that are not ours would be left out without a word.
        let body = JSONText.object([
            ("albumName", .string(title)), ("description", .string(Self.mark(of: tapeID))),
        ])
        let request = client.request(.post, "/albums", body: body, repeatability: .atMostOnce)
        let answer = try await json(request, needing: .addOnly)
        guard let album = ImmichAlbum(answer), UUID(uuidString: album.id) != nil else { throw Self.noAlbum }
        return album.made
    }

    /// Adds assets in chunks of 250. The first chunk's failure is thrown; that of a later one is the result of its assets.
    ///
    /// - Throws: `AlbumError`.
    public func add(
        _ assets: [AlbumAsset],
        to albumID: String,
        hint: [UInt8]?
    ) async throws(AlbumError) -> [AddResult] {
        let ids = try Self.texts(of: assets.map(\.id))
        let answers = try await change(.put, ids, in: albumID, needing: .addOnly)
        var seen: Set<String> = []
        return ids.map { id in
            let isFirst = seen.insert(id).inserted
            return switch answers[id] {
            case .done?: isFirst ? .added : .alreadyThere
            case .refused("duplicate")?: .alreadyThere
            case .refused("no_permission")?: .notAllowed
            case .refused("not_found")?: .notFound
            case .refused(let reason)?: .failed(reason)
            case .notNow(let error)?: .notNow(error)
            case nil: .failed("the server said nothing of it")
            }
        }
    }

    /// Takes assets out of an album; they stay on the server.
    ///
    /// - Throws: `AlbumError`.
    public func remove(
        _ assetIDs: [[UInt8]],
        from albumID: String,
        hint: [UInt8]?
    ) async throws(AlbumError) -> [RemoveResult] {
        let ids = try Self.texts(of: assetIDs)
        let answers = try await change(.delete, ids, in: albumID, needing: .readWrite)
        return ids.map { id in
            switch answers[id] {
            case .done?, .refused("not_found")?: .removed
            case .refused("no_permission")?: .notAllowed
            case .refused(let reason)?: .failed(reason)
            case .notNow(let error)?: .failed(error.detail)
            case nil: .failed("the server said nothing of it")
            }
        }
    }

    /// Deletes an album; its assets stay on the server.
    ///
    /// - Throws: `AlbumError`.
    public func deleteAlbum(_ id: String, hint: [UInt8]?) async throws(AlbumError) -> AlbumDeletion {
        let request = client.request(.delete, try Self.path(ofAlbum: id))
        do throws(AlbumError) {
            _ = try await json(request, needing: .readWrite)
            return .deleted
        } catch {
            guard case .albumMissing = error.kind else { throw error }
            return .alreadyGone
        }
    }
}

extension ImmichLibrary {
    /// What the server says of one id (`success`, `error`).
    private enum Verdict {
        case done
        case refused(String)
        /// Its part of the request failed.
        case notNow(AlbumError)
    }

    /// Adds or removes, in chunks. Status 200 says nothing about success, so every element is read.
    ///
    /// When a later chunk fails, the earlier ones stand: its ids and the rest get that failure as theirs.
    ///
    /// - Returns: What the server says, by id.
    private func change(
        _ method: HTTPMethod,
        _ ids: [String],
        in albumID: String,
        needing level: AccessLevel
    ) async throws(AlbumError) -> [String: Verdict] {
        let path = try Self.path(ofAlbum: albumID) + "/assets"
        var answers: [String: Verdict] = [:]
        var listed: Set<String> = []
        var rest = ids.filter { listed.insert($0).inserted }[...]
        while !rest.isEmpty {
            let chunk = rest.prefix(Self.largestChunk)
            do throws(AlbumError) {
                let request = client.request(method, path, body: "{\"ids\":\(JSONText.array(chunk))}")
                let answer = try await json(request, needing: level)
                for (id, verdict) in answer.elements.compactMap(Self.verdict) {
                    // Named twice, its success counts.
                    if case .done? = answers[id] { continue }
                    answers[id] = verdict
                }
            } catch {
                // The album is gone, or the user wants to stop: that is not the affair of single assets.
                if answers.isEmpty || error.kind == .albumMissing || error.kind == .cancelled { throw error }
                for id in rest { answers[id] = .notNow(error) }
                return answers
            }
            rest = rest.dropFirst(chunk.count)
        }
        return answers
    }

    private static func verdict(_ element: JSONValue) -> (id: String, Verdict)? {
        guard let members = element.members, let id = members["id"]?.text else { return nil }
        if case .bool(true)? = members["success"] { return (id.lowercased(), .done) }
        return (id.lowercased(), .refused(members["error"]?.text.map(ServerText.sentence) ?? "unknown"))
    }

    /// The place of an album.
    private static func path(ofAlbum id: String) throws(AlbumError) -> String {
        guard UUID(uuidString: id) != nil else { throw .malformed(id) }
        return "/albums/\(id)"
    }

    /// Ids of assets as text.
    private static func texts(of ids: [[UInt8]]) throws(AlbumError) -> [String] {
        var texts: [String] = []
        for id in ids {
            let text = String(decoding: id, as: UTF8.self)
            guard UUID(uuidString: text) != nil else { throw .malformed(text) }
            texts.append(text.lowercased())
        }
        return texts
    }

    /// What the description of our album says (rule R4).
    static func mark(of tapeID: String) -> String { "mediactl tape \(tapeID)" }

    /// The server has done something, and nobody knows what: the next look goes by the mark.
    private static let noAlbum = AlbumError(.unreachable(retryAfter: nil), detail: "the answer describes no album")
}
