import Foundation
import Glibc
import MediaStore
import MediaSystem
import MediaTransport
import TestSupport
import Testing

@testable import PhotoSync

@Suite struct TreeHashingTests {
    let directory: TemporaryDirectory
    let cache: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
        cache = try TemporaryDirectory()
    }

    private func write(_ name: String, _ content: Data) throws -> [UInt8] {
        try content.write(to: URL(fileURLWithPath: directory.file(name)))
        return Array(directory.file(name).utf8)
    }

    private func sha256(_ outcome: TreeHashing.Outcome) -> String? { try? outcome.get().sha256 }

    private func code(_ outcome: TreeHashing.Outcome) -> OutcomeCode? {
        if case .failure(let error) = outcome { error.code } else { nil }
    }

    /// Sizes around the reading buffer; digests from `sha256sum`.
    @Test(arguments: [1, 2]) func digestsAreThoseOfSha256sum(threads: Int) async throws {
        let sizes = [1, 262_143, 262_144, 262_145, 1_048_577]
        let paths = try sizes.map { try write("\($0)", Data(repeating: 0x61, count: $0)) }
        let outcomes = await TreeHashing(hashes: nil, threads: threads).digests(of: paths)
        for (size, outcome) in zip(sizes, outcomes) {
            let tool = try await ChildProcess("/usr/bin/sha256sum", [directory.file("\(size)")]).finish()
            #expect(sha256(outcome) == String(tool.output.prefix(64)))
            #expect(try outcome.get().identity.size == Int64(size))
        }
    }

    @Test func failuresKeepThePositionOfTheirFiles() async throws {
        let good = try write("good", Data("x".utf8))
        let empty = try write("empty", Data())
        mkfifo(directory.file("pipe"), 0o600)
        let paths = [
            Array(directory.file("missing").utf8), good, empty, Array(directory.path.utf8),
            Array(directory.file("pipe").utf8),
        ]
        let outcomes = await TreeHashing(hashes: nil).digests(of: paths)
        #expect(outcomes.map(code) == [.fileNotFound, nil, .emptyFile, .notRegularFile, .notRegularFile])
    }

    @Test func unchangedFilesAreNotReadAgain() async throws {
        let paths = try (0..<20).map { try write("\($0)", Data("photo \($0)".utf8)) }
        let read = Noted(0)
        // A recent change is not cached, so it is made a minute older.
        let hashing = TreeHashing(hashes: HashCache(directory: cache.file("hashes")), now: { Date() + 60 })
        let first = await hashing.digests(of: paths) { count in read.change { $0 += count } }
        #expect(read.value > 0)
        let before = read.value
        let second = await hashing.digests(of: paths) { count in read.change { $0 += count } }
        #expect(read.value == before)
        #expect(second.map(sha256) == first.map(sha256))
    }

    @Test func aStopEndsTheReading() async throws {
        let paths = try (0..<4).map { try write("\($0)", Data(count: 1 << 20)) }
        let control = TransferControl()
        let outcomes = await TreeHashing(hashes: nil, threads: 1).digests(of: paths, control: control) { _ in
            control.stop()
        }
        #expect(outcomes.map(code) == [.cancelled, .cancelled, .cancelled, .cancelled])
    }

    @Test func aFileThatChangesDuringReadingHasNoDigest() async throws {
        let path = try write("growing", Data(count: 1 << 20))
        let name = directory.file("growing")
        let outcomes = await TreeHashing(hashes: nil, threads: 1).digests(of: [path]) { _ in
            truncate(name, 2 << 20)
        }
        #expect(outcomes.map(code) == [.sourceChanged])
    }

    @Test func blocksAreInOrderAndCoverEverything() async throws {
        let paths = try (0..<10).map { try write("\($0)", Data("\($0)".utf8)) }
        var ranges: [Range<Int>] = []
        var digests: [String?] = []
        try await TreeHashing(hashes: nil).forEachBlock(of: paths, blockSize: 4) { range, outcomes in
            ranges.append(range)
            digests += outcomes.map(sha256)
        }
        #expect(ranges == [0..<4, 4..<8, 8..<10])
        #expect(digests == (await TreeHashing(hashes: nil).digests(of: paths)).map(sha256))
    }
}
