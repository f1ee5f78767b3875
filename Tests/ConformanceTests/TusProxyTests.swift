import Foundation
import MediaCrypto
import MediaTransport
import TestSupport
import Testing
import Tus

/// tus through nginx in front of a third-party server.
@Suite("tus through nginx")
struct TusProxyTests {
    /// How nginx passes a body on: as a whole, or as it arrives.
    static let bufferings = [true, false]

    @Test("chunks shrink below the proxy's limit (413)", arguments: bufferings)
    func limitedBodies(isBuffering: Bool) async throws {
        let bench = try await TusBench()
        let proxy = try await ReverseProxy(before: bench.server.address, largestBody: "1m", isBuffering: isBuffering)
        let source = try bench.source(9_000_001)

        let (id, delivery) = try await bench.withClient(
            at: proxy.address(),
            configuration: HTTPClientConfiguration(trust: ServerTrust(caFile: proxy.authority))
        ) { tus in
            let id = try await tus.create(byteCount: Int64(source.bytes.count), metadata: TusSource.metadata).id
            return (id, try await tus.send(source.content(), to: id, options: quickOptions(chunk: 8 << 20)))
        }

        #expect(try bench.stored(id) == source.bytes)
        #expect(delivery.digest.hex == (try await source.sha256()))
        // 8, 4 and 2 MiB are rejected; 1 MiB is accepted by nginx.
        #expect(delivery.retriedFailures == 3)
        // nginx rejects a body based on its announced length; at most the three rejected bodies are sent in addition.
        #expect(delivery.bytesSent <= Int64(source.bytes.count + (8 + 4 + 2) << 20))
    }

    @Test("an interruption in front of a proxy loses at most a chunk, and corrupts nothing", arguments: bufferings)
    func cutConnections(isBuffering: Bool) async throws {
        let bench = try await TusBench()
        let proxy = try await ReverseProxy(before: bench.server.address, isBuffering: isBuffering)
        let network = try CuttingProxy(before: proxy.port, cuttingEvery: 3_000_000, times: 3)
        let source = try bench.source(10_000_000)

        let (id, delivery) = try await bench.withClient(
            at: "https://localhost:\(network.port)",
            configuration: HTTPClientConfiguration(trust: ServerTrust(caFile: proxy.authority))
        ) { tus in
            let id = try await tus.create(byteCount: Int64(source.bytes.count), metadata: TusSource.metadata).id
            return (id, try await tus.send(source.content(), to: id, options: quickOptions(chunk: 1 << 20)))
        }

        #expect(network.cuts == 3)
        #expect(try bench.stored(id) == source.bytes)
        #expect(delivery.digest.hex == (try await source.sha256()))
        #expect(delivery.bytesSent <= Int64(source.bytes.count + 3 << 20))
    }

    @Test("uploads work over HTTP/2 as well")
    func http2() async throws {
        let bench = try await TusBench()
        let proxy = try await ReverseProxy(before: bench.server.address)
        let source = try bench.source(3_000_000)

        let id = try await bench.withClient(
            at: proxy.address(),
            configuration: HTTPClientConfiguration(trust: ServerTrust(caFile: proxy.authority), http2: true)
        ) { tus in
            let id = try await tus.create(byteCount: Int64(source.bytes.count), metadata: TusSource.metadata).id
            _ = try await tus.send(source.content(), to: id, options: quickOptions(chunk: 1 << 20))
            return id
        }

        #expect(try bench.stored(id) == source.bytes)
    }
}
