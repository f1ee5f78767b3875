import MediaStore
import TestSupport
import Testing

/// A network that breaks repeatedly: real TCP resets between program and server.
@Suite struct BrokenNetworkTests {
    @Test func fiftyCutsInOneUploadEndInSuccess() async throws {
        let sandbox = try await SandboxProcess.start()
        // The last one occurs after 50 MB, some of which were sent again: before the upload can have finished.
        let network = try CuttingProxy(before: sandbox.port, cuttingEvery: 1_000_000, times: 50)
        let bench = try Bench(network.address)
        let file = try bench.randomMovie(50_000_000)

        let upload = try await bench.runner.run(
            ["upload", file, "--transport", "tus", "--json"] + bench.login,
            deadline: .seconds(300)
        )

        #expect(upload.exitCode == 0, "\(upload.output)\(upload.errors)")
        #expect(network.cuts == 50)
        let checksum = try await bench.sha256(file)
        #expect(upload.items.map { $0["checksum_sha256"] as? String } == [checksum])
        #expect(upload.items.map { $0["verified"] as? Bool } == [true])
        #expect(try await sandbox.objects() == [checksum: [1]])
        #expect(try await sandbox.digestServed(checksum) == checksum)
        #expect(try bench.tokens().map(\.checksumSHA256) == [checksum])
    }
}
