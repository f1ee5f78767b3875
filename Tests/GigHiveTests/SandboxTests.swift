import MediaStore
import TestSupport
import Testing

@testable import GigHive

/// The client against the sandbox: two independent implementations of the same contract.
@Suite struct SandboxTests {
    @Test(arguments: ["d1", "d2", "d3"]) func anUploadIsDeletedInEveryDialect(_ dialect: String) async throws {
        let bench = try await SandboxProcess.start(dialect: dialect).bench()
        let upload = try await bench.upload()
        #expect(upload.state == .done)
        #expect(upload.isVerified == true)
        #expect(upload.hasDeleteToken)
        #expect(upload.warnings.isEmpty)
        #expect(upload.checksumSHA256 == abcChecksum)
        #expect(upload.mediaURL == "\(bench.sandbox.baseURL)/video/\(abcChecksum).mp4")
        let fileID = try #require(upload.fileID)
        #expect(try await bench.client.asset(fileID)?.checksumSHA256 == abcChecksum)
        #expect(try await bench.client.listing().entries.map(\.fileID) == [fileID])

        let deleted = await bench.deleter.delete(try await bench.deleter.entry(for: fileID))
        #expect(deleted.state == .deleted)
        #expect(try await bench.client.asset(fileID) == nil)
        #expect(try bench.store.tokens(host: nil).isEmpty)
    }

    @Test(arguments: ["d1", "d2", "d3"], ["2026-03-01", "2026-03-02"])
    func theSameBytesAreADeletableDuplicateInEveryDialect(_ dialect: String, _ date: String) async throws {
        let bench = try await SandboxProcess.start(dialect: dialect).bench()
        let first = try await bench.upload()
        let second = try await bench.upload(name: "copy.mp4", date: date)
        let isSameEvent = date == "2026-03-01"
        #expect(second.state == (isSameEvent ? .duplicate : dialect == "d2" ? .refusedDuplicate : .linked))
        #expect(second.fileID == first.fileID)
        #expect(second.hasDeleteToken)
    }

    @Test(arguments: ["d1", "d3"]) func bytesAreLinkedToAnEventOnce(_ dialect: String) async throws {
        var bench = try await SandboxProcess.start(dialect: dialect).bench()
        _ = try await bench.upload()
        bench.uploader = Uploader(
            client: bench.client,
            store: bench.store,
            directory: bench.directory,
            options: UploadOptions(again: true)
        )
        #expect(try await bench.upload(date: "2026-03-02").state == .linked)
        #expect(try await bench.upload(date: "2026-03-02").state == .duplicate)
    }

    @Test(arguments: ["d1", "d2", "d3"]) func theSameBytesFromAnotherMachineHaveNoToken(_ dialect: String) async throws
    {
        let sandbox = try await SandboxProcess.start(dialect: dialect)
        _ = try await sandbox.bench().upload()
        let other = try await sandbox.bench().upload()
        #expect(other.state == .duplicate)
        #expect(other.warnings == (dialect == "d1" ? [.noDeleteToken] : []))
        #expect(!other.hasDeleteToken)
        #expect(!other.isDeletableDuplicate)
    }

    /// The server keeps the name of the file that it already has.
    @Test(arguments: ["d1", "d3"], ["2026-03-01", "2026-03-02"])
    func theAddressOfKnownContentIsThatOfTheServersCopy(_ dialect: String, _ date: String) async throws {
        let sandbox = try await SandboxProcess.start(dialect: dialect)
        let first = try await sandbox.bench().upload(name: "clip.mp4")
        let other = try await sandbox.bench().upload(name: "clip.mov", date: date)
        #expect(other.state == (date == "2026-03-01" ? .duplicate : .linked))
        #expect(other.mediaURL == first.mediaURL)
    }

    @Test func aViewerIsUnauthorizedExceptForTheListing() async throws {
        let sandbox = try await SandboxProcess.start()
        let viewer = try sandbox.bench(user: "viewer")
        let upload = try await viewer.upload()
        #expect(upload.state == .failed)
        #expect(upload.error?.code == .unauthorized)
        #expect(try await viewer.client.listing().entries.isEmpty)
        #expect(try await viewer.client.health().isHealthy)
    }

    @Test(
        arguments: [
            ("drop-response", UploadState.tokenLost, OutcomeCode.tokenLost),
            ("500-after-store", .tokenLost, .tokenLost),
            ("status-after=503", .tokenLost, .tokenLost),
            ("truncate=100", .tokenLost, .tokenLost),
            ("1062", .duplicate, nil),
            ("html", .done, nil),
            ("whitespace=1048576", .done, nil),
            ("wrong-length", .done, nil),
            ("no-token", .done, nil),
            ("odd-token", .done, nil),
            ("no-checksum", .done, nil),
            ("status=400", .failed, .badRequest),
            ("status=403", .failed, .forbidden),
            ("status=423", .failed, .locked),
            ("status=429", .failed, .rateLimited),
            ("status=500", .failed, .serverError),
            ("status=502", .failed, .serverError),
            ("early-status=401", .failed, .unauthorized),
            ("early-status=413", .failed, .payloadTooLarge),
            ("early-status=503", .failed, .serverUnavailable),
            ("reset,after=0", .failed, .connectionLost),
            ("reset,after=70000", .failed, .connectionLost),
            ("reset,after=body", .failed, .connectionLost),
        ] as [(String, UploadState, OutcomeCode?)]
    )
    func eachFaultHasTheExpectedOutcome(_ fault: String, _ state: UploadState, _ code: OutcomeCode?) async throws {
        let bench = try await SandboxProcess.start(faults: ["upload:" + fault]).bench(transport: .multipart)
        let result = try await bench.upload(String(repeating: "0123456789abcdef", count: 16_384))
        #expect(result.state == state)
        #expect(result.error?.code == code)
        let tokens = try bench.store.tokens(host: nil).count
        #expect(tokens == (state == .done && fault != "no-token" ? 1 : 0))
        #expect(try bench.store.uploads(states: [], host: nil).map(\.state) == [state])
    }

    @Test(arguments: [
        "status=429,times=1", "early-status=503,times=1", "reset,after=70000,times=1", "status=502,times=1",
    ])
    func aTemporaryFaultIsRetried(_ fault: String) async throws {
        let bench = try await SandboxProcess.start(faults: ["upload:" + fault]).bench(retries: 1)
        let result = try await bench.upload(String(repeating: "0123456789abcdef", count: 16_384))
        #expect(result.state == .done)
        #expect(result.attempts == 2)
        #expect(try await bench.client.listing().entries.count == 1)
    }

    @Test func aLostDeletionIsResolvedByAQuery() async throws {
        let bench = try await SandboxProcess.start(faults: ["delete:drop-response"]).bench()
        let fileID = try #require(try await bench.upload().fileID)
        let result = await bench.deleter.delete(try await bench.deleter.entry(for: fileID))
        #expect(result.state == .deleted)
    }
}
