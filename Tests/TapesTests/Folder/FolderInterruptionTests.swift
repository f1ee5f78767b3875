import Foundation
import Glibc
import MediaFiles
import MediaStore
import TestSupport
import Testing

@testable import Tapes

/// The states that a process killed between two steps leaves, and the recovery by the next one (R7): the states are
/// built by hand, with the names of `TapeFailpoint`.
@Suite struct FolderInterruptionTests {
    private static let manifest = ".mediactl-album.json"

    @Test("folderMade: a folder without a manifest is not an album") func folderWithoutManifest() async throws {
        let fixture = try await FolderFixture.ready()
        try makeDirectory(fixture.root + "/Tapes – Summer")
        // A leftover from writing the first manifest.
        try fixture.write("{\"format", to: fixture.path(Self.manifest + ".mediactl-part"))
        #expect(try await fixture.library.albumMarked(FolderFixture.tapeID) == nil)
        let album = try await fixture.album()
        #expect(album.hint == Array((fixture.root + "/Tapes – Summer (2)").utf8))
        #expect(try fixture.names() == [Self.manifest + ".mediactl-part"])
    }

    /// A manifest of one link, and further links that it does not contain.
    private func linksWithoutEntries(_ fixture: FolderFixture, _ paths: [[UInt8]]) async throws -> MadeAlbum {
        let album = try await fixture.album()
        _ = try await fixture.add([paths[0]], to: album)
        let before = try Data(contentsOf: URL(fileURLWithPath: fixture.path(Self.manifest)))
        _ = try await fixture.add(paths, to: album)
        try before.write(to: URL(fileURLWithPath: fixture.path(Self.manifest)))
        return album
    }

    @Test("linksMade: links that the manifest lacks are adopted, each original once") func adopting() async throws {
        let fixture = try await FolderFixture.ready()
        let paths = try ["a.jpg", "b.jpg", "c.jpg"].map { try fixture.original($0) }
        let witness = try fixture.witness()
        let album = try await linksWithoutEntries(fixture, paths)
        let names = try fixture.names()
        #expect(try await fixture.add(paths, to: album) == [.alreadyInAlbum, .alreadyInAlbum, .alreadyInAlbum])
        #expect(try fixture.names() == names)
        let entries = try #require(try fixture.manifest()["entries"] as? [[String: Any]])
        #expect(entries.map { $0["link"] as? String } == ["0001-a.jpg", "0002-b.jpg", "0003-c.jpg"])
        #expect(try fixture.manifest()["nextSequence"] as? Int == 4)
        #expect(try await fixture.library.deleteAlbum(album.id, hint: album.hint) == .deleted)
        try witness.check()
    }

    @Test("only a link whose name and target the program could have created is adopted")
    func lookalikes() async throws {
        let (fixture, album) = try await FolderFixture.withAlbum()
        let path = try fixture.original("a.jpg")
        let target = "../../2024/a.jpg"
        let foreign = ["0001-mine.jpg": target, "a.jpg": target, "01-a.jpg": target, "0004-a.jpg": "../../2024/b.jpg"]
        for (name, target) in foreign {
            try makeLink(fixture.path(name), to: target)
        }
        #expect(try await fixture.add([path], to: album) == [.added])
        #expect(
            try fixture.names() == [Self.manifest, "0001-mine.jpg", "0004-a.jpg", "0005-a.jpg", "01-a.jpg", "a.jpg"]
        )
        #expect(try await fixture.library.deleteAlbum(album.id, hint: nil) == .keptForeign(4))
    }

    @Test("a link of a clip that was removed in the meantime is kept, and its number is not reused")
    func strayLink() async throws {
        let fixture = try await FolderFixture.ready()
        let paths = try ["a.jpg", "b.jpg"].map { try fixture.original($0) }
        let album = try await linksWithoutEntries(fixture, paths)
        let third = try fixture.original("c.jpg")
        #expect(try await fixture.add([third], to: album) == [.added])
        #expect(try fixture.names() == [Self.manifest, "0001-a.jpg", "0002-b.jpg", "0003-c.jpg"])
    }

    @Test("manifestRewritten: the playlist is written by the next run") func manifestWithoutPlaylist() async throws {
        let (fixture, album) = try await FolderFixture.withAlbum()
        let path = try fixture.original("a.jpg")
        _ = try await fixture.add([path], to: album)
        try fixture.write("half", to: fixture.path(".tape.m3u8.mediactl-part"))
        try await fixture.library.arrange(album.id, hint: nil, tape: fixture.tape(), clips: [fixture.clip(path)])
        #expect(try fixture.names() == [Self.manifest, "0001-a.jpg", "tape.m3u8"])
    }

    @Test("a temporary file that is longer than the next content leaves nothing behind") func temporaryFile()
        async throws
    {
        let (fixture, album) = try await FolderFixture.withAlbum()
        let rest = String(repeating: "x", count: 100_000)
        try fixture.write(rest, to: fixture.path(Self.manifest + ".mediactl-part"))
        _ = try await fixture.add([try fixture.original("a.jpg")], to: album)
        #expect(try fixture.names() == [Self.manifest, "0001-a.jpg"])
        #expect(try fixture.manifest()["nextSequence"] as? Int == 2)
    }

    @Test("an interrupted deletion is continued") func deleting() async throws {
        let (fixture, album) = try await FolderFixture.withAlbum()
        let paths = try ["a.jpg", "b.jpg"].map { try fixture.original($0) }
        _ = try await fixture.add(paths, to: album)
        try FileManager.default.removeItem(atPath: fixture.path("0001-a.jpg"))
        try fixture.write("half", to: fixture.path(".tape.m3u8.mediactl-part"))
        try fixture.write("half", to: fixture.path(Self.manifest + ".mediactl-part"))
        #expect(try await fixture.library.deleteAlbum(album.id, hint: nil) == .deleted)
        #expect(!fixture.exists(fixture.root + "/Tapes – Summer"))
    }

    // MARK: Full disks

    @Test(
        "a full disk is reported as a quota, and the next run after the repair completes the album",
        .enabled(if: SmallDisk.isAvailable, SmallDisk.requirement)
    )
    func fullDisk() async throws {
        let disk = try SmallDisk(kibibytes: 256)
        let fixture = try await FolderFixture.ready(root: disk.path + "/Tapes")
        let paths = try (0..<40).map { try fixture.original("\($0).jpg") }
        let witness = try fixture.witness()
        let album = try await fixture.album()
        _ = try await fixture.add([paths[0]], to: album)
        let before = try fixture.manifest()["nextSequence"] as? Int
        // Targets of this length are stored in the inode; the manifest needs pages that are not available.
        try disk.fill()
        let kind = try await albumErrorKind { try await fixture.add(paths, to: album) }
        #expect(kind == .quota)
        #expect(try fixture.manifest()["nextSequence"] as? Int == before)
        #expect(!(try fixture.names().contains { $0.hasSuffix("mediactl-part") }))
        let created = try await albumErrorKind { try await fixture.album("Tapes – Other") }
        #expect(created == .quota)
        // No folder without a manifest remains.
        #expect(!fixture.exists(fixture.root + "/Tapes – Other"))
        try disk.empty()
        let results = try await fixture.add(paths, to: album)
        #expect(results.allSatisfy { $0 == .added || $0 == .alreadyInAlbum })
        #expect(try fixture.names().count == 41)
        #expect((try fixture.manifest()["entries"] as? [Any])?.count == 40)
        try witness.check()
    }

    /// Targets of more than 60 bytes need a separate page on this file system.
    @Test(
        "R7: links created before the disk was full are adopted once there is space",
        .enabled(if: SmallDisk.isAvailable, SmallDisk.requirement)
    )
    func fullBetweenLinks() async throws {
        let disk = try SmallDisk(kibibytes: 256)
        let fixture = try await FolderFixture.ready(root: disk.path + "/Tapes")
        let long = "/away/" + String(repeating: "x", count: 2000)
        let paths = (0..<12).map { Array("\(long)\($0).jpg".utf8) }
        let album = try await fixture.album()
        _ = try await fixture.add([paths[0]], to: album)
        // Twelve entries of 2 KiB take seven pages: there is room for the manifest or for some links, but not for both.
        try disk.fill(leavingPages: 9)
        let kind = try await albumErrorKind { try await fixture.add(paths, to: album) }
        let links = try fixture.names().filter { $0.hasPrefix("0") }.count
        #expect(kind == .quota)
        #expect(links > 1 && links < 12)
        try disk.empty()
        let again = try await fixture.add(paths, to: album)
        #expect(again.allSatisfy { $0 == .added || $0 == .alreadyInAlbum })
        #expect(again.filter { $0 == .added }.count == 12 - links)
        #expect((try fixture.manifest()["entries"] as? [Any])?.count == 12)
    }

    @Test(
        "R9: links created before the file system refused are reported individually",
        .enabled(if: SmallDisk.isAvailable, SmallDisk.requirement)
    )
    func partialResponse() async throws {
        let disk = try SmallDisk(kibibytes: 256)
        let fixture = try await FolderFixture.ready(root: disk.path + "/Tapes")
        let paths = (0..<5).map { Array("/away/\($0).jpg".utf8) }
        let album = try await fixture.album()
        // The manifest does not need an additional inode here; three are left for links.
        try fixture.write("half", to: fixture.path(Self.manifest + ".mediactl-part"))
        var volume = statvfs()
        try #require(statvfs(disk.path, &volume) == 0)
        let inodes = Int(volume.f_files - volume.f_ffree) + 3
        let mount = try await ChildProcess.run("mount", ["-o", "remount,nr_inodes=\(inodes)", disk.path])
        try #require(mount.status == 0)
        let full = AddResult.notNow(AlbumError(.quota, detail: "no space left on the disk"))
        #expect(try await fixture.add(paths, to: album) == [.added, .added, .added, full, full])
        #expect((try fixture.manifest()["entries"] as? [Any])?.count == 3)
        let kind = try await albumErrorKind { try await fixture.add(Array(paths.suffix(2)), to: album) }
        #expect(kind == .quota)
    }

    // MARK: Concurrency

    @Test("two tasks that add to one album create each link once") func twoAtOnce() async throws {
        let fixture = try await FolderFixture.ready()
        let paths = try (0..<30).map { try fixture.original("\($0).jpg") }
        let witness = try fixture.witness()
        let album = try await fixture.album()
        let assets = fixture.assets(paths)
        let library = fixture.library
        let added = try await withThrowingTaskGroup(of: Int.self) { group in
            for task in 0..<6 {
                group.addTask {
                    let some = Array(assets.shuffled().prefix(20)) + [assets[task]]
                    return try await library.add(some, to: album.id, hint: album.hint).filter { $0 == .added }.count
                }
            }
            return try await group.reduce(0, +)
        }
        let names = try fixture.names().filter { $0.hasPrefix("0") }
        #expect(names.count == added)
        #expect(Set(names.map { $0.dropFirst(5) }).count == added)
        let entries = try #require(try fixture.manifest()["entries"] as? [[String: Any]])
        #expect(entries.compactMap { $0["link"] as? String } == names)
        try witness.check()
    }

    @Test("opening waits for a library that another process has locked") func locked() async throws {
        let fixture = try await FolderFixture.ready()
        let id = try await fixture.library.identity().libraryID.dropFirst("folder:".count)
        let lock = try await AlbumLock.acquire(.folderLibrary(String(id)), in: fixture.data)
        let library = fixture.library
        let waiting = Task { try await library.createAlbum(title: "Tapes – Summer", tapeID: FolderFixture.tapeID) }
        // Reading does not require a lock.
        #expect(try await library.albumMarked(FolderFixture.tapeID) == nil)
        #expect(!fixture.exists(fixture.root + "/Tapes – Summer"))
        let cancelled = Task { try await library.createAlbum(title: "Tapes – Other", tapeID: "x") }
        cancelled.cancel()
        #expect(try await albumErrorKind { try await cancelled.value } == .cancelled)
        lock.release()
        #expect(try await waiting.value.title == "Tapes – Summer")
        #expect(!fixture.exists(fixture.root + "/Tapes – Other"))
    }

    // MARK: Cost

    /// Events in the folder of an album, as counted by inotify(7).
    private struct Cost: Equatable {
        /// How many times the folder itself is opened: once to reach it, once to list it.
        var openings = 0
        var newManifests = 0
        var links = 0
    }

    private func cost(in folder: String, _ body: () async throws -> Void) async throws -> Cost {
        let queue = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
        defer { close(queue) }
        try #require(inotify_add_watch(queue, folder, UInt32(IN_OPEN | IN_MOVED_TO | IN_CREATE)) >= 0)
        try await body()
        var cost = Cost()
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        while case let count = read(queue, &buffer, buffer.count), count > 0 {
            var offset = 0
            while offset < count {
                let (mask, length) = buffer.withUnsafeBytes {
                    (
                        $0.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self),
                        $0.loadUnaligned(fromByteOffset: offset + 12, as: UInt32.self)
                    )
                }
                let name = buffer[(offset + 16)..<(offset + 16 + Int(length))].prefix { $0 != 0 }
                if mask & UInt32(IN_OPEN) != 0, name.isEmpty { cost.openings += 1 }
                if mask & UInt32(IN_MOVED_TO) != 0 { cost.newManifests += 1 }
                if mask & UInt32(IN_CREATE) != 0, name.first != UInt8(ascii: ".") { cost.links += 1 }
                offset += 16 + Int(length)
            }
        }
        return cost
    }

    @Test("1,000 clips take one listing and one manifest, as do 10 clips") func cost() async throws {
        let (fixture, album) = try await FolderFixture.withAlbum()
        // R14: originals are not accessed, so they need not exist.
        let paths = (0..<1000).map { Array((fixture.originals + "/IMG_\($0).jpg").utf8) }
        let folder = fixture.root + "/Tapes – Summer"
        let few = try await cost(in: folder) { _ = try await fixture.add(Array(paths.prefix(10)), to: album) }
        #expect(few == Cost(openings: 2, newManifests: 1, links: 10))
        let many = try await cost(in: folder) { _ = try await fixture.add(paths, to: album) }
        #expect(many == Cost(openings: 2, newManifests: 1, links: 990))
        let none = try await cost(in: folder) { _ = try await fixture.add(paths, to: album) }
        #expect(none == Cost(openings: 2, newManifests: 0, links: 0))
    }
}
