import Foundation
import TestSupport
import Testing

/// The commands against a stand-in for an Immich server, which parses every request with the models of immichpy.
@Suite struct TapeImmichTests {
    private let fixture: TapeFixture
    private let server: ImmichStandIn

    init() async throws {
        server = try await ImmichStandIn.start()
        var fixture = try TapeFixture()
        fixture.runner.environment["MEDIACTL_LIBRARY_URL"] = server.address
        self.fixture = fixture
    }

    private func key(_ secret: String) throws -> String {
        let path = try fixture.runner.home.write(secret, (secret + "\n").utf8)
        try #require(chmod(path, 0o600) == 0)
        return path
    }

    // Acceptance 1 and 2 on the server; acceptance 4 if the flag is set.
    @Test func keysAreStoredAndClipsUploaded() async throws {
        _ = try await fixture.run("create", "Sea")
        let early = try await fixture.run("add", "Sea", try fixture.original("a.mp4"))
        #expect(early.exitCode == 0 && early.errors.contains("mediactl tapes library init"), "\(early.errors)")
        let kept = try await fixture.json("library", "init", "--api-key-file", try key("key-1"))
        #expect(kept.result.exitCode == 0 && kept.last["key_kept"] as? Bool == true, "\(kept.result)")
        #expect(!kept.result.output.contains("key-1") && !kept.result.errors.contains("key-1"))

        let added = try await fixture.json("add", "Sea", try fixture.original("b.jpg"), "--progress-events")
        #expect(added.result.exitCode == 0 && added.last["created"] as? Bool == true, "\(added.result)")
        #expect(added.last["added_to_album"] as? Int == 2 && added.last["pending_clips"] as? Int == 0)
        let again = try await fixture.json("add", "Sea", try fixture.original("c.jpg"))
        #expect(again.last["album_id"] as? String == added.last["album_id"] as? String)
        var report = try await server.report()
        #expect(report.violations.isEmpty, "\(report.violations)")
        #expect(report.albums.map(\.name) == ["Tapes – Sea"] && report.albums.first?.assets.count == 3)
        #expect(try await fixture.run("reconcile", "--verify").output.contains("found the album of \"Sea\""))

        let on = ["MEDIACTL_FEATURE_DELETE_ALBUM": "1"]
        #expect(try await fixture.run("remove", "Sea", "#1", "--yes", extra: on).exitCode == 0)
        #expect(try await fixture.run("delete", "Sea", "--yes", extra: on).exitCode == 0)
        report = try await server.report()
        #expect(report.albums.isEmpty && report.assets.count == 3 && report.violations.isEmpty)
    }

    /// The key is found by the address given to `library init`, and by the address used in requests.
    @Test(arguments: ["", "/", "/api"])
    func theKeyIsDeletedByTheAddressOfTheServer(_ path: String) async throws {
        #expect(try await fixture.run("library", "init", "--api-key-file", try key("key-1")).exitCode == 0)
        let place = ["--server", server.address + path]
        let status = try await fixture.runner.run(["login", "status"] + place)
        #expect(status.exitCode == 0 && status.output.hasPrefix("\(server.address)/api "), "\(status)")
        let deletion = try await fixture.runner.run(["logout"] + place)
        #expect(deletion.output == "deleted the key for \(server.address)/api\n", "\(deletion)")
        #expect(try await fixture.runner.run(["login", "status"]).exitCode == 4)
    }

    /// The name of the setting is in the note if the server is specified only on the command line.
    @Test(
        arguments: [
            ([:], true), (["MEDIACTL_LIBRARY_URL": "http://127.0.0.1:9"], true), (["MEDIACTL_LIBRARY_URL": nil], false),
        ] as [([String: String?], Bool)]
    )
    func aServerOfTheCommandLineIsNotSelected(_ environment: [String: String?], _ isNoted: Bool) async throws {
        var fixture = fixture
        fixture.runner.environment["MEDIACTL_LIBRARY_URL"] = nil
        for (name, value) in environment { fixture.runner.environment[name] = value ?? server.address }
        // Other forms of the server's address.
        for url in ["", "/", "/api"].map({ server.address + $0 }) {
            let words = ["tapes", "library", "init", "--library-url", url, "--api-key-file", try key("key-1")]
            let result = try await fixture.runner.run(words)
            #expect(result.exitCode == 0 && result.errors.contains("stored the key"), "\(result)")
            #expect(result.errors.contains("set library_url: \(url) in ") == isNoted, "\(result.errors)")
        }
    }

    /// A pasted command uses the library of the command that printed it.
    @Test func printedCommandsHaveTheLibrary() async throws {
        var fixture = fixture
        fixture.runner.environment["MEDIACTL_LIBRARY_URL"] = nil
        _ = try await fixture.run("create", "Sea")
        let added = try await fixture.run("add", "Sea", try fixture.original("a.mp4"), "--library-url", server.address)
        let command = "mediactl tapes library init --library-url \(server.address)"
        #expect(added.exitCode == 0 && added.errors.contains("to set it up: \(command)\n"), "\(added.errors)")
    }

    // R9, R11: deleting without the flag does not send a request, and listing never sends one.
    @Test func unreachableLibrariesDoNotPreventTapeChanges() async throws {
        let environment = ["MEDIACTL_API_KEY": "key-1"]
        _ = try await fixture.run("create", "T")
        try await server.add(faults: ["method": "POST", "path": "/albums.*", "status": 503])
        let added = try await fixture.json("add", "T", try fixture.original("a.jpg"), extra: environment)
        #expect(added.result.exitCode == 0 && added.last["reason"] as? String == "unreachable", "\(added.result)")
        #expect(added.result.errors.contains("1 clip saved; its album was not updated (library unreachable"))
        // No tape was updated: the exit code depends on the reason.
        for words in [["reconcile", "--apply"], ["library", "grant"]] {
            try await server.add(faults: ["method": "POST", "path": "/albums.*", "status": 503])
            let stopped = try await fixture.runner.run(["tapes"] + words, extra: environment)
            #expect(stopped.exitCode == 6 && stopped.errors.contains("stopped (library unreachable"), "\(stopped)")
        }
        try await server.clearFaults()
        let mended = try await fixture.json("reconcile", "--apply", extra: environment)
        #expect(mended.items.map { $0["state"] as? String } == ["associated"], "\(mended.result)")
        try await server.clearRequests()
        for words in [["list"], ["show", "T"], ["album", "show", "T"], ["reconcile"]] {
            #expect(try await fixture.runner.run(["tapes"] + words).exitCode == 0, "\(words)")
        }
        #expect(try await fixture.run("delete", "T", "--yes", extra: environment).output.contains("its album is kept"))
        #expect(try await server.report().requests.isEmpty)
    }

    // 4.3: missing permissions are listed; a key without permissions is not stored, and the next one is not compared
    // with it.
    @Test func missingPermissionsAreListed() async throws {
        try await server.add(key: "reader", permissions: ["album.read"])
        try await server.add(key: "adder", permissions: ["album.create", "albumAsset.create", "asset.upload"])
        let useless = try await fixture.json("library", "init", "--api-key-file", try key("reader"))
        #expect(useless.result.exitCode == 4 && useless.last["key_kept"] as? Bool == false)
        #expect(useless.result.errors.contains("permissions"))
        let adder = try await fixture.json("library", "init", "--api-key-file", try key("adder"))
        #expect(adder.result.exitCode == 0 && adder.last["key_kept"] as? Bool == true, "\(adder.result)")
        let missing = (adder.last["read_write"] as? [String: Any])?["missing"] as? [String]
        #expect(missing?.sorted() == ["album.delete", "album.read", "albumAsset.delete"])
        _ = try await fixture.run("create", "T")
        #expect(
            try await fixture.json("add", "T", try fixture.original("a.jpg")).last["association"] as? String
                == "associated"
        )
        let verified = try await fixture.json("reconcile", "--verify")
        #expect(verified.result.exitCode == 4, "\(verified.result)")
    }

    // R19, and credentials of uploads: the credentials for one server are never sent to another.
    @Test func theKeyOfUploadsIsNotSentToTheLibrary() async throws {
        #expect(try await fixture.run("library", "init", "--api-key-file", try key("key-1")).exitCode == 0)
        try await server.clearRequests()
        let uploads = try await BatchFixture()
        let login = [
            "MEDIACTL_SERVER": uploads.sandbox.baseURL, "MEDIACTL_USER": "uploader", "MEDIACTL_PASSWORD": "uploader",
            "MEDIACTL_API_KEY": "for-the-uploads",
        ]
        let path = try fixture.original("a.mp4")
        let result = try await fixture.runner.run(["upload", path, "--tape", "T", "-vv"], extra: login)
        #expect(result.exitCode == 0 && result.output.contains("uploaded"), "\(result)")
        #expect(!result.errors.contains("for-the-uploads"))
        let report = try await server.report()
        #expect(report.albums.first?.assets.count == 1 && report.violations.isEmpty, "\(result.errors)")
        #expect(!report.requests.isEmpty)
        for request in report.requests {
            #expect(request.values(of: "x-api-key") == ["key-1"], "\(request.line)")
            #expect(request.values(of: "authorization").isEmpty, "\(request.line)")
        }
    }

    // 6.4: a proxy's limit does not depend on the file: the clip stays pending, and the limit is in the warning.
    @Test func filesThatAreTooLargeStayPending() async throws {
        let environment = ["MEDIACTL_API_KEY": "key-1"]
        _ = try await fixture.run("create", "T")
        try await server.add(faults: [
            "method": "POST", "path": "/assets$", "status": 413, "drain": true, "type": "text/html",
            "body": "<html><head><title>413 Request Entity Too Large</title></head></html>",
        ])
        // The file consists of the first four bytes of an image, and its name.
        let path = try fixture.original("a.jpg")
        let added = try await fixture.json("add", "T", path, extra: environment)
        #expect(added.result.exitCode == 0 && added.last["album"] as? String == "partly", "\(added.result)")
        #expect(added.items.map { $0["reason"] as? String } == ["too_large"])
        #expect(added.result.errors.contains("a file of 9 B was refused) - will retry"), "\(added.result.errors)")
        #expect(added.result.errors.contains("client_max_body_size"))
        #expect(added.items.map { $0["association"] as? String } == ["pending"])
        #expect(try await fixture.clips("T").map { $0["reason"] as? String } == ["too_large"])
        let mended = try await fixture.json("reconcile", "--apply", extra: environment)
        #expect(mended.items.map { $0["state"] as? String } == ["associated"], "\(mended.result)")
        #expect(try await server.report().assets.count == 1)
    }

    // Each case has its own server: uploads that do not overlap would not get a response in time.
    @Test(arguments: [("1", 1), ("3", 3), (nil, 4)] as [(String?, Int)])
    func uploadsRunInParallel(_ jobs: String?, _ expected: Int) async throws {
        let server = try await ImmichStandIn.start(gather: expected)
        let environment = ["MEDIACTL_API_KEY": "key-1", "MEDIACTL_LIBRARY_URL": server.address]
        _ = try await fixture.run("create", "T")
        let paths = try (0..<6).map { try fixture.original("\($0).jpg") }
        let words = ["tapes", "add", "T"] + paths + (jobs.map { ["--jobs", $0] } ?? [])
        let added = try await fixture.runner.run(words, extra: environment)
        #expect(added.exitCode == 0 && added.output.contains("with 6 clips"), "\(added)")
        let report = try await server.report()
        #expect(report.mostUploads == expected && report.assets.count == 6 && report.violations.isEmpty)
    }

    @Test func theNumberOfJobsIsChecked() async throws {
        for jobs in ["0", "17", "x"] {
            let refused = try await fixture.run("add", "T", "a.jpg", "--jobs", jobs)
            #expect(refused.exitCode == 2 && refused.errors.contains("1 to 16"), "\(refused.errors)")
        }
    }

    // 6.1: a server that responds is not unreachable.
    @Test(arguments: [[1, 106, 4], [1, 144, 1]])
    func oldServersAreUnsupported(_ version: [Int]) async throws {
        let server = try await ImmichStandIn.start(major: 2, version: version)
        let environment = ["MEDIACTL_API_KEY": "key-1", "MEDIACTL_LIBRARY_URL": server.address]
        let status = try await fixture.json("library", "status", extra: environment)
        #expect(status.last["reason"] as? String == "unsupported" && status.result.exitCode == 7, "\(status.result)")
        let number = version.map { "\($0)" }.joined(separator: ".")
        #expect((status.last["detail"] as? String)?.contains("Immich \(number); version 2 or later") == true)
        _ = try await fixture.run("create", "T")
        let added = try await fixture.json("add", "T", try fixture.original("a.jpg"), extra: environment)
        #expect(added.result.exitCode == 0 && added.last["reason"] as? String == "unsupported")
        #expect(added.result.errors.contains("the version of the server is not supported"))
        #expect(!added.result.errors.contains("unreachable"))
    }

    @Test func assetsInTheTrashAreMissing() async throws {
        let environment = ["MEDIACTL_API_KEY": "key-1"]
        _ = try await fixture.run("create", "T")
        _ = try await fixture.run("add", "T", try fixture.original("a.jpg"), extra: environment)
        try await server.trash(asset: try #require(try await server.report().assets.first?.id))
        let text = try await fixture.run("verify", "T", extra: environment)
        #expect(text.exitCode == 1, "\(text)")
        #expect(text.output == "\"T\": assets missing from the album, or in the trash: the album has 0 of 1\n")
        let json = try await fixture.json("repair", "T", extra: environment)
        #expect(json.items.first?["finding"] as? String == "assets_missing" && json.result.exitCode == 1)
    }

    // 6.4: the exit code depends on the status; it is 6 if there is no response, or if a proxy sends a page.
    @Test(
        arguments: [
            (503, 7, true), (429, 6, true), (404, 5, false), (302, 1, false), (401, 4, false), (200, 6, true),
            (nil, 6, true),
        ] as [(Int?, Int32, Bool)]
    )
    func failuresOfTheLibraryHaveTheirExitCode(_ status: Int?, _ exitCode: Int32, _ isRetryable: Bool) async throws {
        let environment = ["MEDIACTL_API_KEY": "key-1"]
        _ = try await fixture.run("create", "T")
        _ = try await fixture.run("add", "T", try fixture.original("a.jpg"), extra: environment)
        let album = try #require(try await server.report().albums.first?.id)
        try await server.add(faults: [
            "method": "GET", "status": status ?? 200, "drop": status == nil, "times": -1, "type": "text/html",
            "body": "<html></html>",
        ])
        for words in [["verify", "T"], ["repair", "T"], ["reconcile", "--verify"], ["album", "link", "T", album]] {
            let result = try await fixture.runner.run(["tapes"] + words + ["--json"], extra: environment)
            let error = try SyncFixture.report(of: result).error
            #expect(error["code"] as? String == "library_unusable", "\(words): \(result)")
            #expect(result.exitCode == exitCode && error["retryable"] as? Bool == isRetryable, "\(words): \(result)")
        }
    }

    @Test func addressesAreNeeded() async throws {
        let nowhere = ["MEDIACTL_LIBRARY_URL": "", "MEDIACTL_ALBUMS_LIBRARY": "immich"]
        let result = try await fixture.json("library", "status", extra: nowhere)
        #expect(result.error["code"] as? String == "no_server" && result.result.exitCode == 2)
    }
}
