import Foundation
import TestSupport
import Testing

/// A file of any size passes through the same memory (docs/benchmarks.md). The distance to `uploads list` is measured by
/// `make bench`, on the release build; here the code that an upload needs besides is left out of the account.
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
    func largeUploadNeedsNoMoreThanASmallOne(byteCount: Int, isStandardInput: Bool) async throws {
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
            try connection.answer(201, #"{"id":18,"delete_token":"\#(KnownFile.abc.token)"}"#)
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

    /// Five times the photos: a listing passes through the same memory, and so does the index.
    @Test func largeListingNeedsNoMoreThanASmallOne() async throws {
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
}
