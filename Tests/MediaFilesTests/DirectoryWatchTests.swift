import Foundation
import Synchronization
import TestSupport
import Testing

@testable import MediaFiles

@Suite(.timeLimit(.minutes(4))) struct DirectoryWatchTests {
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    @Test func existingFilesAreReportedFirstAndInOrder() async throws {
        for name in ["b.mp4", "a.mp4", "c.txt"] { try write(name) }
        var names = try watch("*.mp4").makeNames(in: directory)
        #expect(await names.next() == "a.mp4")
        #expect(await names.next() == "b.mp4")
        try write("d.mp4")
        #expect(await names.next() == "d.mp4")
    }

    @Test func aFileIsReportedOnceItIsClosed() async throws {
        var names = try watch().makeNames(in: directory)
        let descriptor = open(directory.file("growing"), O_CREAT | O_WRONLY, 0o600)
        #expect(Glibc.write(descriptor, "abc", 3) == 3)
        try write("other")
        #expect(await names.next() == "other")
        #expect(Glibc.write(descriptor, "def", 3) == 3)
        close(descriptor)
        #expect(await names.next() == "growing")
    }

    @Test func aGrowingFileThatAlreadyExistedIsWaitedFor() async throws {
        let descriptor = open(directory.file("a"), O_CREAT | O_WRONLY, 0o600)
        #expect(Glibc.write(descriptor, "abc", 3) == 3)
        try write("b")
        var names = try watch().makeNames(in: directory)
        #expect(await names.next() == "b")
        close(descriptor)
        #expect(await names.next() == "a")
    }

    /// One writer closes the file while another is still writing.
    @Test func theLastWriterToCloseCounts() async throws {
        var names = try watch().makeNames(in: directory)
        let descriptor = open(directory.file("a"), O_CREAT | O_WRONLY, 0o600)
        try append("a")
        try write("b")
        #expect(await names.next() == "b")
        close(descriptor)
        #expect(await names.next() == "a")
    }

    @Test func aFileMovedInIsReportedWithItsNewName() async throws {
        let elsewhere = try TemporaryDirectory()
        try Data("x".utf8).write(to: URL(filePath: elsewhere.file("x")))
        var names = try watch("*.mp4").makeNames(in: directory)
        try write("upload.part")
        rename(directory.file("upload.part"), directory.file("a.mp4"))
        #expect(await names.next() == "a.mp4")
        rename(elsewhere.file("x"), directory.file("b.mp4"))
        #expect(await names.next() == "b.mp4")
    }

    @Test func linksAreReportedWhenTheyAreCreated() async throws {
        let elsewhere = try TemporaryDirectory()
        for name in ["a", "b", "c"] { try Data("x".utf8).write(to: URL(filePath: elsewhere.file(name))) }
        var names = try watch().makeNames(in: directory)
        link(elsewhere.file("a"), directory.file("hard"))
        #expect(await names.next() == "hard")
        symlink(elsewhere.file("b"), directory.file("symbolic"))
        #expect(await names.next() == "symbolic")
        // Programs do this to create a file atomically without replacing another file.
        link(elsewhere.file("c"), directory.file("moved"))
        unlink(elsewhere.file("c"))
        #expect(await names.next() == "moved")
        try write("z")
        #expect(await names.next() == "z")
    }

    enum Entry: CaseIterable { case symbolicLink, hardLink, earlierName }

    /// When the writer closes the file, there is no event in the directory.
    @Test(arguments: Entry.allCases) func aFileThatWasOpenedUnderAnotherNameIsWaitedFor(entry: Entry) async throws {
        let elsewhere = try TemporaryDirectory()
        let (source, name) = (elsewhere.file("growing"), directory.file("a"))
        let descriptor = open(source, O_CREAT | O_WRONLY, 0o600)
        #expect(Glibc.write(descriptor, "abc", 3) == 3)
        if entry == .earlierName { rename(source, name) }
        var names = try watch(idleSeconds: 0.05, openness: WriterProbe.openness).makeNames(in: directory)
        switch entry {
        case .symbolicLink: symlink(source, name)
        case .hardLink: link(source, name)
        case .earlierName: break
        }
        try write("b")
        #expect(await names.next() == "b")
        close(descriptor)
        #expect(await names.next() == "a")
    }

    @Test func eachWriteIsReported() async throws {
        var names = try watch().makeNames(in: directory)
        for number in 0..<3 {
            try append("a")
            #expect(await names.next() == "a", "\(number)")
        }
    }

    @Test func emptyAndIrregularFilesAreSkipped() async throws {
        try write("empty", "")
        mkfifo(directory.file("fifo"), 0o600)
        symlink("nowhere", directory.file("link"))
        mkdir(directory.file("folder"), 0o700)
        var names = try watch().makeNames(in: directory)
        try write("folder/inside")
        try write("gone")
        mkdir(directory.file("more"), 0o700)
        rename(directory.file("more"), directory.file("moved"))
        try write("z")
        // "gone" may have been seen before; the first name after it proves that nothing else was.
        var name = await names.next()
        if name == "gone" { name = await names.next() }
        #expect(name == "z")
        try append("empty")
        #expect(await names.next() == "empty")
    }

    @Test func namesThatAreNotUTF8AreReported() async throws {
        var paths = try watch().files.makeAsyncIterator()
        let path = Array(directory.file("").utf8) + [0xFF]
        try write("x.part")
        #expect(await paths.next() == Array(directory.file("x.part").utf8))
        rename(directory.file("x.part"), path.map(CChar.init(bitPattern:)) + [0])
        #expect(await paths.next() == path)
    }

    /// Files are written continuously while the watch starts: each is reported once, by the initial listing or by
    /// its event.
    @Test func nothingIsLostOrReportedTwiceAtTheStart() async throws {
        for round in 0..<20 {
            let directory = try TemporaryDirectory()
            let names = (0..<50).map { "\(round)-\($0)" }
            let writer = Task.detached {
                for name in names {
                    try Data("x".utf8).write(to: URL(filePath: directory.file(name + ".part")))
                    rename(directory.file(name + ".part"), directory.file(name))
                }
                try Data("x".utf8).write(to: URL(filePath: directory.file("last")))
            }
            let filter = PathFilter(excludes: [try GlobPattern("*.part")])
            var reported: [String] = []
            var iterator = try DirectoryWatch(Array(directory.path.utf8), filter: filter).makeNames(in: directory)
            while let name = await iterator.next(), name != "last" { reported.append(name) }
            try await writer.value
            #expect(reported.sorted() == names.sorted())
        }
    }

    @Test func theStreamEndsIfTheDirectoryIsDeleted() async throws {
        mkdir(directory.file("drop"), 0o700)
        let watch = try DirectoryWatch(Array(directory.file("drop").utf8), filter: PathFilter())
        try write("drop/a")
        var names = watch.makeNames(in: directory)
        #expect(await names.next() == "drop/a")
        unlink(directory.file("drop/a"))
        rmdir(directory.file("drop"))
        #expect(await names.next() == nil)
    }

    @Test func theStreamEndsWhenTheDirectoryIsRenamed() async throws {
        mkdir(directory.file("drop"), 0o700)
        let watch = try DirectoryWatch(Array(directory.file("drop").utf8), filter: PathFilter())
        rename(directory.file("drop"), directory.file("other"))
        var names = watch.makeNames(in: directory)
        #expect(await names.next() == nil)
    }

    @Test func cancelingEndsTheStreamAndTheThread() async throws {
        let watch = try watch()
        #expect(try isWatched())
        let reader = Task {
            for await _ in watch.files {}
            return true
        }
        reader.cancel()
        #expect(await reader.value)
        try await eventually { try !isWatched() }
    }

    @Test func releasingTheWatchEndsTheThread() async throws {
        do {
            let watch = try watch()
            _ = watch.files
            #expect(try isWatched())
        }
        try await eventually { try !isWatched() }
    }

    /// The stream outlives the object that created it: `for await path in watch.files` is its last use.
    @Test func theStreamAloneKeepsTheWatchAlive() async throws {
        var names = try watch().files.makeAsyncIterator()
        try write("a")
        #expect(await names.next() == Array(directory.file("a").utf8))
    }

    static let unwatchable: [(name: String, kind: SourceFileError.Kind)] = [
        ("absent", .notFound), ("file", .io(errno: ENOTDIR)), ("a\0b", .notFound),
    ]

    @Test(arguments: unwatchable) func pathsThatCannotBeWatched(row: (name: String, kind: SourceFileError.Kind)) throws
    {
        try write("file")
        let path = Array(directory.file(row.name).utf8)
        #expect(throws: SourceFileError(row.kind, path: path)) { try DirectoryWatch(path, filter: PathFilter()) }
    }

    /// If the system does not support leases, an event is trusted and other files must be unchanged for a while:
    /// here an hour, so that only the event can report "a".
    @Test func withoutLeasesAClosedFileIsComplete() async throws {
        try write("a")
        try write("moved.part")
        let watch = try watch(idleSeconds: 3_600) { _ in .unknown }
        var names = watch.makeNames(in: directory)
        rename(directory.file("moved.part"), directory.file("moved"))
        try write("b")
        #expect(await names.next() == "b")
        try append("a")
        #expect(await names.next() == "a")
    }

    @Test func withoutLeasesAQuietFileIsComplete() async throws {
        try write("a")
        let watch = try watch(idleSeconds: 0.05) { _ in .unknown }
        var names = watch.makeNames(in: directory)
        #expect(await names.next() == "a")
        try write("b.part")
        #expect(await names.next() == "b.part")
        rename(directory.file("b.part"), directory.file("b"))
        #expect(await names.next() == "b")
    }

    /// A lease held for an instant must not leave a signal behind that terminates the process, nor a blocked writer.
    @Test func writersComeAndGoWhileLeasesAreRequested() async throws {
        try write("a")
        let file = try SourceFile(path: Array(directory.file("a").utf8))
        let writer = Task.detached {
            for _ in 0..<2_000 { close(open(directory.file("a"), O_WRONLY)) }
        }
        var seen: Set<String> = []
        for _ in 0..<20_000 { seen.insert("\(WriterProbe.openness(file.descriptor))") }
        await writer.value
        #expect(seen.isSubset(of: ["closed", "open"]))
        #expect(WriterProbe.openness(file.descriptor) == .closed)
        let descriptor = open(directory.file("a"), O_WRONLY)
        #expect(WriterProbe.openness(file.descriptor) == .open)
        close(descriptor)
    }

    /// The watching thread is blocked until the system has dropped events.
    @Test func lostEventsAreRecoveredByListingAgain() async throws {
        let limit = try String(contentsOfFile: "/proc/sys/fs/inotify/max_queued_events", encoding: .utf8)
        let renameCount = try #require(Int(limit.trimmingCharacters(in: .whitespacesAndNewlines))) / 2 + 100
        let isHeld = Flag()
        let gate = DispatchSemaphore(value: 0)
        try write("first")
        let watch = try watch(excluding: "noise*") { descriptor in
            var status = stat()
            fstat(descriptor, &status)
            // The file that blocks the thread is identified by its length.
            if status.st_size == 4, !isHeld.value.exchange(true, ordering: .sequentiallyConsistent) { gate.wait() }
            return WriterProbe.openness(descriptor)
        }
        var names = watch.makeNames(in: directory)
        #expect(await names.next() == "first")
        try write("hold", "1234")
        try await eventually { isHeld.value.load(ordering: .sequentiallyConsistent) }
        try write("noise-a")
        for number in 0..<renameCount {
            let (from, to) = number.isMultiple(of: 2) ? ("noise-a", "noise-b") : ("noise-b", "noise-a")
            rename(directory.file(from), directory.file(to))
        }
        try write("lost")
        gate.signal()
        #expect(await names.next() == "hold")
        #expect(await names.next() == "lost")
        try write("later")
        #expect(await names.next() == "later")
    }

    private func watch(
        excluding pattern: String? = nil,
        idleSeconds: Double = 2,
        openness: @escaping @Sendable (Int32) -> WriterProbe.Openness
    ) throws -> DirectoryWatch {
        try DirectoryWatch(
            Array(directory.path.utf8),
            filter: PathFilter(excludes: try pattern.map { [try GlobPattern($0)] } ?? []),
            idleSeconds: idleSeconds,
            openness: openness
        )
    }

    /// Whether any inotify descriptor of this process watches the directory (proc(5), fdinfo).
    private func isWatched() throws -> Bool {
        var status = stat()
        stat(directory.path, &status)
        let mark = "ino:" + String(status.st_ino, radix: 16) + " "
        return try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fdinfo").contains { descriptor in
            let info = try? String(contentsOfFile: "/proc/self/fdinfo/" + descriptor, encoding: .utf8)
            return info?.split(separator: "\n").contains { $0.hasPrefix("inotify ") && $0.contains(mark) } == true
        }
    }

    private func eventually(_ condition: () throws -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while try !condition() {
            try #require(ContinuousClock.now < deadline)
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    private func watch(_ include: String? = nil) throws -> DirectoryWatch {
        let filter = PathFilter(includes: try include.map { [try GlobPattern($0)] } ?? [])
        return try DirectoryWatch(Array(directory.path.utf8), filter: filter)
    }

    private func write(_ name: String, _ content: String = "x") throws {
        try Data(content.utf8).write(to: URL(filePath: directory.file(name)))
    }

    private func append(_ name: String) throws {
        let descriptor = open(directory.file(name), O_CREAT | O_WRONLY | O_APPEND, 0o600)
        #expect(Glibc.write(descriptor, "x", 1) == 1)
        close(descriptor)
    }
}

private final class Flag: Sendable {
    let value = Atomic(false)
}

extension DirectoryWatch {
    /// The paths below a directory, as text.
    func makeNames(in directory: TemporaryDirectory) -> Names {
        Names(paths: files.makeAsyncIterator(), prefixCount: directory.path.utf8.count + 1)
    }

    struct Names {
        var paths: AsyncStream<[UInt8]>.Iterator
        var prefixCount: Int

        mutating func next() async -> String? {
            await paths.next().map { String(decoding: $0.dropFirst(prefixCount), as: UTF8.self) }
        }
    }
}
