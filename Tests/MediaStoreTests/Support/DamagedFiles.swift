import Foundation
import MediaSystem
import TestSupport

@testable import MediaStore

/// The files of a token store, in memory, for damaging them.
struct StoreFiles: Sendable {
    var database: [UInt8]
    var log: [UInt8]?

    static let tokenCount = 60

    /// The byte patterns that identify a row.
    static func token(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return "ab" + String(repeating: "0", count: 60 - digits.count) + digits + "cd"
    }

    static func entry(_ number: Int) -> TokenEntry? {
        DeleteToken(token(number)).map { token in
            TokenEntry(
                host: number % 3 == 0 ? "other.example:8443" : "gighive.app",
                fileID: Int64(number),
                token: token,
                createdAt: Date(timeIntervalSince1970: 1_780_000_000 + Double(number)),
                eventDate: "2026-05-01",
                orgName: "Ørg",
                eventType: "wedding",
                label: number % 4 == 0 ? nil : "Label \(number)",
                fileName: "clip-\(number).mp4",
                fileType: "video",
                checksumSHA256: String(repeating: "0", count: 61) + String(100 + number),
                sizeBytes: 6_442_450_944,
                baseURL: number % 3 == 0 ? "https://other.example:8443" : "https://gighive.app"
            )
        }
    }

    /// Every table has rows. With a log, the second half of the tokens exists only there, one transaction each.
    static func make(withLog: Bool, tokenCount: Int = Self.tokenCount) throws -> StoreFiles {
        let fixture = try StoreFixture()
        do {
            let store = try fixture.store()
            for number in 1...40 {
                var record = sampleRecord("u-\(String(repeating: "a", count: 14))\(10 + number)")
                record.state = number % 5 == 0 ? .sent : .done
                record.fileID = Int64(number)
                try store.insert(record)
            }
            for number in 1...(withLog ? tokenCount / 2 : tokenCount) { _ = try entry(number).map(store.add) }
            let buried = try sampleEntry(fileID: 9999)
            _ = try store.add(buried)
            try store.remove(buried)
            var facts = StoredFacts()
            facts.eventDate = "2026-05-01"
            facts.orgName = "Ørg"
            let file = StoredFile(host: "gighive.app", fileID: 1, checksumSHA256: "", facts: facts)
            _ = try store.add([], stored: [file])
        }
        guard withLog else { return StoreFiles(database: try fixture.bytes(fixture.databasePath)) }
        let store = try fixture.store()
        for number in tokenCount / 2 + 1...tokenCount { _ = try entry(number).map(store.add) }
        return StoreFiles(
            database: try fixture.bytes(fixture.databasePath),
            log: try fixture.bytes(fixture.databasePath + "-wal")
        )
    }

    func write(to fixture: StoreFixture) throws {
        try fixture.write(database, to: fixture.databasePath)
        if let log { try fixture.write(log, to: fixture.databasePath + "-wal") }
    }

    /// Overwrites every page that has a row with a token; the indexes contain no tokens.
    mutating func destroyTokens(_ count: Int = Self.tokenCount) {
        for position in (1...count).compactMap({ database.offset(of: Array(Self.token($0).utf8)) }) {
            let page = position / 4096 * 4096
            database.replaceSubrange(page..<page + 4096, with: repeatElement(0, count: 4096))
        }
    }

    /// The tokens whose rows are not affected by the damage: their bytes, and some bytes around them for the row's
    /// header, are unchanged and in place.
    func survivors(of damaged: StoreFiles) -> Set<String> {
        Set(
            (1...Self.tokenCount).map(Self.token).filter { token in
                Self.isWhole(token, database, damaged.database) || Self.isWhole(token, log ?? [], damaged.log ?? [])
            }
        )
    }

    private static func isWhole(_ token: String, _ before: [UInt8], _ after: [UInt8]) -> Bool {
        let needle = Array(token.utf8)
        var start = 0
        while let position = before.offset(of: needle, from: start) {
            let row = max(position - 80, 0)..<position + needle.count + 220
            if row.upperBound <= after.count, Array(before[row]) == Array(after[row]) { return true }
            start = position + needle.count
        }
        return false
    }
}

/// One kind of damage.
struct StoreDamage: Sendable, CustomStringConvertible {
    let description: String
    var hasLog = false
    let apply: @Sendable (inout StoreFiles) -> Void

    static let all: [StoreDamage] = headers + truncations + zeroedPages + overwrittenPages + flips + logs

    private static var headers: [StoreDamage] {
        (0..<100).map { offset in
            StoreDamage(description: "header byte \(offset) inverted") { $0.database[offset] ^= 0xFF }
        }
    }

    private static var truncations: [StoreDamage] {
        let sizes = [0, 1, 16, 99, 100, 101, 512, 4095, 4097] + (1...24).map { $0 * 4096 } + [6000, 20_000, 50_001]
        return sizes.map { size in
            StoreDamage(description: "cut to \(size) bytes") { $0.database = Array($0.database.prefix(size)) }
        }
    }

    private static func page(_ number: Int, of bytes: [UInt8]) -> Range<Int> {
        let count = bytes.count / 4096
        let start = (number % max(count, 1)) * 4096
        return start..<start + 4096
    }

    private static var zeroedPages: [StoreDamage] {
        (0..<24).map { number in
            StoreDamage(description: "page \(number + 1) zeroed") { files in
                for index in page(number, of: files.database) { files.database[index] = 0 }
            }
        }
    }

    private static var overwrittenPages: [StoreDamage] {
        (0..<24).map { number in
            StoreDamage(description: "beginning of page \(number + 1) overwritten") { files in
                for index in page(number, of: files.database).prefix(64) { files.database[index] = 0xA5 }
            }
        }
    }

    /// Flipped bits at offsets chosen by a fixed sequence (Knuth's multiplicative hash).
    private static var flips: [StoreDamage] {
        (1...60).map { number in
            StoreDamage(description: "bit \(number) of a sequence flipped") { files in
                let offset = Int(UInt32(truncatingIfNeeded: number) &* 2_654_435_761) % files.database.count
                files.database[offset] ^= 1 << UInt8(number % 8)
            }
        }
    }

    private static var logs: [StoreDamage] {
        let flipped = [0, 3, 4, 8, 12, 16, 20, 24, 31, 32, 36, 40, 48, 60, 4200, 9000, 40_000, 100_000, 150_000]
        let cut = [1, 31, 32, 33, 4151, 4152]
        let wholeTransactions = [1, 3, 10]
        return flipped.map { offset in
            StoreDamage(description: "byte \(offset) of the log inverted", hasLog: true) { files in
                let last = (files.log?.count ?? 1) - 1
                files.log?[min(offset, last)] ^= 0xFF
            }
        }
            + cut.map { size in
                StoreDamage(description: "log cut to \(size) bytes", hasLog: true) { files in
                    files.log = files.log.map { Array($0.prefix(size)) }
                }
            }
            + wholeTransactions.map { count in
                StoreDamage(description: "log truncated after transaction \(count)", hasLog: true) { files in
                    files.log = files.log.map { Array($0.prefix(commitEnds($0)[count - 1])) }
                }
            }
            + [
                StoreDamage(description: "last byte of the log inverted", hasLog: true) { files in
                    let last = (files.log?.count ?? 1) - 1
                    files.log?[last] ^= 0xFF
                },
                StoreDamage(description: "database empty beside its log", hasLog: true) { $0.database = [] },
                StoreDamage(description: "database truncated to one page beside its log", hasLog: true) {
                    $0.database = Array($0.database.prefix(4096))
                },
                StoreDamage(description: "header zeroed beside a log", hasLog: true) { files in
                    for index in 0..<100 { files.database[index] = 0 }
                },
            ]
    }

    /// Where the transactions of a log end: the second word of the header of their last frame is not 0
    /// (sqlite.org/fileformat2.html, section 4.1).
    private static func commitEnds(_ log: [UInt8]) -> [Int] {
        stride(from: 32, to: log.count - 4119, by: 4120).filter { frame in
            log[frame + 4..<frame + 8].contains { $0 != 0 }
        }.map { $0 + 4120 }
    }
}
