import Foundation
import TestSupport
import Testing

/// Outages, wrong addresses, and unfinished listings, as the built program reports them.
@Suite(.prompt) struct SyncOutageTests {
    private static let alice = #""user":"alice@example.test""#

    /// Without `MEDIACTL_RETRIES`, the command waits for the server.
    private func patient(_ fixture: SyncFixture) -> SyncFixture {
        var fixture = fixture
        fixture.runner.environment["MEDIACTL_RETRIES"] = nil
        return fixture
    }

    // New fact 5: every route responds with 500 and plain text, then recovers without a restart.
    @Test func aDatabaseOutageIsWaitedFor() async throws {
        let fixture = patient(try await SyncFixture.loggedIn())
        try await fixture.sandbox.addPhotos(#"{"count":3,\#(Self.alice)}"#)
        try await fixture.sandbox.photoSync("POST", "outage")
        let child = try fixture.runner.start(["sync"])
        try await child.wait(for: "the server failed (500); waiting up to 2 min for the server")
        try await fixture.sandbox.photoSync("DELETE", "outage")
        let result = try await child.finish(deadline: .seconds(60))
        #expect(result.exitCode == 0 && result.errors.contains("the server is responding again"))
        #expect(try await fixture.json("sync", "list").count("items") == 3)
    }

    @Test func aRestartIsWaitedFor() async throws {
        let fixture = patient(try await SyncFixture.loggedIn(faults: ["photos-list:stall,skip=2"]))
        try await fixture.sandbox.addPhotos(#"{"count":1600,\#(Self.alice)}"#)
        let child = try fixture.runner.start(["sync", "--json", "--progress-events"])
        try await child.wait(for: #""type":"progress""#)
        _ = try await fixture.sandbox.stop(signal: SIGKILL)
        try await child.wait(for: "waiting up to 2 min for the server")
        let again = try await SandboxProcess.start(
            arguments: ["--listen", "127.0.0.1:\(fixture.sandbox.port)"],
            data: fixture.sandbox.data
        )
        let report = try SyncFixture.report(of: try await child.finish(deadline: .seconds(60)))
        #expect(report.result.exitCode == 0 && report.count("photos") == 1600)
        #expect(again.port == fixture.sandbox.port)
    }

    // Photosync contract, new fact 5, and 1.1 (key check). 0.1.0 recognized only "Database error", which few routes
    // send.
    @Test(
        arguments: [
            nil, #"{"text":"Failed to list photos"}"#, #"{"text":"the database system is shutting down"}"#,
            #"{"json":"Internal server error."}"#,
        ]
    )
    func anOutageIsRetryable(response: String?) async throws {
        let fixture = try await SyncFixture.loggedIn()
        try await fixture.sandbox.photoSync("POST", "outage", response)
        let failing = try await fixture.json("sync")
        #expect(failing.result.exitCode == 7 && failing.error["retryable"] as? Bool == true)
        let push = try await fixture.json("sync", "push", try fixture.photos("a.jpg"))
        #expect(push.result.exitCode == 7 && push.error["retryable"] as? Bool == true)
        _ = try await fixture.sandbox.stop()
        let down = try await fixture.json("sync")
        #expect(down.result.exitCode == 6 && down.error["retryable"] as? Bool == true)
    }

    /// Any other 500 is a defect that waiting does not fix.
    @Test func anotherFailureIsNotAnOutage() async throws {
        let fixture = try await SyncFixture.loggedIn()
        try await fixture.sandbox.photoSync("POST", "outage", #"{"json":"Failed to save photo record."}"#)
        let failing = try await fixture.json("sync")
        #expect(failing.result.exitCode == 7 && failing.error["retryable"] as? Bool == false)
    }

    // MARK: Wrong addresses

    /// Port 1 of this machine refuses connections, and `.invalid` never resolves (RFC 6761 section 6.4).
    @Test(arguments: ["http://127.0.0.1:1", "https://photos.invalid"])
    func aWrongAddressFailsAtOnce(address: String) async throws {
        let fixture = patient(try await SyncFixture.loggedIn())
        let report = try await fixture.json(
            "sync",
            extra: ["MEDIACTL_SERVER": address, "MEDIACTL_API_KEY": SandboxProcess.aliceKey]
        )
        #expect(report.result.exitCode == 6 && !report.result.errors.contains("waiting"))
        #expect(report.error["code"] as? String == (address.hasSuffix(":1") ? "cannot_connect" : "unknown_host"))
    }

    /// A login is not a listing, and a failed first listing has not reached the server.
    @Test func aServerThatWasNeverIndexedIsNotWaitedFor() async throws {
        let fixture = patient(try await SyncFixture.loggedIn())
        _ = try await fixture.sandbox.stop()
        for _ in 1...2 {
            let result = try await fixture.run("sync")
            #expect(result.exitCode == 6 && !result.errors.contains("waiting"), "\(result.errors)")
        }
    }

    /// All commands run in parallel, because each waits for seconds.
    @Test func anIndexedServerIsWaitedFor() async throws {
        let commands = [["sync"], ["sync", "push", "Pictures"], ["sync", "download", "--missing", "-o", "out"]]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for command in commands { group.addTask { try await expectWaiting(command) } }
            try await group.waitForAll()
        }
    }

    private func expectWaiting(_ command: [String]) async throws {
        let fixture = patient(try await SyncFixture.loggedIn())
        _ = try fixture.photos("a.jpg")
        try await fixture.sandbox.addPhotos(#"{"content":"a beach",\#(Self.alice)}"#)
        try #require(try await fixture.run("sync").exitCode == 0)
        _ = try await fixture.sandbox.stop()
        let child = try fixture.runner.start(command, through: ["env", "-C", fixture.runner.home.path])
        try await child.wait(for: "waiting up to 2 min for the server, until 2")
        let again = try await SandboxProcess.start(
            arguments: ["--listen", "127.0.0.1:\(fixture.sandbox.port)"],
            data: fixture.sandbox.data
        )
        let result = try await child.finish(deadline: .seconds(60))
        #expect(again.port == fixture.sandbox.port)
        #expect(
            result.exitCode == 0 && result.errors.contains("the server is responding again"),
            "\(command): \(result.errors)"
        )
    }

    @Test func aTerminalShowsHowToStopTheWait() async throws {
        let fixture = patient(try await SyncFixture.loggedIn())
        try #require(try await fixture.run("sync").exitCode == 0)
        try await fixture.sandbox.photoSync("POST", "outage")
        let child = try fixture.runner.start(["sync"], streams: .terminal(columns: 200))
        try await child.signal(SIGINT, after: "; Ctrl-C stops")
        #expect(try await child.finish(deadline: .seconds(30)).exitCode == 130)
    }

    @Test func theHintAfterAWrongAddressIsToCheckIt() async throws {
        let fixture = try await SyncFixture.loggedIn()
        let report = try await fixture.json(
            "sync",
            extra: [
                "MEDIACTL_SERVER": fixture.sandbox.baseURL + "/elsewhere", "MEDIACTL_API_KEY": SandboxProcess.aliceKey,
            ]
        )
        #expect(report.result.exitCode == 5)
        #expect(report.error["hint"] as? String == "check --server; mediactl config show prints its source")
    }

    @Test(arguments: [[], ["--gone"]])
    func anUnfinishedFirstListingIsNotShownAsTheList(flags: [String]) async throws {
        let fixture = try await SyncFixture.loggedIn(faults: ["photos-list:status=500,skip=1"])
        try await fixture.sandbox.addPhotos(#"{"count":1200,\#(Self.alice)}"#)
        #expect(try await fixture.run("sync").exitCode == 7)
        let list = try await fixture.runner.run(["sync", "list"] + flags)
        #expect(list.exitCode == 5 && list.output.isEmpty)
        #expect(list.errors.contains("the first listing of this server is unfinished: 500 photos so far"))
        #expect(list.errors.contains("finish it with: mediactl sync"))
        try await fixture.sandbox.clearFaults()
        #expect(try await fixture.run("sync").exitCode == 0)
        #expect(try await fixture.runner.run(["sync", "list"] + flags).exitCode == 0)
    }

    // Contract 3.5: the test is an upload, and the server deletes it.
    @Test func theOwnershipDefectIsTestedAgainOnlyOnRequest() async throws {
        let fixture = try await SyncFixture.loggedIn(arguments: ["--photosync", "published"])
        let directory = try fixture.photos("a.jpg", "b.jpg")
        #expect(try await fixture.run("sync", "push", directory, "-j", "1").exitCode == 7)
        #expect(try await fixture.requests("POST", "/api/photos/upload") == 1)
        let again = try await fixture.json("sync", "push", directory)
        #expect(again.result.exitCode == 7 && again.error["code"] as? String == "ownership_defect")
        #expect(again.result.errors.contains("add --test-ownership"))
        for command in [["sync", "push", directory], ["sync", directory]] {
            let dry = try await fixture.runner.run(command + ["--dry-run"])
            #expect(dry.errors.contains("warning: this server does not record the owner of uploaded photos"))
            #expect(dry.errors.contains("uploads nothing unless you agree to test the server again"), "\(dry)")
        }
        #expect(try await fixture.requests("POST", "/api/photos/upload") == 1)
        #expect(try await fixture.run("sync", "push", directory, "--test-ownership").exitCode == 7)
        #expect(try await fixture.requests("POST", "/api/photos/upload") == 2)
    }

    @Test func statusShowsDevicesAndTheVersionOfTheServer() async throws {
        let fixture = try await SyncFixture.loggedIn()
        try await fixture.sandbox.addPhotos(#"{"count":2,\#(Self.alice)}"#)
        _ = try await fixture.run("sync", "push", try fixture.photos("a.jpg", "b.jpg", "c.jpg"))
        let status = try await fixture.json("sync", "status")
        #expect(status.last["server_version"] as? String == "dev" && status.last["server_commit"] is NSNull)
        #expect(status.last["needs_legacy_claim"] as? Bool == true)
        let devices = status.last["devices"] as? [[String: Any]]
        #expect(devices?.map { $0["device_name"] as? String } == ["Studio"])
        #expect(devices?.map { $0["photos"] as? Int } == [3])
        #expect(devices?.map { $0["this_device"] as? Bool } == [true])
        let text = try await fixture.run("sync", "status").output
        #expect(text.contains("version           dev\n") && text.contains("Studio (this device)  android        3\n"))
    }
}
