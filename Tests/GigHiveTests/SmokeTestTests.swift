import MediaStore
import MediaTransport
import TestSupport
import Testing

@testable import GigHive

/// The smoke test against servers that fail it.
@Suite struct SmokeTestTests {
    /// The token is still stored, so that the file can be deleted later.
    @Test(.timeLimit(.minutes(4))) func aDeletionWithoutAResponseEndsAfterAStop() async throws {
        let bench = try ResumableBench(try await SandboxProcess.start(faults: ["delete:stall,after=body"]))
        let control = TransferControl()
        var smoke = SmokeTest(uploader: bench.uploader)
        smoke.finishTime = .milliseconds(100)
        let checks = await smoke.run(in: bench.temporary.path, control: control) { check in
            if check.name == "served" { control.stop() }
        }
        #expect(checks.map(\.name) == SmokeTest.names)
        let delete = try #require(checks.first { $0.name == "delete" })
        #expect(delete.error?.code == .networkTimeout)
        #expect(delete.error?.detail == "no response to the deletion; repeat it with: mediactl uploads delete 1")
        #expect(try bench.store.tokens(host: nil).map(\.fileID) == [1])
    }

    /// On a server without tokens, only an administrator can delete a file that was uploaded over tus (gighive-d4
    /// contract section 7).
    @Test(arguments: [("uploader", false), ("admin", true)])
    func aServerWithoutTokensKeepsNoTestFile(_ user: String, _ isAdmin: Bool) async throws {
        let bench = try ResumableBench(try await SandboxProcess.start(dialect: "d4"), user: user)
        let checks = await SmokeTest(uploader: bench.uploader).run(in: bench.temporary.path)
        let upload = try #require(checks.first { $0.name == "upload" })
        #expect(upload.error?.code == (isAdmin ? nil : .forbidden))
        #expect(checks.first { $0.name == "token" }?.status == .skipped)
        #expect(checks.first { $0.name == "gone" }?.status == (isAdmin ? .passed : .skipped))
        #expect(try await bench.stored().isEmpty)
        #expect(try await bench.count("POST", "/files/") == (isAdmin ? 1 : 0))
    }

    @Test func aStoppedTestReportsThatItsFileIsDeleted() async throws {
        let bench = try ResumableBench(try await SandboxProcess.start())
        let control = TransferControl()
        let work = Task { [uploader = bench.uploader, directory = bench.temporary.path] in
            await SmokeTest(uploader: uploader).run(in: directory, control: control) { check in
                guard check.name == "upload" else { return }
                control.stop()
                withUnsafeCurrentTask { $0?.cancel() }
            }
        }
        let checks = await work.value
        #expect(checks.map(\.name) == SmokeTest.names)
        #expect(checks.map(\.status) == [.passed, .passed, .skipped, .skipped, .skipped, .skipped, .passed, .passed])
        #expect(try await bench.stored().isEmpty)
    }

    @Test func aFailedListingIsNotTreatedAsOneWithoutTheFile() async throws {
        let bench = try ResumableBench(try await SandboxProcess.start(faults: ["media:status=500"]))
        let checks = await SmokeTest(uploader: bench.uploader).run(in: bench.temporary.path)
        #expect(checks.first { $0.name == "listed" }?.error?.code == .serverError)
    }

    @Test(
        arguments: [
            ("listing:status=500", "login", "not checked: login failed"),
            ("upload:status=400", "upload", "not checked: upload failed"),
            ("upload:reset,after=body", "upload", "not checked: upload outcome unknown"),
        ]
    )
    func skippedChecksHaveAReason(_ fault: String, _ failed: String, _ reason: String) async throws {
        var faults = [fault]
        if failed == "upload" { faults += ["media:status=500"] }
        var bench = try ResumableBench(try await SandboxProcess.start(faults: faults))
        bench.options.transport = .multipart
        bench.options.processingTime = .milliseconds(1)
        let checks = await SmokeTest(uploader: bench.uploader).run(in: bench.temporary.path)
        #expect(checks.first { $0.status == .failed }?.name == failed)
        #expect(checks.last?.status == .skipped && checks.last?.detail == reason)
    }
}
