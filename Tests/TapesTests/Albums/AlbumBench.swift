import Foundation
import MediaStore
import Synchronization
import TestSupport

@testable import Tapes

/// A store, a scripted library and a clock for one test.
struct AlbumBench {
    let temporary: TemporaryDirectory
    let directory: DataDirectory
    let store: LibraryStore
    let library: ScriptedLibrary
    let clock = Clock()
    let events = Events()

    /// Does not advance unless a test sets it.
    final class Clock: Sendable {
        private let value = Mutex(Date(timeIntervalSince1970: 1_790_000_000))

        var now: Date { value.withLock { $0 } }

        func advance(_ seconds: TimeInterval) { value.withLock { $0 += seconds } }
    }

    final class Events: Sendable {
        private let values = Mutex<[AlbumEvent]>([])

        var all: [AlbumEvent] { values.withLock { $0 } }

        func keep(_ event: AlbumEvent) { values.withLock { $0.append(event) } }
    }

    init(_ library: ScriptedLibrary = ScriptedLibrary(), in temporary: TemporaryDirectory? = nil) throws {
        let temporary = try temporary ?? TemporaryDirectory(isInMemory: true)
        self.temporary = temporary
        directory = try DataDirectory.open(temporary.file("data"))
        store = try LibraryStore(in: directory)
        self.library = library
    }

    /// The service; a different library corresponds to a different user setting.
    func service(
        _ policy: AlbumService.Policy = AlbumService.Policy(),
        library: ScriptedLibrary? = nil
    ) -> AlbumService {
        let clock = clock
        let events = events
        return AlbumService(
            store: store,
            directory: directory,
            library: library ?? self.library,
            policy: policy,
            now: { clock.now },
            report: { events.keep($0) }
        )
    }

    // MARK: Several processes

    /// A bench with a library that is shared with other processes.
    static func shared() throws -> AlbumBench {
        let temporary = try TemporaryDirectory(isInMemory: true)
        return try AlbumBench(ScriptedLibrary(file: temporary.file("library.json")), in: temporary)
    }

    /// The service on the files of a bench, for another process.
    static func service(
        in path: String,
        _ policy: AlbumService.Policy = AlbumService.Policy()
    ) throws -> AlbumService {
        let directory = try DataDirectory.open(path + "/data")
        return AlbumService(
            store: try LibraryStore(in: directory),
            directory: directory,
            library: ScriptedLibrary(file: path + "/library.json"),
            policy: policy
        )
    }

    /// The work of `tapes add`, for another process.
    static func addAndAssociate(_ name: String, in path: String, _ tapeID: String) async throws {
        let service = try service(in: path)
        try service.store.addImages([Array("/\(name)".utf8)], to: tapeID)
        _ = try await service.associate(tapeID)
    }

    static let deleting = AlbumService.Policy(deletesAlbums: true)

    // MARK: Tapes

    @discardableResult
    func tape(_ title: String = "Summer", _ names: [String] = []) throws -> String {
        try store.makeTape(title, names.map { Array("/\($0)".utf8) }, at: clock.now)
    }

    /// Commits clips as the commands do; `a` is the file `/a`.
    func add(_ names: [String], to tapeID: String, at position: Int? = nil) throws {
        try store.addImages(names.map { Array("/\($0)".utf8) }, to: tapeID, at: position, now: clock.now)
    }

    /// A tape with these clips and its album.
    func associated(_ title: String = "Summer", _ names: [String] = ["a"]) async throws -> String {
        let id = try tape(title, names)
        _ = try await service().associate(id)
        library.forgetCalls()
        return id
    }

    /// A bench with a tape that has these clips.
    static func withTape(
        _ title: String = "Summer",
        _ names: [String] = []
    ) throws -> (bench: AlbumBench, id: String) {
        let bench = try AlbumBench()
        return (bench, try bench.tape(title, names))
    }

    /// A bench with a tape that has these clips, and its album.
    static func withAlbum(
        _ title: String = "Summer",
        _ names: [String] = ["a"]
    ) async throws -> (bench: AlbumBench, id: String) {
        let bench = try AlbumBench()
        return (bench, try await bench.associated(title, names))
    }

    /// Each clip of a tape: `a linked`, `b pending unreachable`.
    func clips(_ tapeID: String) throws -> [String] {
        try store.clips(of: tapeID).map { clip in
            let name = String(decoding: (clip.source ?? []).dropFirst(), as: UTF8.self)
            let reason = clip.reason.map { " " + $0.rawValue } ?? ""
            return "\(name) \(clip.association.rawValue)\(reason)"
        }
    }

    func state(_ tapeID: String) throws -> String { try store.state(ofTape: tapeID) }

    func link(_ tapeID: String) throws -> AlbumLink? { try store.albumLinks(of: tapeID).last }

    /// The content of a tape's album.
    func assets(_ tapeID: String) throws -> [String]? {
        try link(tapeID).flatMap { library.albums[$0.albumID]?.assets }
    }
}

/// Lines in the order in which they were stored.
final class Seen: Sendable {
    private let lines = Mutex<[String]>([])

    var all: [String] { lines.withLock { $0 } }

    func keep(_ line: String) { lines.withLock { $0.append(line) } }
}
