import Foundation
import MediaCore
import TestSupport
import Testing

@testable import MediaStore
@testable import MediaSystem

/// A power loss while a second upload reuses the pages of a log: each sector has any of its versions since the last
/// synchronization. A response that is read is never mixed with the other one, but may be truncated or missing.
@Suite struct TornResponseTests {
    let fixture: StoreFixture
    private let first = "u-aaaaaaaaaaaaaaaa"
    private let second = "u-bbbbbbbbbbbbbbbb"

    init() throws { fixture = try StoreFixture() }

    private func append(_ bytes: [UInt8], to record: RescueRecord) throws {
        try bytes.withUnsafeBytes { try record.append($0) }
    }

    private func responses(_ content: [UInt8]) -> [RescueFiles.Response] {
        guard case .responses(let found) = RescueFiles.content(of: content) else { return [] }
        return found
    }

    private static func response(_ id: Int, _ digit: Character, padding: Int) -> [UInt8] {
        let label = String(repeating: digit, count: padding)
        let token = String(repeating: digit, count: 64)
        return Array(#"{"id":\#(id),"label":"\#(label)","delete_token":"\#(token)"}"#.utf8)
    }

    /// The content of the file after each write, from the first response on the disk to the second.
    private func history(_ old: [UInt8], _ new: [UInt8], pieces: Int) async throws -> [[UInt8]] {
        let log = RescueLog(in: fixture.directory, isOpen: true)
        defer { log.close() }
        let record = try log.reserve(for: first)
        try record.begin(status: 201)
        try append(old, to: record)
        try await record.synchronize()
        var states = [try fixture.bytes(record.path)]
        record.release()
        let next = try log.reserve(for: second)
        defer { next.release() }
        func note() throws { states.append(try fixture.bytes(next.path)) }
        try note()
        try next.begin(status: 201)
        for start in stride(from: 0, to: new.count, by: max(1, new.count / pieces)) {
            try append(Array(new[start..<min(start + max(1, new.count / pieces), new.count)]), to: next)
            try note()
        }
        return states
    }

    /// Every combination of the versions of every block that differs.
    private func combinations(_ history: [[UInt8]], block: Int, _ body: ([UInt8]) -> Void) -> Int {
        // Nothing was written after this.
        let count = 3 * 4_096
        let states = history.map { Array($0.prefix(count)) }
        let choices = stride(from: 0, to: count, by: block).map { start -> [ArraySlice<UInt8>] in
            var versions: [ArraySlice<UInt8>] = []
            for state in states {
                let version = state[start..<min(start + block, count)]
                if !versions.contains(where: { $0.elementsEqual(version) }) { versions.append(version) }
            }
            return versions
        }
        var picks = [Int](repeating: 0, count: choices.count)
        var total = 0
        while true {
            body(zip(choices, picks).flatMap { $0[$1] })
            total += 1
            guard let next = picks.indices.first(where: { picks[$0] + 1 < choices[$0].count }) else { return total }
            picks[next] += 1
            for index in 0..<next { picks[index] = 0 }
        }
    }

    @Test(
        arguments: [(0, 0), (0, 300), (300, 0), (250, 250), (250, 251), (700, 700), (1_300, 1_250), (4_200, 900)],
        [512, 4_096]
    )
    func noMixtureOfTwoResponsesIsRead(_ paddings: (Int, Int), _ block: Int) async throws {
        let old = Self.response(1, "a", padding: paddings.0)
        let new = Self.response(2, "b", padding: paddings.1)
        let history = try await history(old, new, pieces: 2)
        var found: Set<String> = []
        let total = combinations(history, block: block) { bytes in
            for response in responses(bytes) {
                let whole = response.uploadID == first ? old : new
                #expect(response.uploadID == first || response.uploadID == second)
                #expect(whole.starts(with: response.body))
                if response.body == whole { found.insert(response.uploadID) }
            }
        }
        // The two complete states are among them.
        #expect(found == [first, second])
        #expect(total >= history.count - 1)
    }

    /// The process was killed and the system kept running: everything written is in the file.
    @Test func withoutAPowerLossEveryPrefixIsRead() async throws {
        let old = Self.response(1, "a", padding: 250)
        let new = Self.response(2, "b", padding: 250)
        let read = try await history(old, new, pieces: 4).map { responses($0) }
        #expect(read.first?.map(\.body) == [old] && read.last?.map(\.body) == [new])
        #expect(read[1].isEmpty)
        for found in read.dropFirst(2) {
            #expect(found.map(\.uploadID) == [second])
            #expect(new.starts(with: found.first?.body ?? [0]))
        }
    }

    @Test func theCheckCoversUploadStatusAndBody() async throws {
        let response = Self.response(1, "a", padding: 20)
        let whole = try #require(try await history(response, response, pieces: 1).last)
        #expect(responses(whole).map(\.body) == [response])
        for index in 4_096..<4_096 + 160 + response.count where !(4_096 + 151..<4_096 + 160).contains(index) {
            var changed = whole
            changed[index] ^= 1
            #expect(responses(changed).isEmpty, "\(index)")
        }
    }

    @Test func aResponseThatEndsWithZerosKeepsThem() throws {
        do {
            let record = try RescueLog(in: fixture.directory).reserve(for: first)
            try record.begin(status: 201)
            try append([0x1f, 0x8b, 7, 0, 0, 0], to: record)
        }
        #expect(try StoredResponse.abandoned(in: fixture.directory).map(\.body) == [[0x1f, 0x8b, 7, 0, 0, 0]])
    }

    /// A file in the format of release 0.1.0, assembled by hand.
    @Test(arguments: [("000", 0), ("201", 1)]) func aFileOf010IsRead(_ status: String, _ count: Int) {
        let id = first + String(repeating: " ", count: 22)
        var header = "mediactl rescue 1\nupload \(id)\nstatus \(status)\n"
        header += String(repeating: " ", count: 127 - header.utf8.count) + "\n"
        let found = responses(Array((header + "{\"id\":18}").utf8) + Array(repeating: 0, count: 100))
        #expect(found.count == count)
        #expect(found.allSatisfy { $0.uploadID == first && $0.status == 201 && $0.body == Array("{\"id\":18}".utf8) })
    }

    /// RFC 3720 appendix B.4, and the check value of CRC-32 in the catalog of parametrized CRC algorithms.
    @Test func checksAreThoseOfTheStandards() {
        #expect(CyclicCheck.castagnoli.of(Array(repeating: 0, count: 32)) == 0x8a91_36aa)
        #expect(CyclicCheck.castagnoli.of(Array(repeating: 0xff, count: 32)) == 0x62a8_ab43)
        #expect(CyclicCheck.castagnoli.of(0..<32) == 0x46dd_794e)
        #expect(CyclicCheck.gzip.of("123456789".utf8) == 0xcbf4_3926)
        let part = CyclicCheck.gzip.of("1234".utf8)
        #expect(CyclicCheck.gzip.of("56789".utf8, after: part) == 0xcbf4_3926)
    }
}
