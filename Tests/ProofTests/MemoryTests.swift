import Foundation
import MediaStore
import TestSupport
import Testing

/// Files of all sizes use the same amount of memory (docs/benchmarks.md). The difference from `uploads list` is
/// measured by `make bench`, on the release build; here the additional code of an upload is not counted.
@Suite(.measuresMemory) struct MemoryTests {
    private func peakKibibytes(_ bench: Bench, _ arguments: [String], input: String) async throws -> Int {
        let result = try await bench.runner.run(
            arguments,
            streams: .separate(input: .file(input)),
            through: PeakMemory.wrapper
        )
        #expect(result.exitCode == 0, "\(result.errors)")
        return try PeakMemory.kibibytes(result)
    }

    @Test(arguments: [(1 << 30, false), (256 << 20, true)])
    func largeUploadUsesNoMoreMemoryThanASmallOne(byteCount: Int, isStandardInput: Bool) async throws {
        let server = try ScriptedServer { connection, _ in
            let head = try connection.readHead()
            try connection.write("HTTP/1.1 100 Continue\r\n\r\n")
            var buffer = [UInt8](repeating: 0, count: 1 << 20)
            var rest = ScriptedServer.Connection.contentLength(of: head)
            while rest > 0 {
                let count = recv(connection.descriptor, &buffer, buffer.count, 0)
                guard count > 0 else { return }
                rest -= count
            }
            try connection.respond(201, #"{"id":18,"delete_token":"\#(KnownFile.abc.token)"}"#)
        }
        let bench = try Bench(server.address)
        let file = try bench.file()
        let source = isStandardInput ? ["-", "--stdin-name", "piped.mp4"] : [file]
        let command = ["upload", "-q", "--force"] + source + bench.login
        #expect(truncate(file, 1 << 20) == 0)
        let small = try await peakKibibytes(bench, command, input: file)
        #expect(truncate(file, off_t(byteCount)) == 0)
        let large = try await peakKibibytes(bench, command, input: file)
        #expect(large - small <= 10 << 10, "\(large) KiB after \(small) KiB")
        #expect(small > 4 << 10, "the program was measured, not its wrapper")
    }

    /// Forty times as many files: the memory of an upload is freed when its result is printed.
    @Test func manySmallFilesUseNoMoreMemoryThanAFew() async throws {
        let sandbox = try await SandboxProcess.start()
        func peak(_ count: Int) async throws -> Int {
            let bench = try Bench(sandbox.baseURL)
            let directory = bench.runner.home.file("movies")
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
            for number in 0..<count { _ = try bench.movie(200, seed: count + number, name: "movies/\(number).mp4") }
            let result = try await bench.runner.run(
                ["upload", directory, "--recursive", "-j", "8", "-q"] + bench.login,
                through: PeakMemory.wrapper
            )
            #expect(result.exitCode == 0, "\(result.errors)")
            return try PeakMemory.kibibytes(result)
        }
        let few = try await peak(50)
        let many = try await peak(2000)
        // A list of 2,000 files itself needs 2 MiB.
        #expect(many - few <= 16 << 10, "\(many) KiB after \(few) KiB")
        #expect(few > 4 << 10, "the program was measured, not its wrapper")
    }

    /// Five times as many photos: a listing uses the same memory, and so does the index.
    @Test func largeListingUsesNoMoreMemoryThanASmallOne() async throws {
        let sandbox = try await SandboxProcess.start()
        func peak(_ photos: Int) async throws -> Int {
            try await sandbox.addPhotos(#"{"count":\#(photos)}"#)
            let bench = try await PhotoBench.loggedIn(to: sandbox)
            let result = try await bench.runner.run(["sync", "-q"], through: PeakMemory.wrapper)
            #expect(result.exitCode == 0, "\(result.errors)")
            return try PeakMemory.kibibytes(result)
        }
        let small = try await peak(10_000)
        let large = try await peak(40_000)
        #expect(large - small <= 15 << 10, "\(large) KiB after \(small) KiB")
        #expect(small > 4 << 10, "the program was measured, not its wrapper")
    }

    /// Ten times as many delete tokens use the same memory, in every command that reads all of them or one.
    @Test func manyTokensUseNoMoreMemoryThanAFew() async throws {
        let commands = [
            ["list"], ["list", "--json"], ["export", "--output", "EXPORT"], ["show", "18"],
            ["delete", "18", "--dry-run", "--server", "media.example"], ["clear", "--all", "--yes"],
            ["import", "EXPORT"],
        ]
        func peaks(_ count: Int) async throws -> [Int] {
            let bench = try Bench("https://media.example")
            do {
                let store = try TokenStore(in: DataDirectory.open(bench.dataPath))
                var next = 0
                _ = try store.addPages {
                    guard next < count else { return nil }
                    defer { next += 1000 }
                    return (next..<next + 1000).compactMap(Self.entry)
                }
            }
            let file = bench.runner.home.file("tokens.jsonl")
            var peaks: [Int] = []
            for command in commands {
                let words = command.map { $0 == "EXPORT" ? file : $0 }
                let result = try await bench.runner.run(["uploads"] + words, through: PeakMemory.wrapper)
                #expect(result.exitCode == 0, "\(result.errors)")
                peaks.append(try PeakMemory.kibibytes(result))
            }
            return peaks
        }
        let small = try await peaks(4000)
        let large = try await peaks(40_000)
        for (index, command) in commands.enumerated() {
            let (few, many) = (small[index], large[index])
            #expect(many - few <= 12 << 10, "\(command): \(many) KiB after \(few) KiB")
        }
    }

    private static func entry(_ number: Int) -> TokenEntry? {
        let digits = String(number, radix: 16)
        let hex = String(repeating: "0", count: 64 - digits.count) + digits
        return DeleteToken(hex).map { token in
            TokenEntry(
                host: "media.example",
                fileID: Int64(number + 1),
                token: token,
                createdAt: Date(timeIntervalSince1970: 1_780_000_000 + Double(number)),
                eventDate: "2026-05-01",
                orgName: "The Larks",
                eventType: "band",
                label: "Song \(number)",
                fileName: "clip.mp4",
                fileType: "video",
                checksumSHA256: hex,
                sizeBytes: 1,
                baseURL: "https://media.example"
            )
        }
    }
}
