import Foundation
import MediaStore
import TestSupport
import Testing

/// The data that leaves the machine, as passed to the kernel.
@Suite struct CaptureWireTests {
    /// `socket:` in the descriptor names of `strace -xx`.
    private static let socket = #"\x73\x6f\x63\x6b\x65\x74\x3a"#

    /// Everything that a process wrote to sockets, except for its standard streams.
    private func sent(in tracePath: String) throws -> [UInt8] {
        try SystemCallTrace(contentsOf: tracePath).calls.flatMap { call -> [UInt8] in
            let descriptor = call.text.drop { $0 != "(" }.dropFirst().prefix { $0 != "," }
            guard descriptor.contains(Self.socket), !["1<", "2<"].contains(descriptor.prefix(2)) else { return [] }
            // Data is between quotes, each byte as \x and two digits.
            let data = call.text.split(separator: "\"", omittingEmptySubsequences: false).enumerated()
                .filter { $0.offset % 2 == 1 }
            return data.flatMap { $0.element.split(separator: "\\x").compactMap { UInt8($0, radix: 16) } }
        }
    }

    /// Runs a command and returns the bytes it sent.
    private func sent(_ bench: CaptureBench, _ arguments: [String]) async throws -> [UInt8] {
        let path = bench.runner.home.file("trace")
        let wrapper = [
            "/usr/bin/strace", "-f", "-y", "-xx", "-s", "65536", "-e", "trace=sendto,sendmsg,sendmmsg,write,writev",
            "-o",
            path,
        ]
        let result = try await bench.run(arguments, through: wrapper)
        #expect(result.exitCode == 0, "\(arguments): \(result.output)\(result.errors)")
        return try sent(in: path)
    }

    /// All sequences of 16 bytes.
    private func windows(_ bytes: [UInt8]) -> Set<[UInt8]> {
        guard bytes.count >= 16 else { return [] }
        return Set((0...(bytes.count - 16)).map { Array(bytes[$0..<$0 + 16]) })
    }

    @Test(.enabled(if: SystemCallTrace.isAvailable, SystemCallTrace.requirement))
    func noPartOfTheMediaIsSent() async throws {
        let bench = try await CaptureBench.registered()
        let place = ["--location", "52.51631,13.37771"]
        let photos = try ["canary-NAME-none.jpg", "canary-NAME-coarse.jpg"].enumerated().map {
            try bench.photo($1, seed: $0, byteCount: 6000)
        }
        var wire = try await sent(bench, bench.sending(photos[0]) + place + ["--location-level", "none"])
        wire += try await sent(bench, bench.sending(photos[1]) + place + ["--location-level", "coarse"])
        wire += try await sent(bench, ["verify", photos[0]])
        let received = try await bench.sandbox.captureBodies().flatMap(\.body)
        let text = String(decoding: wire + received, as: UTF8.self)
        #expect(text.contains("POST /api/v1/captures/hash-only HTTP/1.1"), "the trace contains network calls")
        #expect(try await bench.submissions().allSatisfy { text.contains($0.assertion) })
        #expect(text.contains("Berlin"), "the location was specified")

        let left = windows(wire + received)
        #expect(left.count > 2000)
        for photo in photos {
            for path in [photo, photo + ".f32"] {
                let content = try Data(contentsOf: URL(fileURLWithPath: path))
                #expect(windows(Array(content)).isDisjoint(with: left), "bytes of \(path)")
                let hex = content.map { String(format: "%02x", $0) }.joined()
                #expect(windows(Array(hex.utf8)).isDisjoint(with: left), "digits of \(path)")
                // In base64 a byte has three possible positions in a group.
                for offset in 0..<3 {
                    let base64 = content.dropFirst(offset).base64EncodedString()
                    #expect(windows(Array(base64.utf8)).isDisjoint(with: left), "base64 of \(path)")
                }
            }
        }
        for word in ["canary", bench.runner.home.path, "52.5", "13.3", ".jpg"] {
            #expect(!text.contains(word), "\(word)")
        }
    }

    @Test(.enabled(if: SystemCallTrace.isAvailable, SystemCallTrace.requirement))
    func dryRunSendsAndStoresNothing() async throws {
        let bench = try await CaptureBench.registered()
        let photos = try (0..<2).map { try bench.photo("\($0).jpg", seed: $0) }
        try #require(try await bench.run(bench.sending(photos[0])).exitCode == 0)
        let requests = try await bench.sandbox.requests()
        let records = try bench.records()
        // Only the rows of the library are compared: SQLite keeps a counter in the file's header.
        let tree = { try Tree(bench.dataPath).files.filter { !$0.key.hasPrefix("library.sqlite") } }
        let before = try tree()
        let path = bench.runner.home.file("trace")
        for photo in photos {
            let dry = try await bench.run(
                bench.sending(photo) + ["--dry-run"],
                through: SystemCallTrace.wrapper(
                    writing: path,
                    calls: "open,openat,pwrite64,pwritev,write,rename,renameat2,unlink,connect"
                )
            )
            #expect(dry.exitCode == 0 && dry.states == ["planned"], "\(dry.output)\(dry.errors)")
            let calls = try SystemCallTrace(contentsOf: path).calls
            #expect(calls.contains { $0.name == "openat" && $0.text.contains(photo) }, "the trace contains file calls")
            for secret in ["vault.key", "capture-keys/", "capture-counters/", "/captures/"] {
                #expect(!calls.contains { $0.text.contains(secret) && $0.name != "write" }, "\(secret)")
            }
            #expect(!calls.contains { $0.name == "connect" && $0.text.contains("AF_INET") })
            let isWritten = { (place: String) in
                calls.contains { $0.name.contains("write") && $0.text.prefix { $0 != "," }.contains(place) }
            }
            #expect(!isWritten("/captures") && !isWritten("/capture-"))
        }
        #expect(try await bench.sandbox.requests() == requests)
        #expect(try tree() == before)
        #expect(try bench.records() == records)
    }

    @Test(.enabled(if: SystemCallTrace.isAvailable, SystemCallTrace.requirement))
    func everyStepIsSyncedBeforeTheNext() async throws {
        let bench = try await CaptureBench.registered()
        let path = bench.runner.home.file("trace")
        let result = try await bench.run(
            bench.sending(try bench.photo("a.jpg", seed: 1)),
            through: SystemCallTrace.wrapper(
                writing: path,
                calls: "write,pwrite64,fsync,fdatasync,sendto,rename,renameat2"
            )
        )
        #expect(result.exitCode == 0, "\(result.errors)")
        let hash = try #require(try bench.records().first?.mediaHash)
        let trace = try SystemCallTrace(contentsOf: path)
        let syncs: Set = ["fsync", "fdatasync"]
        let library = "library.sqlite-wal"
        // Columns of a row are adjacent: mode, state, hash.
        func kept(_ state: String) throws -> (written: SystemCallTrace.Call, synced: SystemCallTrace.Call) {
            let written = try #require(
                trace.first(["pwrite64"], on: library, holding: "hash_only\(state)\(hash)"),
                "\(state)"
            )
            return (written, try #require(trace.first(syncs, on: library, after: written), "\(state)"))
        }

        let blob = try #require(trace.first(["pwrite64", "write"], on: "/captures/.draft-"))
        let blobSynced = try #require(trace.first(["fsync"], on: "/captures/.draft-", after: blob))
        let pending = try kept("pending")
        #expect(blobSynced.end < pending.written.begin, "a record exists only for media on the disk")
        let named = try #require(trace.calls.last { $0.name == "renameat2" && $0.text.contains(".draft-") })
        #expect(pending.synced.end < named.begin, "media gets its name only after its record is stored")

        let post = try #require(trace.first(["sendto"], on: "socket:", holding: "POST /api/v1/captures/hash-only"))
        let counter = try #require(trace.first(["pwrite64", "write"], on: "/capture-counters/", holding: "2\\n"))
        let counterSynced = try #require(trace.first(["fsync"], on: "/capture-counters/", after: counter))
        let replaced = try #require(trace.calls.first { $0.name == "rename" && $0.text.contains("/capture-counters/") })
        let directorySynced = try #require(trace.first(["fsync"], on: "/capture-counters>", after: replaced))
        #expect(counterSynced.end < replaced.begin)
        let signed = try kept("queued")
        #expect(directorySynced.end < signed.written.begin, "a counter is used up before anything is signed with it")
        #expect(try kept("submitted").synced.end < post.begin, "nothing is sent before it is recorded")
        #expect(directorySynced.end < post.begin)

        let accepted = try kept("accepted")
        let reported = try #require(trace.first(["write"], on: "(1<", holding: #"\"state\":\"accepted\""#))
        #expect(
            post.end < accepted.written.begin && accepted.synced.end < reported.begin,
            "on the disk before it is reported"
        )
        #expect(trace.calls.allSatisfy { call in !syncs.contains(call.name) || call.text.hasSuffix("= 0") })
    }
}
