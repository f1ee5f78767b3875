import Foundation
import GRDB
import TestSupport
import Testing

@testable import MediaStore

@Suite("Tokens in pages")
struct TokenPagesTests {
    let fixture: StoreFixture

    init() throws { fixture = try StoreFixture() }

    /// More than two pages; every third entry has the time of its predecessor.
    private func filled(_ count: Int = 2500) throws -> TokenStore {
        let store = try fixture.store()
        var entries: [TokenEntry] = []
        for number in 1...count {
            var entry = try #require(StoreFiles.entry(number))
            entry.createdAt = Date(timeIntervalSince1970: 1_780_000_000 + Double(number - (number % 3 == 0 ? 1 : 0)))
            entries.append(entry)
        }
        _ = try store.add(entries)
        return store
    }

    private func all(_ pages: TokenPages) throws -> [TokenEntry] {
        var pages = pages
        var entries: [TokenEntry] = []
        while let page = try pages.next() { entries += page.entries }
        return entries
    }

    @Test("pages have the same entries in the same order as a single read, in both directions")
    func order() throws {
        let store = try filled()
        let expected = try store.tokens(host: nil)
        #expect(expected.count == 2500)
        #expect(try all(TokenPages(of: store, host: nil)) == expected)
        #expect(try all(TokenPages(of: store, host: nil, order: .oldestFirst)) == expected.reversed())
        let host = "other.example:8443"
        #expect(try all(TokenPages(of: store, host: host)) == store.tokens(host: host))
        #expect(try all(TokenPages(of: store, host: "none")).isEmpty)
    }

    @Test("entries with the same time fill several pages", arguments: [TokenPages.Order.newestFirst, .oldestFirst])
    func oneMoment(order: TokenPages.Order) throws {
        let store = try fixture.store()
        let entries = try (1...2500).map { (number: Int) -> TokenEntry in
            var entry = try #require(StoreFiles.entry(number))
            entry.createdAt = Date(timeIntervalSince1970: 1_780_000_000 + (number > 2300 ? 1 : 0))
            return entry
        }
        _ = try store.add(entries)
        let numbers = entries.map(\.fileID)
        let expected = order == .oldestFirst ? numbers : Array(numbers.reversed())
        #expect(try all(TokenPages(of: store, host: nil, order: order)).map(\.fileID) == expected)
    }

    @Test("superseded entries are returned only on request")
    func superseded() throws {
        let store = try fixture.store()
        _ = try store.add(sampleEntry(digit: "a"))
        _ = try store.add(sampleEntry(digit: "b", at: 1_780_000_001))
        #expect(try all(TokenPages(of: store, host: nil)).map(\.token) == [sampleToken("b")])
        #expect(try all(TokenPages(of: store, host: nil, includesSuperseded: true)).count == 2)
    }

    @Test("a page has the details of its own files")
    func files() throws {
        let store = try filled()
        var facts = StoredFacts()
        facts.eventDate = "2026-05-01"
        let files = [1, 2400].map { (number: Int) in
            StoredFile(
                host: number % 3 == 0 ? "other.example:8443" : "gighive.app",
                fileID: Int64(number),
                checksumSHA256: String(repeating: "0", count: 61) + String(100 + number),
                facts: facts
            )
        }
        let wanted = try files.map { file in
            var file = file
            file.checksumSHA256 = try #require(StoreFiles.entry(Int(file.fileID))).checksumSHA256
            return file
        }
        _ = try store.add([], stored: wanted)
        func found(_ files: TokenPages.Files) throws -> [[Int64]] {
            var pages = TokenPages(of: store, host: nil, files: files)
            var found: [[Int64]] = []
            while let page = try pages.next() { found.append(page.files.map(\.fileID)) }
            return found
        }
        #expect(try found(.all) == [[2400], [], [1]])
        #expect(try found(.none) == [[], [], []])

        // The entry's own event does not count as another event.
        var own = wanted[0]
        own.facts.eventDate = StoreFiles.entry(1)?.eventDate
        own.facts.orgName = StoreFiles.entry(1)?.orgName
        _ = try store.add([], stored: [own])
        #expect(try found(.all) == [[2400], [], [1, 1]])
        #expect(try found(.ofOtherEvents) == [[2400], [], [1]])
    }

    @Test("an entry is found by its ID or checksum, on one host and on all, without reading the others")
    func lookUps() throws {
        let store = try filled(30)
        #expect(try store.tokens(fileID: 3, host: nil).map(\.host) == ["other.example:8443"])
        #expect(try store.tokens(fileID: 3, host: "gighive.app").isEmpty)
        let checksum = try #require(StoreFiles.entry(4)).checksumSHA256
        #expect(try store.tokens(checksumSHA256: checksum, host: nil).map(\.fileID) == [4])
        #expect(try store.newestToken(host: "gighive.app")?.fileID == 29)
        #expect(try store.newestToken(host: "other.example:8443")?.fileID == 30)
        #expect(try store.tokenCount(host: nil) == 30 && store.tokenCount(host: "gighive.app") == 20)
        #expect(try store.tokenHosts() == ["gighive.app", "other.example:8443"])
        let plan = try store.connection.read { db in
            try String.fetchAll(
                db,
                sql: "EXPLAIN QUERY PLAN SELECT * FROM uploads WHERE is_guest = 1 AND file_id = 5",
                adapter: SuffixRowAdapter(fromIndex: 3)
            )
        }
        #expect(plan.contains { $0.contains("uploads_of_guests") }, "\(plan)")
    }

    @Test("an import in pages stores all or nothing, and a dry run counts the same")
    func addPages() throws {
        struct Broken: Error {}
        let store = try fixture.store()
        let first = try (1...3).map { try #require(StoreFiles.entry($0)) }
        let pages = [first, first + [try #require(StoreFiles.entry(4))]]
        func next(_ pages: [[TokenEntry]], throwing: Bool = false) -> () throws -> [TokenEntry]? {
            var rest = pages[...]
            return {
                if rest.isEmpty, throwing { throw Broken() }
                return rest.popFirst()
            }
        }
        #expect(throws: Broken.self) { try store.addPages(next(pages, throwing: true)) }
        #expect(try store.tokenCount(host: nil) == 0)
        #expect(try store.addPages(isDryRun: true, next(pages)) == [.added: 4, .known: 3])
        #expect(try store.tokenCount(host: nil) == 0)
        #expect(try store.addPages(next(pages)) == [.added: 4, .known: 3])
        #expect(try store.tokenCount(host: nil) == 4)
    }
}
