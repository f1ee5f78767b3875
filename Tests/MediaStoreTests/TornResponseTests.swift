import Foundation
import TestSupport
import Testing

@testable import MediaStore
@testable import MediaSystem

/// A file for two uploads in a row, after a power cut in the middle: every sector is of any moment since the last
/// synchronization. What is read is one response or the other, whole, or none.
@Suite struct TornResponseTests {
    let fixture = Result { try StoreFixture() }
    private let first = "u-aaaaaaaaaaaaaaaa"
    private let second = "u-bbbbbbbbbbbbbbbb"
    private static let nextStart = "1111111111111111"

    private func append(_ bytes: [UInt8], to file: RescueFile) throws {
        try bytes.withUnsafeBytes { try file.append($0) }
    }

    private static func response(_ id: Int, _ digit: Character, padding: Int) -> [UInt8] {
        let label = String(repeating: digit, count: padding)
        let token = String(repeating: digit, count: 64)
        return Array(#"{"id":\#(id),"label":"\#(label)","delete_token":"\#(token)"}"#.utf8)
    }

    /// The content of the file after each write, from the first response on the disk to the second.
    private func history(_ old: [UInt8], _ new: [UInt8], pieces: Int) throws -> [[UInt8]] {
        let fixture = try fixture.get()
        let file = try RescueFile(for: first, in: fixture.directory)
        defer { file.release() }
        try file.begin(status: 201)
        try append(old, to: file)
        try file.synchronize()
        var states = [try fixture.bytes(file.path)]
        func note() throws { states.append(try fixture.bytes(file.path)) }
        try file.reset(for: second)
        try note()
        try file.begin(status: 201)
        try note()
        for start in stride(from: 0, to: new.count, by: max(1, new.count / pieces)) {
            try append(Array(new[start..<min(start + max(1, new.count / pieces), new.count)]), to: file)
            try note()
        }
        try file.synchronize()
        try note()
        return states
    }

    /// Every combination of the versions of every block that differs.
    private func combinations(_ history: [[UInt8]], block: Int, _ body: ([UInt8]) -> Void) -> Int {
        // Nothing was written behind this.
        let count = 5_120
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
    func noMixtureOfTwoResponsesIsRead(_ paddings: (Int, Int), _ block: Int) throws {
        let old = Self.response(1, "a", padding: paddings.0)
        let new = Self.response(2, "b", padding: paddings.1)
        let history = try history(old, new, pieces: 2)
        var found: Set<String> = []
        let total = combinations(history, block: block) { bytes in
            guard let content = RescueFile.content(of: bytes, system: Self.nextStart), content.status != nil else {
                return
            }
            let isWhole =
                content.uploadID == first ? content.body == old : content.uploadID == second && content.body == new
            #expect(isWhole)
            found.insert(content.uploadID)
        }
        // The two whole states are among them.
        #expect(found == [first, second])
        #expect(total >= history.count - 1)
    }

    /// The process was killed and the system went on: everything that was written is there.
    @Test func withoutAPowerCutEveryPrefixIsRead() throws {
        let old = Self.response(1, "a", padding: 250)
        let new = Self.response(2, "b", padding: 250)
        let history = try history(old, new, pieces: 4)
        let read = history.map { RescueFile.content(of: $0) }
        #expect(read.first??.body == old && read.last??.body == new)
        for content in read.dropFirst() {
            #expect(content?.uploadID == second)
            #expect(new.starts(with: content?.body ?? [0]))
        }
    }

    @Test func theCheckCoversUploadStatusAndBody() throws {
        let response = Self.response(1, "a", padding: 20)
        let whole = try #require(try history(response, response, pieces: 1).last)
        #expect(RescueFile.content(of: whole, system: Self.nextStart)?.body == response)
        for index in 18..<128 + response.count {
            var changed = whole
            changed[index] ^= 1
            let content = RescueFile.content(of: changed, system: Self.nextStart)
            // The digits that tell the start of the system, and the blanks of the header, decide nothing.
            guard !(84..<107).contains(index), !(123..<128).contains(index) else { continue }
            #expect(content?.status == nil, "\(index)")
        }
    }

    @Test func aResponseThatEndsWithZerosKeepsThem() throws {
        let fixture = try fixture.get()
        do {
            let file = try RescueFile(for: first, in: fixture.directory)
            try file.begin(status: 201)
            try append([0x1f, 0x8b, 7, 0, 0, 0], to: file)
            try file.synchronize()
        }
        #expect(try RescueFile.abandoned(in: fixture.directory).map(\.body) == [[0x1f, 0x8b, 7, 0, 0, 0]])
    }

    /// Laid out by hand as release 0.1.0 did.
    @Test func aFileOfRelease010IsRead() throws {
        let id = first + String(repeating: " ", count: 22)
        var header = "mediactl rescue 1\nupload \(id)\nstatus 201\n"
        header += String(repeating: " ", count: 127 - header.utf8.count) + "\n"
        let bytes = Array((header + "{\"id\":18}").utf8) + Array(repeating: 0, count: 100)
        let content = try #require(RescueFile.content(of: bytes, system: Self.nextStart))
        #expect(content.uploadID == first && content.status == 201 && content.body == Array("{\"id\":18}".utf8))
    }

    /// RFC 3720 appendix B.4, and the check value of CRC-32 in the catalogue of parametrised CRC algorithms.
    @Test func checksAreThoseOfTheStandards() {
        #expect(CyclicCheck.castagnoli.of(Array(repeating: 0, count: 32)) == 0x8a91_36aa)
        #expect(CyclicCheck.castagnoli.of(Array(repeating: 0xff, count: 32)) == 0x62a8_ab43)
        #expect(CyclicCheck.castagnoli.of(0..<32) == 0x46dd_794e)
        #expect(CyclicCheck.gzip.of("123456789".utf8) == 0xcbf4_3926)
        let part = CyclicCheck.gzip.of("1234".utf8)
        #expect(CyclicCheck.gzip.of("56789".utf8, after: part) == 0xcbf4_3926)
    }
}
