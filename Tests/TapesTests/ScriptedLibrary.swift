import Foundation
import MediaStore
import Synchronization

@testable import Tapes

/// A library in memory that implements the contract of `AlbumLibrary`, records every call in order, and responds as
/// a test specifies. With a file it is shared between processes.
final class ScriptedLibrary: AlbumLibrary {
    /// A call, in the form that tests compare.
    enum Call: Codable, Equatable {
        case identity
        case access(String)
        case request(String)
        case album(String)
        case marked(String)
        case create(title: String, tapeID: String)
        case resolve([String])
        case add([String], to: String)
        case remove([String], from: String)
        case delete(String)
        case arrange(String, [String])

        /// Without arguments.
        var name: String { String("\(self)".prefix { $0 != "(" }) }
    }

    /// An album in the library.
    struct Album: Codable, Equatable {
        var title: String
        var tapeID: String
        var assets: [String] = []
    }

    /// The content; all of it is kept across processes.
    struct Content: Codable {
        var calls: [Call] = []
        /// By identifier: `album-1`, `album-2` …
        var albums: [String: Album] = [:]
        var madeCount = 0
    }

    /// The settings of the tests.
    struct Script {
        var identity = AlbumLibraryIdentity(libraryID: "test:one", accountID: nil, keyID: nil, name: "Test")
        var addOnly = AlbumAccess(.authorized, fingerprint: "all")
        var readWrite = AlbumAccess(.authorized, fingerprint: "all")
        /// After `requestAccess`; nil changes nothing.
        var granted: AlbumAccess?
        /// Whether `album` may query.
        var mayLook = true
        /// The next calls with this name fail with these errors; nil lets a call succeed.
        var failures: [String: [AlbumError?]] = [:]
        /// The next calls with this name are carried out, and fail afterwards: the response is lost.
        var lostResponses: [String: [AlbumError?]] = [:]
        /// By source; without a resolution, the source is the asset's ID.
        var resolutions: [String: AssetResolution] = [:]
        /// By asset, one result for each time that it is added; without one, it is added.
        var results: [String: [AddResult]] = [:]
        /// By asset; without a result, it is removed.
        var removals: [String: RemoveResult] = [:]
        var deletion: AlbumDeletion?
        /// Called at the start of every call, and may wait.
        var before: (@Sendable (Call) async -> Void)?
    }

    let kind: String
    let address: String
    private let file: String?
    private let content = Mutex(Content())
    private let script = Mutex(Script())

    init(kind: String = "test", address: String = "/one", file: String? = nil) {
        self.kind = kind
        self.address = address
        self.file = file
    }

    // MARK: For tests

    var calls: [Call] { changed { $0.calls } }
    var albums: [String: Album] { changed { $0.albums } }
    /// Names of the calls, except access queries.
    var work: [String] { calls.map(\.name).filter { !["identity", "access", "request"].contains($0) } }

    func configure(_ change: (inout Script) -> Void) { script.withLock { change(&$0) } }

    /// Changes the content as another process would.
    func meddle(_ change: (inout Content) -> Void) { changed { change(&$0) } }

    func forgetCalls() { changed { $0.calls = [] } }

    @discardableResult
    private func changed<Value>(_ body: (inout Content) -> Value) -> Value {
        guard let file else { return content.withLock { body(&$0) } }
        // One process at a time.
        let lock = open(file + ".lock", O_RDWR | O_CREAT, 0o600)
        flock(lock, LOCK_EX)
        defer { close(lock) }
        var shared = Content()
        if let bytes = FileManager.default.contents(atPath: file),
            let known = try? JSONDecoder().decode(Content.self, from: bytes)
        {
            shared = known
        }
        let value = body(&shared)
        _ = FileManager.default.createFile(atPath: file, contents: try? JSONEncoder().encode(shared))
        return value
    }

    private func begin(_ call: Call) async throws(AlbumError) {
        let (before, failure) = script.withLock { script in
            let isScripted = script.failures[call.name]?.isEmpty == false
            return (script.before, isScripted ? script.failures[call.name]?.removeFirst() ?? nil : nil)
        }
        changed { $0.calls.append(call) }
        await before?(call)
        if let failure { throw failure }
        if Task.isCancelled { throw AlbumError(.cancelled) }
    }

    private func end(_ name: String) throws(AlbumError) {
        let failure = script.withLock { script in
            script.lostResponses[name]?.isEmpty == false ? script.lostResponses[name]?.removeFirst() : nil
        }
        if let failure = failure ?? nil { throw failure }
    }

    // MARK: AlbumLibrary

    func identity() async throws(AlbumError) -> AlbumLibraryIdentity {
        try await begin(.identity)
        return script.withLock { $0.identity }
    }

    func access(_ level: AccessLevel) async throws(AlbumError) -> AlbumAccess {
        try await begin(.access(level.rawValue))
        return script.withLock { level == .addOnly ? $0.addOnly : $0.readWrite }
    }

    func requestAccess(_ level: AccessLevel) async throws(AlbumError) -> AlbumAccess {
        try await begin(.request(level.rawValue))
        return script.withLock { script in
            if let granted = script.granted {
                script.addOnly = granted
                script.readWrite = granted
            }
            return level == .addOnly ? script.addOnly : script.readWrite
        }
    }

    func album(_ id: String, hint: [UInt8]?) async throws(AlbumError) -> AlbumPresence {
        try await begin(.album(id))
        guard script.withLock({ $0.mayLook }) else { return .unknown }
        guard let album = albums[id] else { return .missing }
        return .found(title: album.title, hint: hint, count: album.assets.count)
    }

    func albumMarked(_ tapeID: String) async throws(AlbumError) -> MadeAlbum? {
        try await begin(.marked(tapeID))
        return albums.first { $0.value.tapeID == tapeID }.map { MadeAlbum(id: $0.key, title: $0.value.title) }
    }

    func createAlbum(title: String, tapeID: String) async throws(AlbumError) -> MadeAlbum {
        try await begin(.create(title: title, tapeID: tapeID))
        let id = changed { content in
            content.madeCount += 1
            content.albums["album-\(content.madeCount)"] = Album(title: title, tapeID: tapeID)
            return "album-\(content.madeCount)"
        }
        try end("create")
        return MadeAlbum(id: id, title: title, hint: Array("\(address)/\(id)".utf8))
    }

    func resolveAssets(_ clips: [ClipRecord], mayUpload: Bool) async throws(AlbumError) -> [AssetResolution] {
        guard !clips.isEmpty else { return [] }
        try await begin(.resolve(clips.map { String(decoding: $0.source ?? [], as: UTF8.self) }))
        let known = script.withLock { $0.resolutions }
        return clips.map { known[String(decoding: $0.source ?? [], as: UTF8.self)] ?? .asset($0.source ?? []) }
    }

    func add(_ assets: [AlbumAsset], to albumID: String, hint: [UInt8]?) async throws(AlbumError) -> [AddResult] {
        guard !assets.isEmpty else { return [] }
        let names = assets.map { String(decoding: $0.id, as: UTF8.self) }
        try await begin(.add(names, to: albumID))
        let scripted = script.withLock { script in
            names.map { name in script.results[name]?.isEmpty == false ? script.results[name]?.removeFirst() : nil }
        }
        let results: [AddResult]? = changed { content in
            guard var album = content.albums[albumID] else { return nil }
            defer { content.albums[albumID] = album }
            return zip(names, scripted).map { name, scripted in
                if let scripted = scripted ?? nil, ![.added, .alreadyInAlbum].contains(scripted) { return scripted }
                guard !album.assets.contains(name) else { return .alreadyInAlbum }
                album.assets.append(name)
                return .added
            }
        }
        guard let results else { throw AlbumError(.albumMissing) }
        try end("add")
        return results
    }

    func remove(_ assetIDs: [[UInt8]], from albumID: String, hint: [UInt8]?) async throws(AlbumError) -> [RemoveResult]
    {
        guard !assetIDs.isEmpty else { return [] }
        let names = assetIDs.map { String(decoding: $0, as: UTF8.self) }
        try await begin(.remove(names, from: albumID))
        let scripted = script.withLock { $0.removals }
        return changed { content in
            names.map { name in
                if let scripted = scripted[name] { return scripted }
                content.albums[albumID]?.assets.removeAll { $0 == name }
                return .removed
            }
        }
    }

    func deleteAlbum(_ id: String, hint: [UInt8]?) async throws(AlbumError) -> AlbumDeletion {
        try await begin(.delete(id))
        if let scripted = script.withLock({ $0.deletion }) { return scripted }
        return changed { $0.albums.removeValue(forKey: id) } == nil ? .alreadyGone : .deleted
    }

    func arrange(_ albumID: String, hint: [UInt8]?, tape: TapeRecord, clips: [ClipRecord]) async throws(AlbumError) {
        try await begin(.arrange(albumID, clips.map { String(decoding: $0.source ?? [], as: UTF8.self) }))
    }
}
