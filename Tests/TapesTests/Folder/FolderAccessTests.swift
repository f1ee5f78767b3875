import Foundation
import Glibc
import MediaFiles
import MediaStore
import Synchronization
import TestSupport
import Testing

@testable import Tapes

/// Permissions (contract 4.3, folder library).
@Suite struct FolderAccessTests {
    private func allowed(_ fixture: FolderFixture, _ level: AccessLevel = .addOnly) async throws -> AlbumAccess.State {
        try await fixture.library.access(level).state
    }

    // MARK: Querying

    @Test func theDefaultRootIsCreatedWhereThereArePictures() async throws {
        let fixture = try FolderFixture()
        #expect(try await allowed(fixture) == .notDetermined)
        // The query has created nothing.
        #expect(!fixture.exists(fixture.root))
        #expect(try await fixture.library.requestAccess(.addOnly).state == .authorized)
        #expect(try await fixture.library.requestAccess(.readWrite).state == .authorized)
        #expect(fixture.exists(fixture.root + "/.mediactl-library.json"))
    }

    @Test func theDefaultRootIsNotCreatedWithoutPictures() async throws {
        let fixture = try FolderFixture()
        try FileManager.default.removeItem(atPath: fixture.pictures)
        #expect(try await fixture.library.requestAccess(.addOnly).state == .notDetermined)
        #expect(!fixture.exists(fixture.pictures))
        // Without any pictures directory.
        let root = FolderLibrary.Root(path: fixture.library.root.path, picturesDirectory: nil, isConfigured: false)
        let library = FolderLibrary(root: root, directory: fixture.data, store: fixture.store)
        #expect(try await library.requestAccess(.addOnly).state == .notDetermined)
    }

    @Test func aConfiguredRootIsCreatedAnywhere() async throws {
        let fixture = try FolderFixture()
        let root = fixture.temporary.file("a/b/c")
        let library = fixture.library(at: root, isConfigured: true)
        #expect(try await library.requestAccess(.addOnly).state == .authorized)
        #expect(fixture.exists(root + "/.mediactl-library.json"))
    }

    @Test(
        "a user at a terminal is prompted, and declining differs from never having been prompted",
        arguments: [true, false]
    )
    func prompting(response: Bool) async throws {
        let fixture = try FolderFixture()
        let requested = Mutex<[[UInt8]]>([])
        let library = fixture.library(isConfigured: true) { path in
            requested.withLock { $0.append(path) }
            return response
        }
        let access = try await library.requestAccess(.addOnly)
        #expect(access.state == (response ? .authorized : .denied))
        #expect(requested.withLock { $0 } == [Array(fixture.root.utf8)])
        #expect(fixture.exists(fixture.root) == response)
        // A refusal has the fingerprint of the next query, so the user is not prompted each time (R10).
        if !response { #expect(try await library.access(.addOnly).fingerprint == access.fingerprint) }
        // There is no prompt for an existing library.
        if response { _ = try await library.requestAccess(.addOnly) }
        #expect(requested.withLock { $0.count } == 1)
    }

    @Test func anExistingDirectoryBecomesTheRootWithItsContent() async throws {
        let fixture = try FolderFixture()
        try FileManager.default.createDirectory(atPath: fixture.root, withIntermediateDirectories: false)
        try fixture.write("mine", to: fixture.root + "/note.txt")
        #expect(try await fixture.library.requestAccess(.addOnly).state == .authorized)
        let note = try String(contentsOfFile: fixture.root + "/note.txt", encoding: .utf8)
        #expect(note == "mine")
    }

    @Test("two processes that create the root create one library") func atOnce() async throws {
        let fixture = try FolderFixture()
        let library = fixture.library
        let ids = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    _ = try await library.requestAccess(.addOnly)
                    return try await library.identity().libraryID
                }
            }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(ids.count == 1)
        #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.root) == [".mediactl-library.json"])
    }

    @Test(arguments: ["file", "below a file"]) func invalidRoots(place: String) async throws {
        let fixture = try FolderFixture()
        try fixture.write("x", to: fixture.temporary.file("file"))
        let root = fixture.temporary.file(place == "file" ? "file" : "file/Tapes")
        let library = fixture.library(at: root, isConfigured: true)
        #expect(try await library.access(.addOnly).state == .denied)
        #expect(try await library.requestAccess(.addOnly).state == .denied)
        let kind = try await albumErrorKind { try await library.createAlbum(title: "x", tapeID: "y") }
        #expect(kind == .unauthorized)
    }

    @Test("a newer version's library is not changed") func newerMarker() async throws {
        let (fixture, album) = try await FolderFixture.withAlbum()
        let marker = fixture.root + "/.mediactl-library.json"
        let text = try String(contentsOfFile: marker, encoding: .utf8)
        try fixture.write(text.replacingOccurrences(of: "\"version\":1", with: "\"version\":2"), to: marker)
        #expect(try await allowed(fixture) == .restricted)
        let created = try await albumErrorKind { try await fixture.album("Tapes – Other") }
        #expect(created == .insufficient(["write"]))
        let added = try await albumErrorKind { try await fixture.add([[0x2f, 0x61]], to: album) }
        #expect(added == .insufficient(["write"]))
        let half = fixture.root + "/Tapes – Half"
        try makeDirectory(half)
        try fixture.write("{", to: half + "/.mediactl-album.json.mediactl-part")
        // tapes repair would otherwise fail because of a folder that only the newer version can remove.
        #expect(try await fixture.library.leftovers().isEmpty)
        let leftovers = [AlbumFinding(kind: .emptyFolder, path: Array(half.utf8))]
        let removed = try await albumErrorKind { try await fixture.library.removeLeftovers(leftovers) }
        #expect(removed == .insufficient(["write"]) && fixture.exists(half))
    }

    // MARK: Rights

    /// Permissions of the root, and their effect for a user who does not own it.
    @Test(
        .enabled(if: OtherUser.isAvailable, OtherUser.requirement),
        arguments: [
            (0o777, AlbumAccess.State.authorized, AlbumAccess.State.authorized),
            // Adding does not require read permission.
            (0o773, .authorized, .limited(missing: ["read"])),
            // Clips can still be added to existing albums.
            (0o775, .limited(missing: ["write"]), .limited(missing: ["write"])),
            (0o771, .limited(missing: ["write"]), .limited(missing: ["write", "read"])), (0o776, .denied, .denied),
            (0o770, .denied, .denied),
            // The sticky bit protects other users' entries.
            (0o1777, .authorized, .limited(missing: ["unlink"])),
        ]
    )
    func rights(mode: Int, addOnly: AlbumAccess.State, readWrite: AlbumAccess.State) async throws {
        let fixture = try await FolderFixture.ready()
        chmod(fixture.temporary.path, 0o711)
        chmod(fixture.root, mode_t(mode))
        let library = fixture.library
        let seen = try OtherUser.run { [try library.rootStatus(of: .addOnly), try library.rootStatus(of: .readWrite)] }
        let states = seen.map { rootStatus -> AlbumAccess.State? in
            if case .library(let access) = rootStatus { access.state } else { nil }
        }
        #expect(states == [addOnly, readWrite])
        // Root, or the owner, may do everything regardless.
        if geteuid() == 0 { #expect(try await allowed(fixture, .readWrite) == .authorized) }
    }

    @Test(
        "a root that cannot be created is denied, not undetermined",
        .enabled(if: OtherUser.isAvailable, OtherUser.requirement)
    )
    func unwritablePlace() throws {
        let fixture = try FolderFixture()
        chmod(fixture.temporary.path, 0o711)
        chmod(fixture.pictures, 0o755)
        let library = fixture.library
        // Opens the store, which the other user may not do.
        _ = try library.rootStatus(of: .addOnly)
        let rootStatus = try OtherUser.run { try library.rootStatus(of: .addOnly) }
        let state: AlbumAccess.State? =
            if case .place(let access, wasLibrary: false) = rootStatus { access.state } else { nil }
        #expect(state == .denied)
    }

    @Test(
        "a read-only file system is restricted, and operations on it are refused",
        .enabled(if: SmallDisk.isAvailable, SmallDisk.requirement)
    )
    func readOnly() async throws {
        let disk = try SmallDisk(kibibytes: 256)
        let fixture = try await FolderFixture.ready(root: disk.path + "/Tapes")
        let album = try await fixture.album()
        let before = try await fixture.library.access(.addOnly).fingerprint
        try disk.makeReadOnly()
        let access = try await fixture.library.access(.addOnly)
        #expect(access.state == .restricted && access.fingerprint != before)
        #expect(try await fixture.library.requestAccess(.addOnly).state == .restricted)
        let path = try fixture.original("a.jpg")
        let added = try await albumErrorKind { try await fixture.add([path], to: album) }
        #expect(added == .unauthorized)
        let created = try await albumErrorKind { try await fixture.album("Tapes – Other") }
        #expect(created == .unauthorized)
        let elsewhere = fixture.library(at: disk.path + "/Other", isConfigured: true)
        #expect(try await elsewhere.requestAccess(.addOnly).state == .restricted)
    }

    @Test("R10: the fingerprint changes only with mode, owner and library") func fingerprint()
        async throws
    {
        let fixture = try FolderFixture()
        let none = try await fixture.library.access(.addOnly).fingerprint
        _ = try await fixture.library.requestAccess(.addOnly)
        let first = try await fixture.library.access(.addOnly).fingerprint
        #expect(first != none)
        _ = try await fixture.album()
        #expect(try await fixture.library.access(.readWrite).fingerprint == first)
        chmod(fixture.root, 0o700)
        let second = try await fixture.library.access(.addOnly).fingerprint
        #expect(second != first)
        if geteuid() == 0 {
            chown(fixture.root, 65534, gid_t.max)
            #expect(try await fixture.library.access(.addOnly).fingerprint != second)
        }
    }

    @Test(
        "R10: creating albums depends on the root's permissions, and adding clips depends on the album's",
        .enabled(if: OtherUser.isAvailable, OtherUser.requirement)
    )
    func operationsDecide() async throws {
        let (fixture, album) = try await FolderFixture.withAlbum()
        chmod(fixture.temporary.path, 0o711)
        let library = fixture.library
        let kinds = try OtherUser.run { () -> [AlbumError.Kind?] in
            let root = try library.open()
            return [
                refusal { () throws(AlbumError) in
                    _ = try AlbumFolder.make(title: "x", tapeID: "y", in: root, at: Date())
                },
                refusal { () throws(AlbumError) in
                    guard let folder = try root.album(album.id, hint: album.hint) else { return }
                    var addition = try AlbumError.accessing(AlbumAddition(to: folder, at: Date()))
                    _ = try addition.add([AlbumAsset(id: [0x2f, 0x61], kind: .image)], WorkSteps())
                },
                refusal { () throws(AlbumError) in
                    _ = try root.album(album.id, hint: album.hint)?.delete(WorkSteps())
                },
            ]
        }
        #expect(kinds == [.insufficient(["write"]), .unauthorized, .unauthorized])
        // The album's owner still has access.
        #expect(try await library.album(album.id, hint: nil) == .found(title: album.title, hint: album.hint))
    }

    private func refusal(_ body: () throws(AlbumError) -> Void) -> AlbumError.Kind? {
        do throws(AlbumError) {
            try body()
            return nil
        } catch {
            return error.kind
        }
    }
}
