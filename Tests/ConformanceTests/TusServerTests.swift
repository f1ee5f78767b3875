import Foundation
import MediaCrypto
import MediaTransport
import TestSupport
import Testing

@testable import Tus

/// Our tus client against a third-party server (tuspyserver, tus 1.0.0), directly and behind nginx.
@Suite("tus conformance")
struct TusServerTests {
    static let chunk = 1 << 20

    @Test("the server's features are parsed")
    func features() async throws {
        let bench = try await TusBench()

        let features = try await bench.withClient { try await $0.features() }

        // Listed in tuspyserver's router.py.
        #expect(
            features.extensions == [
                .creation, .creationDeferLength, .creationWithUpload, .expiration, .termination, .concatenation,
            ]
        )
        #expect(features.versions == ["1.0.0"])
        #expect(features.maximumBytes == Int64(TusBench.largestUpload))
        #expect(features.checksumAlgorithms.isEmpty)
    }

    @Test("an upload arrives byte for byte, in chunks", arguments: [1, chunk, 5 * chunk + 17])
    func sending(byteCount: Int) async throws {
        let bench = try await TusBench()
        let source = try bench.source(byteCount)

        let (created, delivery) = try await bench.withClient { tus in
            let created = try await tus.create(byteCount: Int64(byteCount), metadata: TusSource.metadata)
            return (
                created, try await tus.send(source.content(), to: created.id, options: quickOptions(chunk: Self.chunk))
            )
        }

        #expect(try bench.stored(created.id) == source.bytes)
        #expect(delivery.digest.hex == (try await source.sha256()))
        #expect(delivery.bytesSent == Int64(byteCount))
        #expect(delivery.retriedFailures == 0)
        // The end of each chunk has a proof, and the last proof covers the whole content.
        #expect(
            source.proofs.map(\.offset) == stride(from: Self.chunk, to: byteCount, by: Self.chunk).map(Int64.init)
                + [Int64(byteCount)]
        )
        #expect(source.proofs.last?.digest == delivery.digest)
        // `days_to_keep` is 5 in tuspyserver.
        let lifetime = try #require(created.expiresAt).timeIntervalSinceNow
        #expect((4.9...5.1).contains(lifetime / 86_400))
    }

    @Test("after interruptions, an upload resumes with the part of a chunk that the server has kept")
    func cutConnections() async throws {
        let bench = try await TusBench()
        let source = try bench.source(12 << 20)
        let network = try CuttingProxy(before: bench.server.port, cuttingEvery: 1_500_000, times: 6)

        let (id, delivery) = try await bench.withClient(at: network.address) { tus in
            let id = try await tus.create(byteCount: Int64(source.bytes.count), metadata: TusSource.metadata).id
            return (id, try await tus.send(source.content(), to: id, options: quickOptions(chunk: Self.chunk)))
        }

        #expect(network.cuts == 6)
        #expect(try bench.stored(id) == source.bytes)
        #expect(delivery.digest.hex == (try await source.sha256()))
        #expect(delivery.retriedFailures >= 6)
        #expect(delivery.bytesSent <= Int64(source.bytes.count + 6 * Self.chunk))
    }

    @Test("another process resumes where the first stopped")
    func resuming() async throws {
        let bench = try await TusBench()
        let source = try bench.source(4 << 20)
        let id = try await Self.sendTwoChunks(bench, source)

        let delivery = try await bench.withClient { tus in
            #expect(
                try await tus.status(of: id)
                    == TusStatus(
                        offset: Int64(2 * Self.chunk),
                        byteCount: Int64(source.bytes.count),
                        expiresAt: nil
                    )
            )
            return try await tus.send(source.content(), to: id, options: quickOptions(chunk: Self.chunk))
        }

        #expect(delivery.resumedAt == Int64(2 * Self.chunk))
        #expect(delivery.bytesSent == Int64(2 * Self.chunk))
        #expect(delivery.digest.hex == (try await source.sha256()))
        #expect(try bench.stored(id) == source.bytes)
    }

    @Test("a file that changed before the server's offset is never spliced", arguments: [0, 2 * chunk - 1])
    func changedPrefix(at offset: Int) async throws {
        let bench = try await TusBench()
        let source = try bench.source(4 << 20)
        let id = try await Self.sendTwoChunks(bench, source)
        try source.flipByte(at: offset)

        let error = await #expect(throws: TusError.self) {
            try await bench.withClient { tus in
                _ = try await tus.send(source.content(), to: id, options: quickOptions(chunk: Self.chunk))
            }
        }

        #expect(error?.kind == .prefixChanged)
        #expect(error?.bytesSent == 0)
        #expect(try bench.stored(id) == source.bytes.prefix(2 * Self.chunk))
    }

    @Test("after a wrong offset (409), the server is queried for the right one")
    func wrongOffset() async throws {
        let bench = try await TusBench()
        let source = try bench.source(4 << 20)
        let id = try await Self.sendTwoChunks(bench, source)

        // `isNew` claims that the server has nothing, which is wrong here: the offset starts at 0.
        let end = await Task {
            try await bench.withClient { tus in
                try await tus.send(source.content(), to: id, options: quickOptions(chunk: Self.chunk, isNew: true))
            }
        }.result

        // The server has more bytes than this run has sent, so their origin is unknown.
        #expect(throws: TusError.self) { try end.get() }
        #expect(try bench.stored(id) == source.bytes.prefix(2 * Self.chunk))
    }

    @Test("a discarded upload is deleted, and discarding it again is not an error")
    func termination() async throws {
        let bench = try await TusBench()
        let source = try bench.source(4 << 20)
        let id = try await Self.sendTwoChunks(bench, source)

        try await bench.withClient { tus in
            try await tus.terminate(id)
            try await tus.terminate(id)
            let error = await #expect(throws: TusError.self) { try await tus.status(of: id) }
            #expect(error?.kind == .gone)
        }

        #expect(throws: (any Error).self) { try bench.stored(id) }
    }

    @Test("parts sent in parallel are joined in order")
    func concatenation() async throws {
        let bench = try await TusBench()
        let source = try bench.source(7_000_001)
        let ranges = [0..<2_333_333, 2_333_333..<4_666_666, 4_666_666..<7_000_001]

        let id = try await bench.withClient { tus in
            let ids = try await withThrowingTaskGroup { group in
                for (number, range) in ranges.enumerated() {
                    group.addTask {
                        let part = try await tus.create(
                            byteCount: Int64(range.count),
                            metadata: TusSource.metadata,
                            isPartial: true
                        )
                        _ = try await tus.send(
                            source.content(range),
                            to: part.id,
                            options: quickOptions(chunk: Self.chunk, isNew: true)
                        )
                        return (number, part.id)
                    }
                }
                return try await group.reduce(into: [Int: String]()) { $0[$1.0] = $1.1 }
            }
            return try await tus.concatenate(ids.sorted { $0.key < $1.key }.map(\.value), metadata: TusSource.metadata)
                .id
        }

        #expect(try bench.stored(id) == source.bytes)
    }

    @Test("an upload larger than the server accepts is refused")
    func tooLarge() async throws {
        let bench = try await TusBench()
        let source = try bench.source(1 << 20)

        let error = await #expect(throws: TusError.self) {
            try await bench.withClient { tus in
                let id = try await tus.create(byteCount: 1 << 40, metadata: TusSource.metadata).id
                var content = source.content()
                content.byteCount = 1 << 40
                _ = try await tus.send(content, to: id, options: quickOptions(chunk: Self.chunk))
            }
        }

        #expect(error != nil)
    }

    /// The first two chunks of a source, sent by a client that is then stopped.
    private static func sendTwoChunks(_ bench: TusBench, _ source: TusSource) async throws -> String {
        try await bench.withClient { tus in
            let id = try await tus.create(byteCount: Int64(source.bytes.count), metadata: TusSource.metadata).id
            let control = TransferControl()
            let error = await #expect(throws: TusError.self) {
                try await tus.send(
                    source.content(),
                    to: id,
                    options: quickOptions(chunk: chunk, isNew: true),
                    control: control
                ) { event in
                    if case .acknowledged(let offset) = event, offset == Int64(2 * chunk) { control.stop() }
                }
            }
            #expect(error?.kind == .cancelled)
            return id
        }
    }
}
