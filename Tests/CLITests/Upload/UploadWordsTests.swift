import Foundation
import GigHive
import MediaStore
import MediaTransport
import TestSupport
import Testing

@testable import MediaCLI

/// The messages of an upload before, during and after the transfer.
@Suite struct UploadWordsTests {
    // MARK: Before

    @Test func aDryRunShowsWhatWouldBeSentAndHow() async throws {
        let (fixture, file) = try await BatchFixture.withFile("a.mp4")
        let details = ["--label", "One", "--event-date", "2026-03-01", "--org-name", "Tus", "--event-type", "wedding"]
        let result = try await fixture.upload([file, "--dry-run"] + details)
        #expect(result.exitCode == 0)
        #expect(
            result.lines == [
                "\(file): would be uploaded to \(fixture.sandbox.baseURL) (2.00 kB)", "  label: One",
                "  event: 2026-03-01, Tus, wedding", "  transport: multipart (smaller than 64 MiB)",
            ]
        )
        let json = try await fixture.upload([file, "--dry-run", "--json", "--transport", "tus"])
        let item = try #require(try json.records().first)
        #expect(item["planned_transport"] as? String == "tus" && item["transport"] is NSNull)
        try json.expectShapes("upload")
        #expect(try await fixture.sandbox.posts() == 0)
    }

    @Test func jobsMayDirectlyFollowTheShortOption() async throws {
        let (fixture, file) = try await BatchFixture.withFile("a.mp4")
        let result = try await fixture.upload([file, "-j1", "--json"])
        #expect(result.exitCode == 0)
        #expect(try result.records("start").first?["jobs"] as? Int == 1)
        #expect(try await fixture.upload([file, "-j17"]).exitCode == 2)
    }

    @Test func unknownColumnsOfAManifestGetASuggestion() async throws {
        let (fixture, file) = try await BatchFixture.withFile("a.mp4")
        let manifest = try fixture.text("m.csv", "path,event_dat,xyzzy\n\(file),2026-03-01,1\n")
        let result = try await fixture.upload(["--manifest", manifest])
        #expect(result.exitCode == 2)
        #expect(result.errors.contains("event_dat: unknown column; did you mean event_date?"))
        #expect(result.errors.contains("xyzzy: unknown column; valid columns: path"))
    }

    /// The server would store the file, respond with 500, and lose the token (gighive contract, trap T26).
    @Test func longTextIsRefusedBeforeTheUpload() async throws {
        let (fixture, file) = try await BatchFixture.withFile("a.mp4")
        for flag in ["--location", "--participants"] {
            let result = try await fixture.upload([file, flag, String(repeating: "x", count: 256)])
            #expect(result.exitCode == 2 && result.errors.contains("at most 255 are allowed"))
            #expect(result.errors.contains("hint: set it with \(flag)") && !result.errors.contains("later"))
        }
        #expect(try await fixture.sandbox.posts() == 0)
    }

    // MARK: Uploaded files

    @Test func anyExtensionAndAgainAreIndependent() async throws {
        let fixture = try await BatchFixture()
        let odd = try fixture.file("a.xyz")
        let clip = try fixture.file("b.mp4")
        #expect(try await fixture.upload([clip]).exitCode == 0)
        let posts = try await fixture.sandbox.posts()
        // --again sends the file that was uploaded before, and still refuses the unknown extension.
        let again = try await fixture.upload([odd, clip, "--again", "--json"])
        let states = try again.records().map { "\($0["state"] ?? "")" }
        #expect(Set(states) == ["failed", "duplicate"])
        #expect(try await fixture.sandbox.posts() == posts + 1)
        #expect(again.errors.contains("to upload it anyway, add --any-extension"))
        // --any-extension does not send the file that was uploaded before.
        let any = try await fixture.upload([odd, clip, "--any-extension", "--json"])
        let skipped = try any.records().compactMap { $0["skipped"] as? Bool }
        #expect(skipped.contains(true))
        #expect(try await fixture.sandbox.posts() == posts + 2)
    }

    @Test func forceMeansBothWithANote() async throws {
        let fixture = try await BatchFixture()
        let clip = try fixture.file("b.mp4")
        #expect(try await fixture.upload([clip]).exitCode == 0)
        let posts = try await fixture.sandbox.posts()
        let result = try await fixture.upload([clip, "--force"])
        #expect(result.errors.contains("--force is deprecated; use --any-extension and --again"))
        #expect(try await fixture.sandbox.posts() == posts + 1)
        #expect(!(try await fixture.runner.run(["upload", "--help"]).output.contains("--force")))
    }

    /// Every character that could end a header field or its quotes.
    @Test(arguments: ["multipart", "tus"]) func unusualFileNamesArriveUnchanged(_ transport: String) async throws {
        let (fixture, file) = try await BatchFixture.withFile("a\";\r\n.mp4")
        let result = try await fixture.upload([file, "--transport", transport, "--json"])
        #expect(result.exitCode == 0, "\(result.errors)")
        let item = try #require(try result.records().first)
        #expect(item["state"] as? String == "done" && item["verified"] as? Bool == true)
        #expect(item["file_name"] as? String == "a\";\r\n.mp4")
        #expect(try fixture.sandbox.storedFiles().count == 1)
    }

    // MARK: Waits

    @Test(arguments: [
        (Duration.milliseconds(1), "0.1 s"), (.milliseconds(200), "0.2 s"), (.milliseconds(900), "0.9 s"),
        (.milliseconds(950), "1 s"), (.seconds(1), "1 s"), (.milliseconds(1_500), "2 s"), (.seconds(90), "1 min 30 s"),
    ])
    func pausesAreRounded(_ pause: Duration, _ words: String) {
        #expect(Formats.pause(pause) == words)
    }

    // MARK: Hints

    private func userFacingError(_ code: OutcomeCode, _ detail: String) -> UserFacingError? {
        var result = UploadResult(path: Array("a.mp4".utf8), fileName: "a.mp4", server: "https://h", state: .failed)
        result.uploadID = "u-1"
        result.transport = .tus
        result.attempts = 1
        result.error = GigHiveError(code, detail: detail, httpStatus: 400)
        return ErrorCatalog.userFacingError(of: result)
    }

    @Test(arguments: [
        ("Label is required", "--label"), ("Invalid event_date format; expected YYYY-MM-DD", "--event-date"),
        ("Unsupported media type", nil as String?), ("Empty upload", nil),
        ("File too large (exceeds application limit)", nil),
    ])
    func hintsMatchTheRefusal(_ detail: String, _ flag: String?) {
        let hint = userFacingError(.badRequest, detail)?.hint
        #expect(hint == flag.map { "correct it and resume: mediactl uploads resume u-1 \($0) TEXT" })
    }

    /// Error messages from the database (recorded on servers of three releases).
    @Test(arguments: [
        (
            "SQLSTATE[22001]: String data, right truncated: 1406 Data too long for column 'location' at row 1",
            "--location"
        ),
        (
            "SQLSTATE[22001]: String data, right truncated: 1406 Data too long for column 'name' at row 1",
            "--participants"
        ),
        (
            "SQLSTATE[22001]: String data, right truncated: 1406 Data too long for column 'title' at row 1",
            "--label"
        ),
        ("SQLSTATE[01000]: Warning: 1265 Data truncated for column 'event_type' at row 1", "--event-type"),
        (
            "SQLSTATE[22007]: Invalid datetime format: 1292 Incorrect date value: '2026-02-31' for column 'event_date' "
                + "at row 1", "--event-date"
        ),
        ("SQLSTATE[40001]: Serialization failure: 1213 Deadlock found", nil as String?),
    ])
    func permanentRefusalsAreNotRetried(_ detail: String, _ flag: String?) {
        let error = GigHiveError(.serverError, detail: detail, httpStatus: 500)
        let hint = ErrorCatalog.userFacingError(of: error).hint ?? ""
        #expect(hint.contains("retry later") == (flag == nil))
        if let flag {
            #expect(hint.contains(flag))
            #expect(
                userFacingError(.serverError, detail)?.hint
                    == "correct it and resume: mediactl uploads resume u-1 \(flag) TEXT"
            )
        }
    }

    /// If the server reports the file, the file is stored, so only the response can have been lost.
    @Test(
        arguments: [
            (500, nil, "whether the server has the file is unknown (500): the server has 1"),
            (409, "event", "the server has 1"),
        ] as [(Int, String?, String)]
    )
    func anUnknownOutcomeIsDescribed(_ status: Int, _ field: String?, _ message: String) {
        let error = GigHiveError(.unknownOutcome, detail: "the server has 1", httpStatus: status).with(\.field, field)
        #expect(ErrorCatalog.userFacingError(of: error).message == message)
    }

    // MARK: Afterwards

    @Test func reportsRespectTheUmask() async throws {
        let (fixture, file) = try await BatchFixture.withFile("a.mp4")
        let report = fixture.runner.home.file("report.json")
        let junit = fixture.runner.home.file("junit.xml")
        for arguments in [["upload", file, "--report", report], ["doctor", "--junit", junit]] {
            _ = try await fixture.runner.run(
                arguments + fixture.login,
                through: ["/bin/sh", "-c", "umask 027; exec \"$@\"", "sh"]
            )
        }
        for path in [report, junit] {
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == 0o640, "\(path)")
        }
    }

    @Test func aWatchPrintsASummary() async throws {
        let fixture = try await BatchFixture()
        try fixture.file("drop/there.mp4")
        let child = try fixture.runner.start(["upload", "--watch", fixture.runner.home.file("drop")] + fixture.login)
        try await child.signal(SIGINT, after: "uploaded ")
        let result = try await child.finish()
        #expect(result.errors.contains("note: 1 of 1 file on the server"), "\(result.errors)")
    }

    @Test func theSummaryCountsWhatWasNotStarted() throws {
        let console = try TestConsole()
        var counts = UploadCounts()
        counts.items = 5
        counts.ended = 2
        UploadReporter(console.console(), contact: "c", fileCount: 5).conclude(counts)
        #expect(console.errors.contains("0 of 5 files on the server, 0 B sent, 3 not started"))
    }

    // MARK: Commands

    @Test(
        arguments: [
            ("  to delete: mediactl uploads delete 8", "  to delete: mediactl --data-dir 'd d' uploads delete 8"),
            ("run mediactl sync, then mediactl sync --full", nil),
            (
                "to continue: mediactl upload a.mp4 --data-dir 'd d'",
                "to continue: mediactl upload a.mp4 --data-dir 'd d'"
            ),
            ("another mediactl process; see mediactl help", "another mediactl process; see mediactl help"),
            ("mediactl config show prints its source", "mediactl --data-dir 'd d' config show prints its source"),
            ("the event \"mediactl smoke test\"", "the event \"mediactl smoke test\""),
            ("the event \"mediactl uploads\"", "the event \"mediactl uploads\""),
            ("/mnt/mediactl tapes/a.mp4", "/mnt/mediactl tapes/a.mp4"),
        ] as [(String, String?)]
    )
    func printedCommandsHaveTheDataDirectory(_ line: String, _ completed: String?) {
        let twice = "run mediactl --data-dir 'd d' sync, then mediactl --data-dir 'd d' sync --full"
        #expect(HintOptions(dataDirectory: "d d").addingPlaces(to: line) == completed ?? twice)
    }

    /// Uploads have the server in the token store; for photos, captures and logins it is on the command line only.
    @Test(
        arguments: [
            ("run mediactl sync, then mediactl sync -n", "run mediactl OPTION sync, then mediactl OPTION sync -n"),
            ("with: mediactl sync verify --server-files", "with: mediactl OPTION sync verify --server-files"),
            ("list with: mediactl claim-legacy --list", "list with: mediactl OPTION claim-legacy --list"),
            ("run mediactl login, or set a key", "run mediactl OPTION login, or set a key"),
            ("mediactl uploads adopt r-5f0c21ab", "mediactl OPTION uploads adopt r-5f0c21ab"),
            ("run mediactl hash-only register", "run mediactl OPTION hash-only register"),
            ("with: mediactl hash-only send a.jpg", "with: mediactl OPTION hash-only send a.jpg"),
            ("mediactl hash-only FILE --depth FILE", "mediactl OPTION hash-only FILE --depth FILE"),
            ("mediactl login --server https://h --profile p", "mediactl login --server https://h --profile p"),
            ("/mnt/mediactl sync/a.jpg", "/mnt/mediactl sync/a.jpg"),
        ]
    )
    func printedCommandsHaveTheServerAndTheProfile(_ line: String, _ completed: String) {
        let server = HintOptions(server: "https://h").addingPlaces(to: line)
        #expect(server == completed.replacing("OPTION", with: "--server https://h"))
        let profile = HintOptions(profile: "p").addingPlaces(to: line)
        #expect(profile == completed.replacing("OPTION", with: "--profile p"))
    }

    @Test(arguments: ["mediactl uploads delete 8", "mediactl hash-only retry --all", "mediactl tapes list"])
    func onlyTheProfileIsAddedToOtherCommands(_ line: String) {
        #expect(HintOptions(server: "https://h").addingPlaces(to: line) == line)
        let profile = HintOptions(profile: "p").addingPlaces(to: line)
        #expect(profile == line.replacing("mediactl", with: "mediactl --profile p"))
    }

    /// `--profile` alone would select the uploads or captures of the profile's server.
    @Test(
        arguments: [
            "uploads list", "uploads show", "uploads status", "uploads resume", "uploads discard", "uploads export",
            "hash-only list", "hash-only retry",
        ]
    )
    func commandsThatFilterHaveTheServerBesideTheProfile(_ name: String) {
        let options = HintOptions(server: "https://h", profile: "p")
        let line = options.addingPlaces(to: "with: mediactl \(name) ID")
        #expect(line == "with: mediactl --profile p \(name) --server https://h ID")
        let given = "mediactl --profile p \(name) --server https://i"
        #expect(options.addingPlaces(to: given) == given)
    }

    /// The library and the capture server's profile are only in commands that accept them.
    @Test(
        arguments: [
            ("to retry: mediactl tapes reconcile --apply", "to retry: mediactl tapes reconcile LIBRARY --apply"),
            (
                "mediactl tapes library status; then: mediactl tapes library grant",
                "mediactl tapes library status LIBRARY; then: mediactl tapes library grant LIBRARY"
            ),
            ("with: mediactl tapes album unlink TAPE", "with: mediactl tapes album unlink LIBRARY TAPE"),
            (
                "mediactl tapes show 5f0c --library-url=u --library l",
                "mediactl tapes show 5f0c --library-url=u --library l"
            ),
            ("mediactl tapes relink TAPE --in DIR", "mediactl tapes relink TAPE --in DIR"),
            ("mediactl uploads list", "mediactl uploads list"),
            ("mediactl hash-only FILE --depth FILE", "mediactl hash-only PROFILE FILE --depth FILE"),
            ("mediactl hash-only register --replace", "mediactl hash-only register PROFILE --replace"),
            ("mediactl hash-only send a.jpg", "mediactl hash-only send PROFILE a.jpg"),
            ("mediactl hash-only retry --all", "mediactl hash-only retry --all"),
        ]
    )
    func printedCommandsHaveTheLibraryAndTheCaptureProfile(_ line: String, _ completed: String) {
        let options = HintOptions(
            choices: [.albumsLibrary: "immich", .libraryURL: "https://h", .captureProfile: "reference"]
        )
        let expected = completed.replacing("LIBRARY", with: "--library immich --library-url https://h")
            .replacing("PROFILE", with: "--capture-profile reference")
        #expect(options.addingPlaces(to: line) == expected)
        let places = HintOptions(dataDirectory: "/d", choices: options.choices).addingPlaces(to: line)
        #expect(places == expected.replacing("mediactl ", with: "mediactl --data-dir /d "))
    }

    /// A name with a control character is not escaped as in messages: that would be a different directory.
    @Test(arguments: [
        ("", "''"), ("/d", "/d"), ("d d", "'d d'"), ("d'd", #"'d'\''d'"#), ("d\u{1b}d", #"$'d\033d'"#),
        (RawArguments.text(of: [0xff]), #"$'\377'"#),
    ])
    func valuesOfPrintedCommandsAreQuoted(_ value: String, _ word: String) {
        let completed = HintOptions(dataDirectory: value).addingPlaces(to: "mediactl sync")
        #expect(completed == "mediactl --data-dir \(word) sync")
        #expect(HintOptions(user: value).added(to: "mediactl media list") == "mediactl media list --user \(word)")
    }

    /// Every command that an upload prints works when it is pasted.
    @Test func printedCommandsFindTheirTokens() async throws {
        let fixture = try await BatchFixture()
        let settings = try fixture.text("settings.yaml", "")
        let place = ["--data-dir", fixture.runner.home.file("elsewhere"), "--config", settings]
        func run(_ line: Substring, _ more: [String] = []) async throws -> ChildResult {
            let words = line.split(separator: " ").map(String.init)
            try #require(words.first == "mediactl")
            return try await fixture.runner.run(Array(words.dropFirst()) + more)
        }
        let small = try await fixture.upload([try fixture.file("a.mp4")] + place)
        let deletion = try #require(small.output.firstRange(of: "to delete: ")?.upperBound)
        let command = small.output[deletion...].prefix { $0 != "\n" }
        #expect(command.hasPrefix("mediactl --data-dir \(place[1]) --config \(settings) uploads delete 1"))
        #expect(try await run(command, ["--yes", "--user", "uploader"]).exitCode == 0)

        let large = [try fixture.file("b.mp4", byteCount: 1_000_000), "--transport", "tus"]
        let output = try await fixture.interruptedUpload(large + place + fixture.login).output
        let resumption = try #require(output.firstRange(of: "resume with: ")?.upperBound)
        let status = try await fixture.runner.run(["uploads", "status", "--json"] + place + fixture.login)
        let next = try #require(try status.records().first?["next"] as? String)
        #expect(output[resumption...].hasPrefix(next))
        #expect(try await run(next[...], fixture.login).output.contains("uploaded "))
    }

    // MARK: Counts

    /// A file whose delete token was lost or could not be stored is on the server.
    @Test(
        arguments: [
            ([.tokenLost, .finalized], "2 of 2 files on the server, 0 B sent"),
            ([.refusedDuplicate, .done], "1 of 2 files on the server, 1 outside the event, 0 B sent"),
            ([.failed, .unknownOutcome], "0 of 2 files on the server, 0 B sent"),
        ] as [([UploadState], String)]
    )
    func theSummaryCountsConfirmedFiles(_ states: [UploadState], _ summary: String) throws {
        let console = try TestConsole()
        var counts = UploadCounts()
        counts.items = states.count
        counts.ended = states.count
        for state in states { counts.states[state] = 1 }
        UploadReporter(console.console(), contact: "c", fileCount: states.count).conclude(counts)
        #expect(console.errors.contains(summary))
    }

    @Test func summaryDoesNotCountMissingFiles() async throws {
        let console = try TestConsole()
        var counts = UploadCounts()
        counts.items = 2
        counts.ended = 2
        counts.states[.done] = 2
        let upload = StoredUpload(fileID: 1, checksumSHA256: "", eventDate: "2026-03-01", orgName: "Band")
        let missing = UploadResults.StoredFile(index: 0, path: [], upload: upload)
        let verification = UploadVerification(missing: [missing])
        UploadReporter(console.console(), contact: "c", fileCount: 2).conclude(counts, verification)
        #expect(console.errors.contains("1 of 2 files on the server"))
    }
}
