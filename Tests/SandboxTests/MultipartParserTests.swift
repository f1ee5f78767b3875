import NIOCore
import Testing

@testable import Sandbox

@Suite struct MultipartParserTests {
    /// The parsed name, file name, type and bytes of each part.
    private struct Found: Equatable {
        var header: PartHeader
        var bytes: [UInt8] = []
    }

    private func parse(_ body: [UInt8], cutAt cuts: [Int]) throws -> (parts: [Found], isComplete: Bool) {
        var parser = MultipartParser(boundary: "B")
        var parts: [Found] = []
        var start = 0
        for end in cuts + [body.count] {
            try parser.consume(ByteBuffer(bytes: body[start..<end])) { event in
                switch event {
                case .partBegan(let header): parts.append(Found(header: header))
                case .data(let data): parts[parts.count - 1].bytes += Array(data.readableBytesView)
                case .partEnded: break
                }
            }
            start = end
        }
        return (parts, parser.isComplete)
    }

    private static let body = Array(
        ("--B\r\nContent-Disposition: form-data; name=\"label\"\r\n\r\nvalue\r\n"
            + "--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a;\\\"b.mp4\"\r\n"
            + "Content-Type: Video/MP4; x=y\r\n\r\n\r\r\n--\r\n--C\r\n\r\n--B\r\n\r\nplain\r\n--B--\r\nrest").utf8
    )

    @Test func findsTheSamePartsAtEverySplitPoint() throws {
        let whole = try parse(Self.body, cutAt: [])
        #expect(whole.isComplete)
        #expect(whole.parts.map(\.header.name) == ["label", "file", ""])
        #expect(whole.parts[1].header.fileName == "a;\"b.mp4")
        #expect(whole.parts[1].header.contentType == "video/mp4")
        #expect(whole.parts.map(\.bytes) == ["value", "\r\r\n--\r\n--C\r\n", "plain"].map { Array($0.utf8) })
        for first in 0...Self.body.count {
            let split = try parse(Self.body, cutAt: [first])
            #expect(split.parts == whole.parts)
            #expect(split.isComplete)
        }
        #expect(try parse(Self.body, cutAt: Array(1..<Self.body.count)).parts == whole.parts)
    }

    @Test func aBodyWithoutItsEndIsNotComplete() throws {
        let cut = Array(Self.body.prefix(Self.body.count - 12))
        #expect(try parse(cut, cutAt: []).isComplete == false)
    }

    @Test func aDelimiterFollowedByOtherBytesIsMalformed() throws {
        #expect(throws: MultipartError.self) { try parse(Array("--Bxx".utf8), cutAt: []) }
    }
}
