import Foundation
import MediaCore
import MediaTransport
import Synchronization
import TestSupport
import Testing

@testable import Tapes

/// Other people's client against the stand-in that our requests are judged by, and the way to the server.
@Suite("conformance of the Immich stand-in")
struct ImmichClientTests {
    private struct Said: Decodable {
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

    @Test("10: immichpy's own client makes, uploads, adds and removes, and meets the refusals that we count on")
    func foreignClient() async throws {
        let server = try await ImmichStandIn.start()
        let directory = try TemporaryDirectory()
        let result = try await ChildProcess.run(
            ImmichStandIn.python,
            [ImmichStandIn.scripts + "/immich_client.py", server.address, "key-1", directory.path]
        )
        try #require(result.status == 0, "\(result.errors)")
        let said = try JSONDecoder().decode(Said.self, from: Data(result.output.utf8))
        #expect(said.version == 3)
        #expect(said.key == "all")
        #expect(said.uploads.map(\.last) == ["created", "duplicate"])
        let asset = try #require(said.uploads.first?.first)
        #expect(said.uploads.last?.first == asset)
        #expect(said.check == ["mine", "reject", asset])
        #expect(said.search == [asset])
        #expect(said.adds == [.flag(true), .text("duplicate")])
        #expect(said.removes == [.flag(true), .text("not_found")])
        #expect(said.listed == [said.album])
        #expect(said.count == 1)
        #expect(said.missing == [.number(400), .text("Not found or no album.read access")])
        #expect(said.addToMissing == [.number(400), .text("Not found or no albumAsset.create access")])
        #expect(said.gone == said.missing)
        let report = try await server.report()
        #expect(report.violations.isEmpty)
        #expect(report.assets.map(\.size) == [18])
    }

    @Test("trap 15: the models refuse what the description does not know")
    func refusals() async throws {
        let bench = try await ImmichBench()
        let library = try bench.library()
        let bodies = [
            ("POST", "/albums", #"{"albumName":1}"#), ("POST", "/albums", #"{"albumName":"a","surprise":1}"#),
            ("PUT", "/albums/\(SampleID.album)/assets", #"{"ids":["6ba7b810-9dad-11d1-80b4-00c04fd430c8"]}"#),
            ("POST", "/assets/bulk-upload-check", #"{"assets":[{"id":"a"}]}"#),
        ]
        for (method, path, body) in bodies {
            let verb: HTTPMethod = method == "PUT" ? .put : .post
            let request = library.client.request(verb, path, body: JSONValue.object(in: Array(body.utf8)[...]))
            let error = await albumError { _ = try await library.json(request, needing: .addOnly) }
            #expect(error?.kind == .rejected(status: 400))
        }
        #expect(try await bench.server.report().violations.count == bodies.count)
    }

    @Test("6.1: a host says where its server is; another host is not believed, and no key is shown")
    func discovery() async throws {
        let answers = [
            #"{"api":{"endpoint":"/immich/api"}}"#: "/immich/api", #"{"api":{"endpoint":"/api"}}"#: "/api",
            #"{"api":{"endpoint":"https://elsewhere.test/api"}}"#: "", #"{"api":{}}"#: "", "<html>": "",
        ]
        for (body, path) in answers {
            let heads = Mutex<[String]>([])
            let server = try ScriptedServer { connection, _ in
                heads.withLock { $0.append((try? connection.readRequest().head) ?? "") }
                try connection.answer(200, body)
            }
            let url = try ServerURL(server.address)
            let found = await ImmichLibrary.discover(url, http: try ImmichBench.client(), timeouts: TransferTimeouts())
            #expect("\(found)" == server.address + path)
            #expect(heads.withLock { $0 }.allSatisfy { $0.hasPrefix("GET /.well-known/immich ") })
            let named = try ServerURL(server.address + "/photos", allowingPath: true)
            let same = await ImmichLibrary.discover(named, http: try ImmichBench.client(), timeouts: TransferTimeouts())
            #expect(same == named)
            #expect(server.connectionCount == 1)
        }
    }
}
