import Foundation
import TestSupport
import Testing

/// The offset of the fourth dialect is a product: blocks × first PATCH (gighive-d4 contract 4.2).
@Suite struct BlockOffsetTests {
    /// A PATCH, in MiB.
    struct Send: Sendable {
        var offset: Int
        var size: Int
        var status = 204
        /// `Upload-Offset` of the response, in MiB; nil if there is none.
        var reported: Int?
    }

    struct Row: CustomTestStringConvertible, Sendable {
        var name: String
        var length: Int
        var sends: [Send]
        /// The offset that HEAD reports at the end, in MiB.
        var claimed: Int
        /// Bytes of the file at the end, in MiB.
        var stored: Int
        var state: State
        var testDescription: String { name }
    }

    enum State: Sendable {
        case complete
        case pending
        case failed
    }

    static let rows = [
        Row(
            name: "8, 8, 4 of 20",
            length: 20,
            sends: [
                Send(offset: 0, size: 8, reported: 8), Send(offset: 8, size: 8, reported: 16),
                Send(offset: 16, size: 4, reported: 20),
            ],
            claimed: 20,
            stored: 20,
            state: .complete
        ),
        Row(
            name: "8, 16 of 24",
            length: 24,
            sends: [Send(offset: 0, size: 8, reported: 8), Send(offset: 8, size: 16, reported: 24)],
            claimed: 24,
            stored: 24,
            state: .complete
        ),
        Row(
            name: "8, 8, 16, then 16 at 32 of 70",
            length: 70,
            sends: [
                Send(offset: 0, size: 8, reported: 8), Send(offset: 8, size: 8, reported: 16),
                Send(offset: 16, size: 16, reported: 32), Send(offset: 32, size: 16, status: 409, reported: 24),
            ],
            claimed: 24,
            stored: 32,
            state: .pending
        ),
        Row(
            name: "8, 8, 16, then 8s after HEAD of 70",
            length: 70,
            sends: [
                Send(offset: 0, size: 8, reported: 8), Send(offset: 8, size: 8, reported: 16),
                Send(offset: 16, size: 16, reported: 32), Send(offset: 24, size: 8, reported: 32),
                Send(offset: 32, size: 8, reported: 40), Send(offset: 40, size: 8, reported: 48),
                Send(offset: 48, size: 8, reported: 56), Send(offset: 56, size: 8, reported: 64),
                Send(offset: 64, size: 6, status: 500),
            ],
            claimed: 64,
            stored: 78,
            state: .failed
        ),
        Row(
            name: "8, 4, then at 12 of 20",
            length: 20,
            sends: [
                Send(offset: 0, size: 8, reported: 8), Send(offset: 8, size: 4, reported: 12),
                Send(offset: 12, size: 8, status: 409, reported: 16),
            ],
            claimed: 16,
            stored: 12,
            state: .pending
        ),
        Row(
            name: "8, 4, then at 16 after HEAD of 20",
            length: 20,
            sends: [
                Send(offset: 0, size: 8, reported: 8), Send(offset: 8, size: 4, reported: 12),
                Send(offset: 16, size: 4, status: 500),
            ],
            claimed: 16,
            stored: 16,
            state: .failed
        ),
        Row(
            name: "8, 4 of 16",
            length: 16,
            sends: [Send(offset: 0, size: 8, reported: 8), Send(offset: 8, size: 4, reported: 12)],
            claimed: 16,
            stored: 12,
            state: .pending
        ),
        Row(
            name: "8, 12, 409, HEAD 16, 4, HEAD 24, 8, 8 of 40",
            length: 40,
            sends: [
                Send(offset: 0, size: 8, reported: 8), Send(offset: 8, size: 12, reported: 20),
                Send(offset: 20, size: 8, status: 409, reported: 16), Send(offset: 16, size: 4, reported: 20),
                Send(offset: 24, size: 8, reported: 32), Send(offset: 32, size: 8, reported: 40),
            ],
            claimed: 40,
            stored: 40,
            state: .complete
        ),
        Row(
            name: "20 for a length of 10",
            length: 10,
            sends: [Send(offset: 0, size: 20, status: 500)],
            claimed: 0,
            stored: 20,
            state: .failed
        ),
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
        // Of "abcdefghij": the client follows HEAD and sends the fifth byte twice, and the sixth never.
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
