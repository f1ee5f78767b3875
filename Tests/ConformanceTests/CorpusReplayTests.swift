import Foundation
import FuzzEntries
import TestSupport
import Testing

/// Passes every seed input of the fuzzers, and every input that once caused a failure, to the code that the fuzzers
/// call.
@Suite("Corpus replay")
struct CorpusReplayTests {
    @Test("no input violates an invariant", arguments: FuzzEntry.allCases)
    func replay(_ entry: FuzzEntry) throws {
        let inputs = try FileManager.default.contentsOfDirectory(
            at: Repository.root.appending(path: "Fuzz/corpus/\(entry.rawValue)"),
            includingPropertiesForKeys: nil
        )
        #expect(inputs.count >= 40)

        for input in inputs {
            let complaint = entry.check([UInt8](try Data(contentsOf: input)))
            #expect(complaint == nil, "\(input.lastPathComponent)")
        }
    }
}
