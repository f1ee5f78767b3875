import Foundation
import FuzzEntries
import Testing

/// Every seed input of the fuzzers, and every input that once caused a failure, through the code that the fuzzers
/// call.
@Suite("Corpus replay")
struct CorpusReplayTests {
    static let corpora = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Fuzz/corpus")

    @Test("no input violates an invariant", arguments: FuzzEntry.allCases)
    func replay(_ entry: FuzzEntry) throws {
        let inputs = try FileManager.default.contentsOfDirectory(
            at: Self.corpora.appending(path: entry.rawValue),
            includingPropertiesForKeys: nil
        )
        #expect(inputs.count >= 40)

        for input in inputs {
            let complaint = entry.check([UInt8](try Data(contentsOf: input)))
            #expect(complaint == nil, "\(input.lastPathComponent)")
        }
    }
}
