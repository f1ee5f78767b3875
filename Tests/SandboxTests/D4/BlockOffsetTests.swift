import Foundation
import TestSupport
import Testing

/// The offset in the fourth dialect is a product: blocks × first PATCH (gighive-d4 contract 4.2).
@Suite struct BlockOffsetTests {
    /// A PATCH, in MiB.
    struct Send: Sendable {
        var offset: Int
        var size: Int
        /// `Upload-Offset` in the response, in MiB; nil if there is none.
        var reported: Int?
        var status: Int

        init(_ offset: Int, _ size: Int, _ reported: Int?, status: Int = 204) {
            (self.offset, self.size, self.reported, self.status) = (offset, size, reported, status)
        }
    }

    struct Row: CustomTestStringConvertible, Sendable {
        var length: Int
        var sends: [Send]
        /// The offset that HEAD reports at the end, in MiB.
        var claimed: Int
        /// Size of the file at the end, in MiB.
        var stored: Int
        var state: State
        var testDescription: String {
            sends.map { "\($0.size) at \($0.offset)" }.joined(separator: ", ") + " of \(length)"
        }

        init(_ length: Int, _ sends: [Send], claimed: Int, stored: Int, _ state: State) {
            (self.length, self.sends, self.claimed, self.stored, self.state) = (length, sends, claimed, stored, state)
        }
    }

    enum State: Sendable {
        case complete
        case pending
        case failed
    }

    static let rows = [
        Row(20, [Send(0, 8, 8), Send(8, 8, 16), Send(16, 4, 20)], claimed: 20, stored: 20, .complete),
        Row(24, [Send(0, 8, 8), Send(8, 16, 24)], claimed: 24, stored: 24, .complete),
        Row(
            70,
            [Send(0, 8, 8), Send(8, 8, 16), Send(16, 16, 32), Send(32, 16, 24, status: 409)],
            claimed: 24,
            stored: 32,
            .pending
        ),
        Row(
            70,
            [
                Send(0, 8, 8), Send(8, 8, 16), Send(16, 16, 32), Send(24, 8, 32), Send(32, 8, 40), Send(40, 8, 48),
                Send(48, 8, 56), Send(56, 8, 64), Send(64, 6, nil, status: 500),
            ],
            claimed: 64,
            stored: 78,
            .failed
        ),
        Row(20, [Send(0, 8, 8), Send(8, 4, 12), Send(12, 8, 16, status: 409)], claimed: 16, stored: 12, .pending),
        Row(20, [Send(0, 8, 8), Send(8, 4, 12), Send(16, 4, nil, status: 500)], claimed: 16, stored: 16, .failed),
        Row(16, [Send(0, 8, 8), Send(8, 4, 12)], claimed: 16, stored: 12, .pending),
        Row(
            40,
            [
                Send(0, 8, 8), Send(8, 12, 20), Send(20, 8, 16, status: 409), Send(16, 4, 20), Send(24, 8, 32),
                Send(32, 8, 40),
            ],
            claimed: 40,
            stored: 40,
            .complete
        ),
        Row(10, [Send(0, 20, nil, status: 500)], claimed: 0, stored: 20, .failed),
    ]

    @Test(arguments: rows)
    func countsBlocks(_ row: Row) async throws {
        let mebibyte = D4Bench.mebibyte
        let bench = try await D4Bench()
        #expect(try await bench.create(row.length * mebibyte).status == 201)
        for send in row.sends {
            let response = try await bench.patch(at: send.offset * mebibyte, send.size * mebibyte)
            #expect(response.status == send.status)
            #expect(response.headers["upload-offset"].flatMap { Int($0) } == send.reported.map { $0 * mebibyte })
            let isLast = row.state == .complete && send.reported == row.length
            #expect(response.headers["x-asset-id"] == (isLast ? "1" : nil))
        }
        #expect(try await bench.offset() == row.claimed * mebibyte)
        let response = try await bench.finalize()
        switch row.state {
        case .complete: #expect(try response.int("size_bytes") == row.stored * mebibyte)
        case .pending: #expect(try response.string("status") == "pending")
        case .failed: #expect(try response.string("message") == "Upload failed: upload_id=\(bench.id)")
        }
        if row.state != .complete {
            let path = bench.fixture.sandbox.data.file("uploads/\(bench.id)")
            #expect(try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int == row.stored * mebibyte)
        }
    }

    /// The only row without an error: the checksum in the response is the only difference.
    @Test func acceptsASplicedFile() async throws {
        let bench = try await D4Bench()
        try await bench.create(10)
        // The parts are from "abcdefghij": the client follows HEAD, sends the fifth byte twice, and never sends the
        // sixth.
        for (offset, text) in [(0, "ab"), (2, "cde"), (4, "e"), (6, "gh"), (8, "ij")] {
            let file = try bench.fixture.file(content: text)
            #expect(try await bench.patch(at: offset, text.count, file: file).status == 204)
        }
        // printf abcdeeghij | sha256sum
        let digest = "bc42428d62dbbd1a06a38d99cd6a5697559c077e580f2ffefbc9c30b80ca09b9"
        #expect(try await bench.finalize().string("checksum_sha256") == digest)
        #expect(
            try await bench.patch(at: 3, 1, file: bench.fixture.file(content: "x")).headers["upload-offset"] == "10"
        )
    }

    @Test func makesTheSecondOfTwoConcurrentPatchesWait() async throws {
        let bench = try await D4Bench()
        try await bench.create(20)
        let file = try bench.fixture.file(content: "0123456789")
        let (fixture, id) = (bench.fixture, bench.id)
        async let first = fixture.sendFile(file, to: id, at: 0)
        async let second = fixture.sendFile(file, to: id, at: 0)
        #expect(try await [first.status, second.status].sorted() == [204, 409])
        #expect(try await bench.offset() == 10)
    }
}
