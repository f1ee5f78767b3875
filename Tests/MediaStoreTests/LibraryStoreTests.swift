import Foundation
import GRDB
import MediaSystem
import TestSupport
import Testing

@testable import MediaStore

@Suite("Library store")
struct LibraryStoreTests {
    let fixture: StoreFixture
    let server = "https://photos.example:5050/sub"

    init() throws { fixture = try StoreFixture() }

    private func library() throws -> LibraryStore { try LibraryStore(in: fixture.directory) }

    // MARK: Opening

    @Test("settings for durability are enabled, and only the owner can read the files")
    func settings() throws {
        let store = try library()
        for (name, value) in [
            ("synchronous", "2"), ("journal_mode", "wal"), ("busy_timeout", "30000"), ("secure_delete", "1"),
            ("temp_store", "2"), ("application_id", "\(0x4D44_434C)"), ("user_version", "6"),
        ] {
            #expect(try store.connection.setting(name) == value, "\(name)")
        }
        #expect(try fixture.names() == ["library.sqlite", "library.sqlite-shm", "library.sqlite-wal", "locks"])
        for name in try fixture.names() where name != "locks" {
            #expect(try permissions(fixture.directory.file(name)) == 0o600, "\(name)")
        }
    }

    enum Damage: CaseIterable {
        case empty, text, foreign, tokens, newer
    }

    @Test("a foreign or damaged store is refused and left unchanged", arguments: Damage.allCases)
    func refused(damage: Damage) throws {
        let path = fixture.directory.file("library.sqlite")
        switch damage {
        case .empty: try fixture.write([], to: path)
        case .text: try fixture.write(Array(String(repeating: "no database\n", count: 500).utf8), to: path)
        case .foreign: try fixture.execute("CREATE TABLE t (x)", at: path)
        case .tokens:
            _ = try fixture.store()
            try FileManager.default.moveItem(atPath: fixture.databasePath, toPath: path)
        case .newer:
            _ = try library()
            try fixture.execute("PRAGMA user_version = 7", at: path)
        }
        let before = try fixture.bytes(path)
        #expect(try storeErrorKind { _ = try library() } == (damage == .newer ? .newerVersion : .corrupt))
        #expect(try fixture.bytes(path) == before)
    }

    // MARK: Logins

    @Test("a login is stored for each server, and the last one replaces earlier ones")
    func logins() throws {
        let store = try library()
        #expect(try store.login(for: server) == nil)
        #expect(try store.logins() == [])
        let other = Login(server: "https://a.example", apiKey: "other")
        try store.keep(Login(server: server, apiKey: "old", deviceID: "d", deviceName: "n", email: "e@example"))
        try store.keep(other)
        let new = Login(server: server, apiKey: "new", deviceID: "d2", deviceName: "Büro\u{1B}")
        try store.keep(new)
        #expect(try store.login(for: server) == new)
        #expect(try library().logins() == [other, new])
    }

    @Test("a login never shows its key")
    func redacted() {
        let login = Login(server: server, apiKey: "SECRET", deviceID: "d")
        var dumped = ""
        dump([login], to: &dumped)
        let texts = ["\(login)", String(reflecting: login), "\([login])", "\(Optional(login) as Any)", dumped]
        for text in texts { #expect(!text.contains("SECRET")) }
        #expect("\(login)" == "login at \(server)")
    }

    @Test("after a logout the device token is the same, until it is renewed")
    func deviceToken() throws {
        let store = try library()
        let token = try store.deviceToken(for: server, isRenewed: false)
        #expect(try /mediactl-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/.wholeMatch(in: token) != nil)
        try store.keep(Login(server: server, apiKey: "k", deviceID: "d"))
        #expect(try store.removeLogin(for: server))
        #expect(try !store.removeLogin(for: server))
        #expect(try store.login(for: server) == nil)
        #expect(try library().deviceToken(for: server, isRenewed: false) == token)
        #expect(try store.deviceToken(for: "https://other.example", isRenewed: false) != token)
        let renewed = try store.deviceToken(for: server, isRenewed: true)
        #expect(renewed != token)
        #expect(try store.deviceToken(for: server, isRenewed: false) == renewed)
    }

    @Test("a key that was replaced or removed is no longer in any file", arguments: [true, false])
    func secretsAreGone(isReplaced: Bool) throws {
        let store = try library()
        let key = String(repeating: "5eC4e7", count: 10)
        for number in 0..<50 { try store.keep(Login(server: "https://\(number)", apiKey: "\(key)-\(number)")) }
        #expect(try files(containing: key).count > 0)
        for number in 0..<50 {
            if isReplaced {
                try store.keep(Login(server: "https://\(number)", apiKey: "new"))
            } else {
                _ = try store.removeLogin(for: "https://\(number)")
            }
        }
        #expect(try files(containing: key) == [])
        withExtendedLifetime(store) {}
    }

    private func files(containing text: String) throws -> [String] {
        return try fixture.names().filter { name in
            guard name != "locks" else { return false }
            let data = try Data(contentsOf: URL(fileURLWithPath: fixture.directory.file(name)))
            return data.range(of: Data(text.utf8)) != nil
        }
    }

    // MARK: Copies

    private func copy(_ number: Int, path: [UInt8]? = nil, server: String? = nil) -> PhotoCopy {
        PhotoCopy(
            server: server ?? self.server,
            photoID: "photo-\(number)",
            path: path ?? Array("/photos/\(String(number + 100_000)).jpg".utf8),
            temporaryName: ".part-\(number)",
            state: .planned,
            source: .downloaded,
            serverSHA256: String(repeating: "ab", count: 32)
        )
    }

    @Test("a copy goes through its states and is found by photo, path and digest")
    func states() async throws {
        let store = try library()
        // A path is bytes, UTF-8 or not, and may contain anything but NUL.
        var copy = copy(1, path: [0x2F, 0xFF, 0xFE, 0x0A, 0x2F, 0xC3])
        try await store.keep([copy, self.copy(2), self.copy(1, server: "https://other")])
        #expect(try store.copies(ofPhotos: ["photo-1", "photo-1", "none"], server: server) == [copy])
        #expect(try store.copies(withDigests: [copy.serverSHA256], server: server) == [])
        copy.state = .written
        copy.sha256 = String(repeating: "cd", count: 32)
        copy.lastModified = "Wed, 21 Oct 2015 07:28:00 GMT"
        copy.totalBytes = 6_442_450_944
        try await store.keep([copy])
        copy.state = .present
        copy.source = .pushed
        copy.temporaryName = nil
        copy.identity = FileIdentity(
            device: .max,
            inode: .max - 1,
            size: 12,
            modificationNanoseconds: -1,
            changeNanoseconds: .max
        )
        try await store.keep([copy])
        #expect(try store.copies(ofPhotos: ["photo-1"], server: server) == [copy])
        #expect(try store.copies(at: [copy.path, Array("/none".utf8)], server: server) == [copy])
        #expect(try library().copies(withDigests: [String(repeating: "cd", count: 32)], server: server) == [copy])
        #expect(try store.copies(at: [copy.path], server: "https://other") == [])
    }

    @Test("a photo may have copies at several paths, and one of them can be removed")
    func removed() async throws {
        let store = try library()
        let copies = [copy(1), copy(1, path: Array("/b".utf8)), copy(2, path: Array("/b".utf8))]
        try await store.keep(copies)
        #expect(
            Set(try store.copies(ofPhotos: ["photo-1"], server: server).map(\.path)) == Set(copies[..<2].map(\.path))
        )
        #expect(try store.copies(at: [Array("/b".utf8)], server: server).count == 2)
        try store.remove([copies[1], copy(99)])
        #expect(try store.copies(ofPhotos: ["photo-1"], server: server) == [copies[0]])
        #expect(try store.copies(at: [Array("/b".utf8)], server: server) == [copies[2]])
    }

    @Test("all copies are returned in blocks of up to 500, by path, while others are written")
    func blocks() async throws {
        let store = try library()
        let copies = (0..<1001).map { copy($0) }
        try await store.keep(copies.shuffled())
        try await store.keep([copy(1, server: "https://other")])
        var sizes: [Int] = []
        var seen: [PhotoCopy] = []
        try store.forEachBlockOfCopies(of: server) { block in
            sizes.append(block.count)
            seen += block
            try store.remove([block[0]])
        }
        #expect(sizes == [500, 500, 1])
        #expect(seen == copies)
        var paths: [[UInt8]] = []
        try store.forEachBlockOfCopies(of: server) { paths += $0.map(\.path) }
        #expect(paths.count == 998)
    }

    @Test("the copies in a directory, or in one state, can be selected")
    func selectedBlocks() async throws {
        let store = try library()
        let paths = ["/a/1", "/a/b/2", "/a", "/a.jpg", "/a-b/3", "/b/4"]
        var copies = paths.enumerated().map { copy($0.offset, path: Array($0.element.utf8)) }
        for index in [0, 2, 3, 4] { copies[index].state = .present }
        try await store.keep(copies)
        func found(below directory: String? = nil, in state: PhotoCopy.State? = nil) throws -> [String] {
            var found: [String] = []
            try store.forEachBlockOfCopies(of: server, below: directory.map { Array($0.utf8) }, in: state) { block in
                found += block.map { String(decoding: $0.path, as: UTF8.self) }
            }
            return found
        }
        #expect(try found(below: "/a") == ["/a/1", "/a/b/2"])
        #expect(try found(below: "/a/") == ["/a/1", "/a/b/2"])
        #expect(try found(below: "/") == paths.sorted())
        #expect(try found(below: "/c").isEmpty)
        #expect(try found(in: .planned) == ["/a/b/2", "/b/4"])
        #expect(try found(below: "/a", in: .planned) == ["/a/b/2"])
    }

    @Test("callers that wait at the same time share one commit")
    func groupCommit() async throws {
        let store = try library()
        let log = fixture.directory.file("library.sqlite-wal")
        let before = try fixture.commitCount(log)
        store.commits.writer.suspend()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<50 { group.addTask { try await store.keep([copy(number)]) } }
            while store.commits.waitingCount < 50 { await Task.yield() }
            store.commits.writer.resume()
            try await group.waitForAll()
        }
        #expect(try store.copies(ofPhotos: (0..<50).map { "photo-\($0)" }, server: server).count == 50)
        #expect(try fixture.commitCount(log) - before == 1)
    }

    @Test("processes that store copies concurrently do not lose any")
    func manyProcesses() throws {
        let path = fixture.directory.path
        let workers = try (1...4).map { try WorkerProcess(["copies", path, "\($0)"]) }
        #expect(try workers.map { try $0.wait() } == [0, 0, 0, 0])
        var states: [PhotoCopy.State] = []
        try library().forEachBlockOfCopies(of: "https://photos.example") { states += $0.map(\.state) }
        #expect(states == Array(repeating: .present, count: 400))
    }
}
