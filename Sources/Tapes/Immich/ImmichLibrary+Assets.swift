internal import Foundation
internal import MediaCore
internal import MediaFiles
internal import MediaStore
internal import MediaTransport

/// The server's names for files (tapes contract 6.3).
extension ImmichLibrary {
    // MARK: By checksum

    /// A file to ask for.
    struct CheckedFile {
        /// Ours: the answer repeats it.
        var id: String
        /// Of its content.
        var checksum: ImmichChecksum
    }

    /// `POST /assets/bulk-upload-check` in blocks of 5,000. Answers are told apart by id, not by order.
    ///
    /// - Returns: What is known by id of ours; a file that the server has not is left out.
    func check(_ files: [CheckedFile]) async throws(AlbumError) -> [String: AssetResolution] {
        var found: [String: AssetResolution] = [:]
        var rest = files[...]
        while !rest.isEmpty {
            let block = rest.prefix(ImmichAssetSearch.largestCheck)
            rest = rest.dropFirst(block.count)
            let members = block.map { file in
                JSONText.object([("id", .string(file.id)), ("checksum", .string(file.checksum.base64))])
            }
            let body = "{\"assets\":[\(members.joined(separator: ","))]}"
            let answer = try await json(
                client.request(.post, "/assets/bulk-upload-check", body: body),
                needing: .addOnly
            )
            let results = answer.members?["results"]?.elements ?? []
            var unanswered = Set(block.map(\.id))
            for result in results.compactMap(\.members) {
                guard let id = result["id"]?.text, unanswered.remove(id) != nil else { continue }
                found[id] = Self.resolution(ofCheck: result)
            }
            for id in unanswered { found[id] = .failed(Self.noAnswer) }
        }
        return found
    }

    /// nil when the server would take the file.
    private static func resolution(ofCheck result: [String: JSONValue]) -> AssetResolution? {
        if let asset = asset(result["assetId"], isTrashed: result["isTrashed"]) { return asset }
        switch result["action"]?.text {
        case "accept": return nil
        case "reject": return .rejected(ServerText.sentence(result["reason"]?.text ?? "refused"))
        default: return .failed(noAnswer)
        }
    }

    /// `POST /search/metadata` by checksum: for keys that may read and not upload.
    func asset(withChecksum checksum: ImmichChecksum) async throws(AlbumError) -> AssetResolution? {
        let page = try await search([("checksum", .string(checksum.base64))])
        return page.items.lazy
            .filter { ($0["checksum"]?.text ?? checksum.base64) == checksum.base64 }
            .compactMap { Self.asset($0["id"], isTrashed: $0["isTrashed"]) }
            .first
    }

    // MARK: By path

    /// What the server calls a file; nil when no prefix is mapped, or the path is no text.
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

    /// `POST /search/metadata` by path, page by page. The server looks for parts of paths and heeds no case, so the
    /// answers are compared byte by byte.
    func asset(atServerPath path: String) async throws(AlbumError) -> AssetResolution? {
        var members: [(name: String, value: JSONText.Value)] = [("originalPath", .string(path))]
        var number: Int64 = 1
        while true {
            let page = try await search(members)
            for item in page.items where item["originalPath"]?.text.map({ $0.utf8.elementsEqual(path.utf8) }) == true {
                if let asset = Self.asset(item["id"], isTrashed: item["isTrashed"]) { return asset }
            }
            // A server that names a page twice would be asked for ever.
            guard let next = page.next, next > number else { return nil }
            number = next
            members = [("originalPath", .string(path)), ("page", .number(next))]
        }
    }

    private func search(
        _ members: [(name: String, value: JSONText.Value)]
    ) async throws(AlbumError) -> (items: [[String: JSONValue]], next: Int64?) {
        let request = client.request(.post, "/search/metadata", body: JSONText.object(members))
        let assets = try await json(request, needing: .addOnly).members?["assets"]?.members ?? [:]
        return (assets["items"]?.elements.compactMap(\.members) ?? [], assets["nextPage"]?.wholeNumber)
    }

    // MARK: What is taken

    /// The extensions that the server takes; asked once. nil when it does not say: then it judges each file itself.
    func takenExtensions() async throws(AlbumError) -> Set<String>? {
        if let extensions = session.known.extensions { return extensions }
        let answer: JSONValue
        do {
            answer = try await json(client.request(.get, "/server/media-types"), needing: .addOnly)
        } catch {
            if error.kind == .cancelled { throw error }
            return nil
        }
        let lists = ["image", "video"].map { answer.members?[$0]?.elements ?? [] }
        let extensions = Set(lists.joined().compactMap { $0.text?.lowercased() })
        guard !extensions.isEmpty else { return nil }
        session.learn { $0.extensions = extensions }
        return extensions
    }

    // MARK: Forms

    /// An asset that an answer names.
    private static func asset(_ id: JSONValue?, isTrashed: JSONValue?) -> AssetResolution? {
        guard let id = id?.text, UUID(uuidString: id) != nil else { return nil }
        if case .bool(true)? = isTrashed { return .asset(Array(id.utf8), isHidden: true) }
        return .asset(Array(id.utf8))
    }

    /// What a server that leaves something out means for it.
    private static let noAnswer = AlbumError(.unreachable(retryAfter: nil), detail: "the server said nothing of it")
}
