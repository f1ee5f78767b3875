import Foundation
import FoundationNetworking

/// A stand-in for an Immich server in a separate Python process (`Tests/TapesTests/scripts/immich_stand_in.py`),
/// which parses every request with the models of immichpy before it responds.
///
/// One process serves all tests: each creates its own server in it. It exits with the tests.
public final class ImmichStandIn: Sendable {
    /// A received request.
    public struct SeenRequest: Decodable, Sendable {
        /// Method in capitals.
        public var method: String
        /// Below `/api`, without query.
        public var path: String
        /// Unchanged.
        public var query: String
        /// Names in lowercase, and values.
        public var headers: [[String]]
        /// Parts of a form in order of arrival: name, file name, length; nil for other bodies, or if it was not
        /// read.
        public var form: [FormPart]?
        /// The text parts of a form: name and value.
        public var fields: [[String]]?
        /// The members of a JSON body that tests check.
        public var json: Body?

        /// `POST /albums`.
        public var line: String { "\(method) \(path)" }

        /// Values of a header field; its name is in lowercase.
        public func values(of name: String) -> [String] { headers.filter { $0[0] == name }.map { $0[1] } }
    }

    /// A part of a form.
    public struct FormPart: Decodable, Sendable, Equatable {
        /// The part's name.
        public var name: String
        /// nil for text.
        public var fileName: String?
        /// Length in bytes.
        public var length: Int

        /// Reads `[name, file name, length]`.
        public init(from decoder: any Decoder) throws {
            var values = try decoder.unkeyedContainer()
            name = try values.decode(String.self)
            fileName = try values.decodeIfPresent(String.self)
            length = try values.decode(Int.self)
        }
    }

    /// The members of a request's JSON that tests check.
    public struct Body: Decodable, Sendable {
        /// The identifiers of assets.
        public var ids: [String]?
        /// The files to check.
        public var assets: [[String: String]]?
        /// The name of an album to create.
        public var albumName: String?
        /// The description of an album to create.
        public var description: String?
        /// The path to search for.
        public var originalPath: String?
        /// The checksum to search for.
        public var checksum: String?

        enum CodingKeys: CodingKey {
            case ids, assets, albumName, description, originalPath, checksum
        }

        /// Reads an object; a member of an unexpected type counts as absent, since tests also send invalid ones.
        public init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            ids = try? members.decode([String].self, forKey: .ids)
            assets = try? members.decode([[String: String]].self, forKey: .assets)
            albumName = try? members.decode(String.self, forKey: .albumName)
            description = try? members.decode(String.self, forKey: .description)
            originalPath = try? members.decode(String.self, forKey: .originalPath)
            checksum = try? members.decode(String.self, forKey: .checksum)
        }
    }

    /// An album on the server.
    public struct StoredAlbum: Decodable, Sendable {
        /// The album's ID.
        public var id: String
        /// The album's title.
        public var name: String
        /// The album's description.
        public var description: String
        /// IDs of assets in it.
        public var assets: [String]
    }

    /// An asset on the server.
    public struct StoredAsset: Decodable, Sendable {
        /// The asset's ID.
        public var id: String
        /// SHA-1 in lowercase hex.
        public var checksum: String
        /// The asset's file name.
        public var name: String
        /// Size in bytes.
        public var size: Int
        /// Hidden from the timeline.
        public var hidden: Bool
        /// The video of a live photo.
        public var video: String?
    }

    /// The whole state of a server.
    public struct Report: Decodable, Sendable {
        /// Oldest first.
        public var requests: [SeenRequest]
        /// Requests that immichpy's models rejected, and other violations of the contract.
        public var violations: [String]
        /// Albums of all accounts.
        public var albums: [StoredAlbum]
        /// Assets of all accounts.
        public var assets: [StoredAsset]
        /// The maximum number of concurrent uploads.
        public var mostUploads: Int
    }

    /// The stand-in could not be used.
    public enum Failure: Error {
        /// The process exited before it was ready; contains its standard error.
        case notReady(String)
        /// The control route responded with this status and text.
        case control(status: Int, String)
    }

    /// The server's address, without `/api`.
    public let address: String
    /// `http://127.0.0.1:PORT` of the process.
    public let origin: String
    private let name: String

    /// The directory of the scripts.
    public static let scripts = Repository.path("Tests/TapesTests/scripts")

    /// The process. It is never released: it exits when its input ends, which is when this process exits.
    private static let process = Task { () async throws -> (process: ChildProcess, origin: String) in
        let arguments = [scripts + "/immich_stand_in.py", "--until-input-ends"]
        let process = try ChildProcess(Repository.python, arguments, streams: .pipes)
        guard let line = try await process.nextLine(), line.hasPrefix("http://") else {
            throw Failure.notReady(try await process.finish().errors)
        }
        return (process, line)
    }

    /// Creates a server.
    ///
    /// - Parameters:
    ///   - major: 2 or 3.
    ///   - version: All three numbers; nil selects a version with that major number.
    ///   - permissions: The permissions of the key `key-1`, which belongs to Alice.
    ///   - quota: Bytes that an account may store; nil for no limit.
    ///   - gather: Uploads get a response only after this many have been in progress concurrently, or after 30 s.
    /// - Returns: The empty server.
    /// - Throws: ``Failure``.
    public static func start(
        major: Int = 3,
        version: [Int]? = nil,
        permissions: [String] = ["all"],
        quota: Int? = nil,
        gather: Int = 0
    ) async throws -> ImmichStandIn {
        let origin = try await process.value.origin
        var world: [String: Any] = ["major": major, "keys": [["secret": "key-1", "permissions": permissions]]]
        if let version { world["version"] = version }
        if let quota { world["quota"] = quota }
        world["gather"] = gather
        struct Response: Decodable { var name: String }
        let response = try await call("POST", origin + "/__control/worlds", world)
        let name = try JSONDecoder().decode(Response.self, from: response).name
        return ImmichStandIn(address: "\(origin)/\(name)", origin: origin, name: name)
    }

    private init(address: String, origin: String, name: String) {
        self.address = address
        self.origin = origin
        self.name = name
    }

    /// The whole state of the server.
    public func report() async throws -> Report {
        let response = try await Self.call("GET", "\(origin)/__control/worlds/\(name)", nil)
        return try JSONDecoder().decode(Report.self, from: response)
    }

    /// Adds faults: `method`, `path` (a regular expression), `status`, `body`, `type`, `headers`, `times`, `skip`,
    /// `phase` (`before` or `after` the work is done), `drop` (no response at all).
    public func add(faults: [String: Any]...) async throws {
        _ = try await change("faults", faults)
    }

    /// Removes all faults.
    public func clearFaults() async throws {
        _ = try await change("mend", [String: String]())
    }

    /// Adds assets: `checksum` (hex), `user`, `trashed`, `offline`, `path`, `name`.
    ///
    /// - Returns: Their IDs.
    @discardableResult
    public func add(assets: [[String: Any]]) async throws -> [String] {
        struct Response: Decodable { var ids: [String] }
        return try JSONDecoder().decode(Response.self, from: try await change("assets", assets)).ids
    }

    /// Adds a key.
    public func add(key secret: String, user: String = "Alice", permissions: [String] = ["all"]) async throws {
        _ = try await change("keys", ["secret": secret, "user": user, "permissions": permissions] as [String: Any])
    }

    /// Removes a key.
    public func revoke(_ secret: String) async throws {
        _ = try await change("revoke", ["secret": secret])
    }

    /// Deletes an album directly on the server.
    public func forget(album: String) async throws {
        _ = try await change("forget", ["album": album])
    }

    /// Deletes an asset directly on the server.
    public func delete(asset: String) async throws {
        _ = try await change("delete", ["asset": asset])
    }

    /// Moves an asset to the server's trash.
    public func trash(asset: String) async throws {
        _ = try await change("trash", ["asset": asset])
    }

    /// Discards the recorded requests.
    public func clearRequests() async throws {
        _ = try await change("clear", [String: String]())
    }

    private func change(_ what: String, _ body: Any) async throws -> Data {
        try await Self.call("POST", "\(origin)/__control/worlds/\(name)/\(what)", body)
    }

    private static func call(_ method: String, _ address: String, _ body: Any?) async throws -> Data {
        guard let url = URL(string: address) else { throw URLError(.badURL) }
        var request = URLRequest(url: url)
        request.httpMethod = method
        if let body {
            request.httpBody = try JSONSerialization.data(withJSONObject: body)
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        }
        let session = URLSession(configuration: .ephemeral)
        defer { session.finishTasksAndInvalidate() }
        let (data, response) = try await session.data(for: request)
        let status = (response as? HTTPURLResponse)?.statusCode ?? 0
        guard status == 200 else { throw Failure.control(status: status, String(decoding: data, as: UTF8.self)) }
        return data
    }
}
