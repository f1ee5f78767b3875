import Foundation
import MediaCrypto
import TestSupport
import Testing

/// Google's library decrypts what we encrypt, and vice versa.
@Suite struct TinkTests {
    @Test func bothDecryptEachOthersOutput() async throws {
        let directory = try TemporaryDirectory()
        let sizes = StreamingAEADTests.sizes + [SealedBytes.first + 2 * SealedBytes.other, 5_000_000]
        var jobs: [String] = []
        var responses: [String] = []
        for size in sizes {
            let plaintext = Array(SealedBytes.sample[..<size])
            let sealed = try SealedBytes.seal(plaintext, chunk: 100_003)
            try write(plaintext, directory.file("\(size).plain"))
            try write(sealed, directory.file("\(size).ours"))
            try write(sealed.dropLast() + [(sealed.last ?? 0) ^ 1], directory.file("\(size).damaged"))
            for (job, response, source, target) in [
                ("seal", "sealed", "plain", "theirs"), ("open", "opened", "ours", "opened"),
                ("open", "refused", "damaged", "nothing"),
            ] {
                jobs.append("\(job) \(directory.file("\(size).\(source)")) \(directory.file("\(size).\(target)"))\n")
                responses.append(response)
            }
        }
        #expect(try await run(jobs, in: directory) == responses)
        for size in sizes {
            let plaintext = Array(SealedBytes.sample[..<size])
            #expect(areEqual(try read(directory.file("\(size).opened")), plaintext) == true)
            let opened = SealedBytes.open(try read(directory.file("\(size).theirs")), chunk: 100_003)
            #expect(opened.error == nil)
            #expect(areEqual(opened.plaintext, plaintext) == true)
        }
    }

    private func run(_ jobs: [String], in directory: TemporaryDirectory) async throws -> [String] {
        try write(Array(jobs.joined().utf8), directory.file("jobs"))
        let key = try #require(SealedBytes.key).withBytes { $0 }
        let python = try ChildProcess(
            Repository.python,
            [
                Repository.path("Tests/MediaCryptoTests/scripts/tink_stream.py"), hex(key),
                hex(SealedBytes.associatedData),
            ],
            streams: .separate(input: .file(directory.file("jobs")))
        )
        let result = try await python.finish()
        #expect(result.errors.contains("Traceback") == false, "\(result.errors)")
        return result.lines
    }

    private func hex(_ bytes: [UInt8]) -> String { bytes.map { String(format: "%02x", $0) }.joined() }

    private func write(_ bytes: [UInt8], _ path: String) throws { try Data(bytes).write(to: URL(filePath: path)) }

    private func read(_ path: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(filePath: path))) }
}
