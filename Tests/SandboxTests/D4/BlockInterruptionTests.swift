import Foundation
import TestSupport
import Testing

/// Interrupted PATCH requests in the fourth dialect (gighive-d4 contract 4.3).
@Suite struct BlockInterruptionTests {
    struct Row: CustomTestStringConvertible, Sendable {
        /// The length of the PATCH, in bytes.
        var length: Int
        /// Bytes sent before the interruption.
        var sent: Int
        var ending: D4Bench.Ending
        /// The offset that HEAD reports afterwards.
        var claimed: Int
        var testDescription: String { "\(sent) of \(length), \(ending)" }
    }

    private static let mebibyte = D4Bench.mebibyte

    static let rows: [Row] = [held, atTheLimit, torn].flatMap { $0 }

    private static let held: [Row] = [(8, 1), (8, 7), (20, 19)].flatMap { length, sent in
        D4Bench.Ending.allCases.map { ending in
            Row(length: length * mebibyte, sent: sent * mebibyte, ending: ending, claimed: 0)
        }
    }

    /// The firewall buffers 20,971,520 bytes, and not one more.
    private static let atTheLimit = [
        Row(length: 20_971_520, sent: 20_971_519, ending: .fin, claimed: 0),
        Row(length: 20_971_522, sent: 20_971_521, ending: .fin, claimed: 20_971_521),
    ]

    private static let torn: [Row] = [(32, 21), (24, 22), (32, 25), (64, 40)].flatMap { length, sent in
        [D4Bench.Ending.fin, .rst].map { ending in
            Row(length: length * mebibyte, sent: sent * mebibyte, ending: ending, claimed: sent * mebibyte)
        }
    }

    @Test(arguments: rows)
    func keepsAllOrNothing(_ row: Row) async throws {
        let bench = try await D4Bench(arguments: ["--body-timeout", "1"])
        try await bench.create(100 * Self.mebibyte)
        let response = try await bench.interrupt(at: 0, length: row.length, after: row.sent, row.ending)
        switch row.ending {
        case .fin, .rst: #expect(response.isEmpty)
        case .halfClose: #expect(response.hasPrefix("HTTP/1.1 400 "))
        case .stall: #expect(response.hasPrefix("HTTP/1.1 408 "))
        }
        #expect(try await bench.offset() == row.claimed)
        // The stored part is a whole block: the next one starts after it.
        #expect(try await bench.patch(at: row.claimed, 10).headers["upload-offset"] == String(row.claimed + 10))
        #expect(try await bench.offset() == (row.claimed == 0 ? 10 : 2 * row.claimed))
    }

    @Test func leavesAHoleAfterAnIncompleteLaterBlock() async throws {
        let bench = try await D4Bench()
        try await bench.create(100 * Self.mebibyte)
        #expect(try await bench.patch(at: 0, 32 * Self.mebibyte).status == 204)
        try await bench.interrupt(at: 32 * Self.mebibyte, length: 32 * Self.mebibyte, after: 21 * Self.mebibyte, .fin)
        #expect(try await bench.offset() == 64 * Self.mebibyte)
        let path = bench.fixture.sandbox.data.file("uploads/\(bench.id)")
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int == 53 * Self.mebibyte)
    }

    @Test func interruptsByAFault() async throws {
        let bench = try await D4Bench(faults: ["tus-patch:reset,after=22020096,times=1"])
        try await bench.create(100 * Self.mebibyte)
        #expect(try await bench.patch(at: 0, 32 * Self.mebibyte).status == 0)
        try await bench.fixture.sandbox.waitForRequests { $0.last?.isOver ?? false }
        #expect(try await bench.offset() == 22_020_096)
    }
}
