import Foundation
import MediaCore
import MediaTransport
import TestSupport
import Testing

@testable import Tapes

/// A third-party client, tested against the stand-in that validates mediactl's requests.
@Suite("conformance of the Immich stand-in")
struct ImmichClientTests {
    private struct Printed: Decodable {
        var version: Int
        var key: String
        var account: String
        var album: String
        var uploads: [[String]]
        var check: [String]
        var search: [String]
        var listed: [String]
        var count: Int
        var missing: [Value]
        var addToMissing: [Value]
        var gone: [Value]
        var adds: [Value]
        var removes: [Value]
    }

    /// A status, a text or a flag.
    private enum Value: Decodable, Equatable {
        case number(Int)
        case text(String)
        case flag(Bool)

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let flag = try? container.decode(Bool.self) {
                self = .flag(flag)
            } else if let number = try? container.decode(Int.self) {
                self = .number(number)
            } else {
                self = .text(try container.decode(String.self))
            }
        }
    }

    @Test("10: immichpy's own client creates, uploads, adds and removes, and gets the expected refusals")
    func foreignClient() async throws {
        let server = try await ImmichStandIn.start()
        let directory = try TemporaryDirectory()
        let result = try await ChildProcess.run(
            Repository.python,
            [ImmichStandIn.scripts + "/immich_client.py", server.address, "key-1", directory.path]
        )
        try #require(result.status == 0, "\(result.errors)")
        let printed = try JSONDecoder().decode(Printed.self, from: Data(result.output.utf8))
        #expect(printed.version == 3)
        #expect(printed.key == "all")
        #expect(printed.uploads.map(\.last) == ["created", "duplicate"])
        let asset = try #require(printed.uploads.first?.first)
        #expect(printed.uploads.last?.first == asset)
        #expect(printed.check == ["mine", "reject", asset])
        #expect(printed.search == [asset])
        #expect(printed.adds == [.flag(true), .text("duplicate")])
        #expect(printed.removes == [.flag(true), .text("not_found")])
        #expect(printed.listed == [printed.album])
        #expect(printed.count == 1)
        #expect(printed.missing == [.number(400), .text("Not found or no album.read access")])
        #expect(printed.addToMissing == [.number(400), .text("Not found or no albumAsset.create access")])
        #expect(printed.gone == printed.missing)
        let report = try await server.report()
        #expect(report.violations.isEmpty)
        #expect(report.assets.map(\.size) == [18])
    }

    @Test("trap 15: the models reject requests that the description does not contain")
    func refusals() async throws {
        let (bench, library) = try await ImmichBench().withLibrary()
        let bodies = [
            ("POST", "/albums", #"{"albumName":1}"#), ("POST", "/albums", #"{"albumName":"a","surprise":1}"#),
            ("PUT", "/albums/\(SampleID.album)/assets", #"{"ids":["6ba7b810-9dad-11d1-80b4-00c04fd430c8"]}"#),
            ("POST", "/assets/bulk-upload-check", #"{"assets":[{"id":"a"}]}"#),
        ]
        for (method, path, body) in bodies {
            let verb: HTTPMethod = method == "PUT" ? .put : .post
            let request = library.client.request(verb, path, body: JSONValue.object(in: Array(body.utf8)[...]))
            let error = await albumError { _ = try await library.json(request) }
            #expect(error?.kind == .rejected(status: 400))
        }
        #expect(try await bench.server.report().violations.count == bodies.count)
    }
}
