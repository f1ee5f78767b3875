import Foundation
import MediaStore
import TestSupport
import Testing

/// One user with pictures, and the built program's folder library next to them.
struct TapeBench {
    var runner: BinaryRunner
    /// The user's files, which never belong to the program.
    let originals: String

    init() throws {
        runner = try BinaryRunner()
        originals = runner.home.file("Pictures/camera")
        try makeDirectory(originals)
    }

    var dataPath: String { runner.home.file("data/mediactl") }
    var rootPath: String { runner.home.file("Pictures/Tapes") }

    func store() throws -> LibraryStore { try LibraryStore(in: DataDirectory.open(dataPath)) }

    // MARK: Files

    /// A photo with content unique to its name.
    func photo(_ name: String) throws -> String {
        let path = originals + "/" + name
        try Data([0xFF, 0xD8, 0xFF, 0xE0] + Array(name.utf8)).write(to: URL(fileURLWithPath: path))
        return path
    }

    /// All of the user's files, which must not change (rule R6).
    func witness() throws -> [String: Witness] {
        var seen: [String: Witness] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: originals) {
            seen[name] = try Witness(originals + "/" + name)
        }
        return seen
    }

    /// The properties of an original that must not change.
    struct Witness: Equatable {
        private var inode: UInt64
        private var links: UInt64
        private var mode: UInt32
        private var modified: Int64
        private var content: Data

        init(_ path: String) throws {
            var status = stat()
            try #require(lstat(path, &status) == 0)
            inode = UInt64(status.st_ino)
            links = UInt64(status.st_nlink)
            mode = status.st_mode
            modified = Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec)
            content = try Data(contentsOf: URL(fileURLWithPath: path))
        }
    }

    // MARK: Commands

    /// Runs a command of `tapes` to completion.
    func run(
        _ arguments: [String],
        extra: [String: String] = [:],
        through wrapper: [String] = []
    ) async throws -> ChildResult {
        try await runner.run(["tapes"] + arguments + ["--json"], extra: extra, through: wrapper)
    }

    /// Runs a command that must succeed.
    @discardableResult
    func succeed(_ arguments: String...) async throws -> ChildResult {
        let result = try await run(arguments)
        try #require(result.exitCode == 0, "\(arguments): \(result.output)\(result.errors)")
        return result
    }

    /// Runs a command that is killed with SIGKILL at a failpoint.
    func die(_ arguments: [String], at place: String, extra: [String: String] = [:]) async throws {
        let result = try await run(arguments, extra: extra.merging(["MEDIACTL_KILL_AT": place]) { $1 })
        #expect(result.signal == SIGKILL, "\(place) was not reached: \(result.output)\(result.errors)")
    }

    // MARK: State

    /// The folders in the root that contain an album manifest, by name.
    func albums() throws -> [String: Album] {
        var albums: [String: Album] = [:]
        for name in (try? FileManager.default.contentsOfDirectory(atPath: rootPath)) ?? [] {
            if let album = try Album(rootPath + "/" + name) { albums[name] = album }
        }
        return albums
    }

    /// One album as seen on the disk.
    struct Album {
        /// Names of the links, by the files they refer to; a file that is in an album twice would have two names.
        var links: [String: [String]] = [:]
        /// Everything that is neither a link nor a file created by mediactl.
        var others: [String] = []
        var tapeID: String
        var entryCount: Int

        /// nil for a folder that is not an album created by mediactl.
        init?(_ path: String) throws {
            let manifest = path + "/.mediactl-album.json"
            guard let data = FileManager.default.contents(atPath: manifest) else { return nil }
            let json = try #require(JSONSerialization.jsonObject(with: data) as? [String: Any])
            tapeID = try #require(json["tapeId"] as? String)
            entryCount = try #require(json["entries"] as? [Any]).count
            for name in try FileManager.default.contentsOfDirectory(atPath: path) {
                if let target = try? FileManager.default.destinationOfSymbolicLink(atPath: path + "/" + name) {
                    let whole = target.hasPrefix("/") ? target : path + "/" + target
                    links[URL(fileURLWithPath: whole).standardizedFileURL.lastPathComponent, default: []].append(name)
                } else if ![".mediactl-album.json", "tape.m3u8"].contains(name) {
                    others.append(name)
                }
            }
        }
    }

    /// Checks that the tape has one album, which contains each of these files once, and that the store agrees.
    func expectComplete(_ title: String, _ names: [String], _ comment: Comment) throws {
        let store = try store()
        let tape = try #require(try store.tapes(named: title).first, comment)
        let albums = try albums().filter { $0.value.tapeID == tape.id }
        #expect(albums.count == 1, comment)
        guard let album = albums.first?.value else { return }
        #expect(album.links.mapValues(\.count) == Dictionary(uniqueKeysWithValues: names.map { ($0, 1) }), comment)
        #expect(album.entryCount == names.count, comment)
        #expect(album.others.isEmpty, comment)
        #expect(tape.association == .associated, comment)
        #expect(try store.clips(of: tape.id).allSatisfy { $0.association == .linked }, comment)
        #expect(try store.albumLinks(of: tape.id).count == 1, comment)
    }
}
