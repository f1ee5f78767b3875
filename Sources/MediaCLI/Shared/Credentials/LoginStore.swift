internal import Foundation
internal import GigHive
internal import MediaCore
internal import MediaFiles
internal import MediaStore
internal import MediaTransport

/// The logins of upload servers, and which of these servers require a login: the file `logins.json` in the data
/// directory.
///
/// The file is readable only by its owner. It is replaced atomically, and a link in its place is refused. Each entry
/// belongs to exactly one origin.
struct LoginStore: Sendable {
    static let fileName = DataDirectory.loginsFileName

    struct Entry: Sendable, Equatable {
        var login: IssuedLogin?
        /// Whether a response showed that the origin requires a login. If so, no password is sent to the origin.
        var requiresLogin = false
    }

    /// Path of the data directory.
    let directory: String

    private static let version: Int64 = 1
    private static let longest = 1 << 20

    private var path: String { directory + "/" + Self.fileName }

    /// Keyed by origin; empty if the file does not exist.
    ///
    /// - Throws: `StoreError` if it is damaged, or is not a regular file that belongs to this user.
    func entries() throws(StoreError) -> [String: Entry] {
        do {
            guard let directory = try TargetDirectory.open(Array(directory.utf8), creating: false) else { return [:] }
            return try entries(in: directory)
        } catch {
            // The system error does not distinguish a file from a refused link.
            try DataDirectory.refuseFile(inPlaceOf: directory)
            throw storeError(error)
        }
    }

    /// Returns an empty entry if nothing is stored.
    func entry(for origin: Origin) throws(StoreError) -> Entry { try entries()[origin.description] ?? Entry() }

    /// The origins that require a login.
    func requirements() throws(StoreError) -> Set<Origin> {
        let origins = try entries().filter(\.value.requiresLogin).keys
        return Set(origins.compactMap { try? ServerURL($0).origin })
    }

    /// Changes the entry for an origin and returns whether anything changed. An empty entry is removed. Other processes
    /// wait until the change is complete.
    ///
    /// - Throws: `StoreError`; nothing was changed, unless only the sync failed.
    @discardableResult
    func update(_ origin: Origin, _ change: (inout Entry) -> Void) throws(StoreError) -> Bool {
        try update { entries in
            var entry = entries[origin.description] ?? Entry()
            change(&entry)
            entries[origin.description] = entry == Entry() ? nil : entry
        }
    }

    // MARK: File

    @discardableResult
    private func update(_ change: (inout [String: Entry]) -> Void) throws(StoreError) -> Bool {
        let data = try DataDirectory.open(directory)
        do {
            guard let directory = try TargetDirectory.open(Array(data.path.utf8), creating: false) else {
                throw FileWriteError(.denied, path: Array(data.path.utf8))
            }
            return try PartialFile.replace(Self.fileName, in: directory) {
                let old = try entries(in: directory)
                var new = old
                change(&new)
                return new == old ? nil : Self.text(of: new)
            }
        } catch {
            throw storeError(error)
        }
    }

    private func entries(in directory: TargetDirectory) throws -> [String: Entry] {
        let name = Array(Self.fileName.utf8)
        guard let content = try directory.content(of: name, longest: Self.longest) else { return [:] }
        guard try !directory.isOfOthers(name) else { throw FileWriteError(.unsafe, path: directory.path(of: name)) }
        return try entries(of: content)
    }

    private func entries(of content: [UInt8]) throws(StoreError) -> [String: Entry] {
        guard let members = JSONValue.object(in: content[...]),
            let version = members["version"]?.wholeNumber
        else { throw StoreError(.corrupt, path: path, detail: "not a login file") }
        guard version <= Self.version else { throw StoreError(.newerVersion, path: path) }
        var entries: [String: Entry] = [:]
        for (origin, value) in members["servers"]?.members ?? [:] {
            // An entry whose key is not a normalized origin would never be found, or would be found for a different
            // origin.
            guard let members = value.members, (try? ServerURL(origin))?.origin.description == origin else {
                throw StoreError(.corrupt, path: path, detail: "\"\(origin)\" is not a server")
            }
            entries[origin] = try entry(members)
        }
        return entries
    }

    private func entry(_ members: JSONObject) throws(StoreError) -> Entry {
        var entry = Entry()
        if case .bool(true)? = members["requires_login"] { entry.requiresLogin = true }
        guard let token = members["token"]?.text else { return entry }
        guard members["scheme"]?.text == "bearer" else {
            throw StoreError(.corrupt, path: path, detail: "an unknown scheme")
        }
        entry.login = IssuedLogin(
            token: token,
            role: members["role"]?.text,
            email: members["email"]?.text,
            expiresAt: members["expires_at"]?.wholeNumber
        )
        return entry
    }

    private static func text(of entries: [String: Entry]) -> String {
        var servers: JSONObject = [:]
        for (origin, entry) in entries.sorted(by: { $0.key < $1.key }) {
            let login: JSONObject? = entry.login.map { login in
                [
                    "scheme": "bearer", "token": .string(login.token), "role": JSONValue(login.role),
                    "email": JSONValue(login.email), "expires_at": JSONValue(login.expiresAt),
                ]
            }
            let members = (login ?? [:]) + ["requires_login": .bool(entry.requiresLogin)]
            servers[origin] = .object(members)
        }
        let file: JSONObject = ["version": .integer(version), "servers": .object(servers)]
        return file.json() + "\n"
    }

    private func storeError(_ error: any Error) -> StoreError {
        if let error = error as? StoreError { return error }
        guard let error = error as? FileWriteError else { return StoreError(.other, path: path, detail: "\(error)") }
        let kind: StoreError.Kind =
            switch error.kind {
            case .full: .full
            case .denied: .notWritable
            case .busy: .busy
            case .unsafe: .unsafe
            case .exists, .unsynced, .io: .other
            }
        return StoreError(kind, path: String(decoding: error.path, as: UTF8.self), detail: error.detail)
    }
}
