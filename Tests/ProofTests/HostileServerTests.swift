import Foundation
import TestSupport
import Testing

/// A malicious or defective photo server.
@Suite struct HostileServerTests {
    private static let commands = [
        ["sync"], ["sync", "--full"], ["sync", "verify"], ["sync", "status"], ["claim-legacy", "--list"],
        ["claim-legacy", "--all", "--yes"],
    ]

    // MARK: Bodies

    @Test(
        .measuresMemory,
        arguments: [
            ("photos-list", ["sync"]), ("photos-list", ["sync", "verify"]), ("photos-status", ["sync", "status"]),
            ("photos-check", ["sync", "push", "."]), ("photos-upload", ["sync", "push", "."]),
            ("photos-claim", ["claim-legacy", "--all", "--yes"]), ("devices", ["login"]),
        ]
    )
    func aGigabyteOfJSONNeedsNoMemory(place: String, command: [String]) async throws {
        let bench = try await PhotoBench.loggedIn()
        try await bench.sandbox.addPhotos()
        try bench.addPictures("a.jpg")
        try await bench.succeed("sync")
        try await bench.sandbox.addFaults("\(place):endless-json=1000000000")
        let result = try await bench.runner.run(
            command.map { $0 == "." ? bench.pictures : $0 },
            extra: ["MEDIACTL_API_KEY": SandboxProcess.aliceKey],
            through: PeakMemory.wrapper
        )
        #expect(result.exitCode == 7, "\(result.errors)")
        let peak = try PeakMemory.kibibytes(result)
        #expect(peak > 4 << 10 && peak < 120 << 10, "\(peak) KiB")
        #expect(try Tree(bench.pictures).files.count == 1)
    }

    /// An HTML page of a captive portal or a proxy is neither a listing nor a photo.
    @Test(arguments: ["html", "content-type=text/html", "wrong-types", "wrong-length", "truncate=20"])
    func aResponseOfAnotherKindIsRejected(fault: String) async throws {
        let bench = try await PhotoBench.loggedIn()
        let content = String(repeating: "one", count: 100)
        try await bench.sandbox.addPhotos(#"{"content":"\#(content)"}"#)
        try bench.addPictures("a.jpg")
        try await bench.succeed("sync")
        let index = try await bench.index()
        for place in ["photos-list", "photos-status", "photos-check", "photos-claim", "photos-download"] {
            try await bench.sandbox.addFaults("\(place):\(fault)")
        }
        let mayRead = ["wrong-types", "content-type=text/html"].contains(fault)
        for command in Self.commands + [["sync", "push", bench.pictures]] where command != ["sync", "status"] {
            let result = try await bench.runner.run(command)
            #expect([5, 6, 7].contains(result.exitCode), "\(command): \(result.output) \(result.errors)")
        }
        let download = try await bench.runner.run(["sync", "download", "--missing", "--output", bench.target])
        if !mayRead {
            #expect([6, 7, 8].contains(download.exitCode), "\(download.output) \(download.errors)")
        }
        for (name, file) in try Tree(bench.target).files where !name.hasSuffix(".mediactl-part") {
            #expect(file.content == Data(content.utf8), "\(name)")
        }
        #expect(try await bench.index() == index)
        #expect(try await bench.uploads == 0)
    }

    // MARK: Names

    private func expectNothingRaw(_ text: String) {
        for raw in ["red\u{1b}", "line\nbreak", "line\r\nbreak", "\u{0}", "\u{202e}"] {
            #expect(!text.contains(raw))
        }
    }

    /// Trap 15: the names in a listing were sent by other clients.
    @Test func hostileNamesCannotChangeThePath() async throws {
        var bench = try await PhotoBench.loggedIn(faults: ["photos-list:hostile-names"])
        bench.runner.environment.merge(["TERM": "xterm", "NO_COLOR": "1"]) { $1 }
        for number in 0..<20 {
            try await bench.sandbox.addPhotos(#"{"content":"photo \#(number)","dateTaken":"2024-03-05T10:20:30Z"}"#)
        }
        try await bench.succeed("sync")
        // A sibling, a child and a link that a name could refer to.
        let neighbors = ["etc/passwd", "a.jpg", "windows.jpg", "2024/a.jpg"]
        for name in neighbors { try bench.picture("../deep/" + name, Array("mine".utf8)) }
        let target = bench.runner.home.file("deep/er")
        let before = try Tree(bench.runner.home.path)

        for command in [["sync", "list"], ["sync", "download", "--missing", "--output", target]] {
            let dry = command.contains("download") ? ["--dry-run"] : []
            expectNothingRaw(try await bench.runner.run(command + dry, streams: .terminal(columns: 200)).output)
            let shown = try await bench.runner.run(command, streams: .terminal(columns: 200))
            #expect(shown.exitCode == 0, "\(shown.output)")
            expectNothingRaw(shown.output)
        }
        let files = try Tree(bench.runner.home.path).files
        let added = files.keys.filter { before.files[$0] == nil && !$0.hasPrefix("cache/") }
        #expect(added.count == 20 && added.allSatisfy { $0.hasPrefix("deep/er/2024/03/") }, "\(added)")
        #expect(added.allSatisfy { $0.split(separator: "/").count == 5 && !$0.utf8.contains { $0 < 0x20 } })
        #expect(Set(added.compactMap { files[$0]?.content }).count == 20)
        for (name, file) in before.files where !name.hasPrefix("data/") && !name.hasPrefix("cache/") {
            #expect(files[name] == file, "\(name)")
        }
        #expect(try await bench.verifiedCopies() == 20)
    }

    // MARK: Pages

    /// Trap 1.
    @Test(arguments: ["endless", "repeated-cursor,skip=1", "empty-page", "total=9999", "lost-photo"])
    func anEndlessListingIsAnError(fault: String) async throws {
        let bench = try await PhotoBench.loggedIn()
        try await bench.sandbox.addPhotos(#"{"count":1200}"#)
        try await bench.sandbox.addFaults("photos-list:" + fault)
        for command in [["sync"], ["sync", "--full"], ["claim-legacy", "--all", "--yes"]] {
            let before = try await bench.pagesRequested
            let result = try await bench.runner.run(command, deadline: .seconds(60))
            #expect(result.exitCode == 7, "\(command): \(result.output)")
            #expect(try await bench.pagesRequested - before <= 24)
        }
        let status = try await bench.run("sync", "list", "--json")
        #expect(status.records.last?["last_complete_at"] is NSNull?, "nothing was recorded as complete")
        try await bench.sandbox.clearFaults()
        try await bench.succeed("sync")
        #expect(try await bench.index().count == 1200)
        try await bench.sandbox.addFaults("photos-list:" + fault)
        #expect(try await bench.run("sync", "verify").exitCode == 7)
    }

    /// Trap 1: the photo that the cursor refers to was deleted.
    @Test func anExpiredCursorRestartsTheListing() async throws {
        let bench = try await PhotoBench.loggedIn(faults: ["photos-list:expired-cursor,skip=1,times=1"])
        try await bench.sandbox.addPhotos(#"{"count":1200}"#)
        let pull = try await bench.succeed("sync", "--json")
        #expect(pull.records.last?["restarts"] as? Int == 1)
        #expect(try await bench.index().count == 1200)
    }

    /// Without PostgreSQL the server returns only its first page, as if it were all (contract 5).
    @Test func theStubBuildsPageIsNotACompleteListing() async throws {
        let bench = try PhotoBench(try await SandboxProcess.start(arguments: ["--photosync-stub"]))
        try await bench.sandbox.addPhotos(#"{"count":600}"#)
        let key = ["MEDIACTL_API_KEY": SandboxProcess.aliceKey]
        for command in [["sync"], ["sync", "--full"], ["claim-legacy", "--list"]] {
            let result = try await bench.runner.run(command + ["--json"], extra: key)
            #expect(result.exitCode == 7, "\(command): \(result.output)")
            #expect(result.output.contains(#""code":"stub_server""#), "\(command): \(result.output)")
        }
        #expect(try await bench.run("sync", "status").exitCode == 4)
    }

    // MARK: Downloads

    /// Contract section 6: a 200 response to a Range request is the whole file, not the rest.
    @Test func aWholeFileForARangeIsReadFromTheStart() async throws {
        let bench = try await PhotoBench.loggedIn()
        let content = String(repeating: "0123456789abcdef", count: 200_000)
        try await bench.sandbox.addPhotos(#"{"content":"\#(content)","dateTaken":"2024-03-05T10:20:30Z"}"#)
        try await bench.sandbox.agePhotos()
        try await bench.succeed("sync")
        try await bench.sandbox.addFaults("photos-download:truncate=2000000,times=1")
        let command = ["sync", "download", "--missing", "--output", bench.target]
        #expect(try await bench.runner.run(command).exitCode == 6)
        let parts = try Tree(bench.target).files
        #expect(parts.count == 1 && parts.values.first?.content.isEmpty == false)
        try await bench.sandbox.addFaults("photos-download:ignore-range")
        let again = try await bench.runner.run(command + ["--json"])
        #expect(again.states == ["verified"], "\(again.output)")
        #expect(try Tree(bench.target).contents == ["2024/03/IMG_1.jpg": Data(content.utf8)])
    }

    // MARK: Keys

    /// The key is sent to the server of the login, and nowhere else.
    @Test(arguments: ["http://127.0.0.1:%d/api/", "//127.0.0.1:%d/", "http://localhost:%d/"])
    func aRedirectTargetGetsNoKey(pattern: String) async throws {
        let thief = try ScriptedServer { connection, _ in
            _ = try connection.readHead()
            try connection.respond(200, "{}")
        }
        let address = pattern.replacingOccurrences(of: "%d", with: "\(thief.port)")
        let bench = try await PhotoBench.loggedIn()
        try await bench.sandbox.addPhotos(#"{"content":"one"}"#)
        try bench.addPictures("a.jpg")
        try await bench.succeed("sync")
        for place in ["health", "status", "list", "check", "upload", "download", "claim", "get"] {
            try await bench.sandbox.addFaults("photos-\(place):redirect=\(address)")
        }
        try await bench.sandbox.addFaults("devices:redirect=\(address)", "login:redirect=\(address)")
        let key = ["MEDIACTL_API_KEY": SandboxProcess.aliceKey]
        let push = ["sync", "push", bench.pictures]
        let download = ["sync", "download", "--missing", "--output", bench.target]
        for command in Self.commands + [push, download, ["login"]] {
            let result = try await bench.runner.run(command, extra: key)
            #expect(result.exitCode == 1, "\(command): \(result.output) \(result.errors)")
            #expect(
                result.errors.contains("redirects are not followed"),
                "\(command): \(result.errors)"
            )
        }
        #expect(thief.connectionCount == 0)
        #expect(try Tree(bench.target).files.isEmpty)
    }

    /// Contract section 0: waiting does not change this response.
    @Test(arguments: [["login"], ["sync"], ["claim-legacy", "--list"]])
    func anUnfinishedSetupIsNotRetried(command: [String]) async throws {
        let bench = try PhotoBench(try await SandboxProcess.start(arguments: ["--photosync-setup", "incomplete"]))
        let result = try await bench.runner.run(
            command + ["--json"],
            extra: ["MEDIACTL_API_KEY": SandboxProcess.aliceKey, "MEDIACTL_RETRIES": "3"]
        )
        #expect(result.exitCode == 7)
        #expect(result.output.contains(#""code":"setup_required""#), "\(result.output)")
        let requests = try await bench.sandbox.requests()
        #expect(Set(requests.map(\.path)).count == requests.count, "each was requested once")
    }

    /// Trap 8: a key is rejected because another device has logged in.
    @Test func aReplacedKeyIsExplained() async throws {
        let bench = try await PhotoBench.loggedIn()
        try await bench.sandbox.addPhotos(#"{"content":"one"}"#)
        try bench.addPictures("a.jpg")
        try await bench.succeed("sync")
        let other = String(repeating: "c", count: 64)
        try await bench.sandbox.photoSync("PATCH", "users/alice@example.test", #"{"apiKey":"\#(other)"}"#)
        let before = try await bench.sandbox.requests().count
        let push = ["sync", "push", bench.pictures]
        let download = ["sync", "download", "--missing", "--output", bench.target]
        let commands = Self.commands + [push, download]
        for command in commands {
            let result = try await bench.runner.run(command, extra: ["MEDIACTL_RETRIES": "3"])
            #expect(result.exitCode == 4, "\(command): \(result.output) \(result.errors)")
            #expect(result.errors.contains("the server refused the API key (401)"), "\(result.errors)")
            #expect(result.errors.contains("another login by the same user may have replaced the key"))
        }
        #expect(try await bench.sandbox.requests().count - before <= 2 * commands.count)
        #expect(try Tree(bench.target).files.isEmpty)
    }
}
