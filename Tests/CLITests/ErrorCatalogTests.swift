import Foundation
import GigHive
import MediaFiles
import MediaStore
import MediaTransport
import TestSupport
import Testing

@testable import MediaCLI

@Suite struct ErrorCatalogTests {
    @Test(arguments: OutcomeTable.codes)
    func everyCodeHasAMessageInOurStyle(code: OutcomeCode) {
        for error in [
            GigHiveError(code),
            GigHiveError(
                code,
                detail: "A message.",
                httpStatus: 500,
                path: Array("a\u{1b}.mp4".utf8),
                value: "x",
                limit: 5,
                underlying: StoreError(.full, path: "/d")
            ).with(\.field, "event_date").with(\.fileID, 18).with(\.rescuePath, "/r").with(\.otherHosts, ["h"])
                .with(\.retryAfterSeconds, 3),
        ] {
            let userFacingError = ErrorCatalog.userFacingError(of: error)
            userFacingError.expectOurStyle()
            #expect(userFacingError.code == code.rawValue)
            #expect(userFacingError.httpStatus == error.httpStatus || error.store != nil)
        }
    }

    @Test(arguments: [("http://media.example.org", true), ("https://x", true), ("httpd.mp4", false)])
    func anAddressInPlaceOfAFileIsExplained(path: String, isAddress: Bool) {
        let error = GigHiveError(.fileNotFound, path: Array(path.utf8))
        let hint = ErrorCatalog.userFacingError(of: error).hint
        let expected =
            isAddress ? "specify the address of the server with --server URL" : "check the spelling of the path"
        #expect(hint == expected)
    }

    static let commands: [(UserFacingError, String)] = [
        (
            ErrorCatalog.userFacingError(of: GigHiveError(.connectionLost, path: Array("$(touch x).mp4".utf8))),
            "mediactl upload '$(touch x).mp4'"
        ),
        (
            ErrorCatalog.userFacingError(of: GigHiveError(.tokenNotStored).with(\.rescuePath, "/$(touch x)/r")),
            "mediactl uploads adopt '/$(touch x)/r' --file-id ID"
        ),
        (
            UploadsAdopt.userFacingError(of: .noServer, named: "$(touch x)"),
            "mediactl uploads adopt '$(touch x)' --server https://HOST"
        ),
    ]

    /// A shell that executes a printed command must not execute a file name.
    @Test(arguments: commands) func pathsInCommandsAreQuotedForAShell(error: UserFacingError, command: String) throws {
        #expect(try #require(error.hint).hasSuffix(command), "\(error)")
    }

    /// The journal does not contain the link, which is secret.
    @Test(arguments: [
        ("u-1", "mediactl uploads resume u-1 --event-link-file FILE"),
        (nil, "run the same command again with --event-link-file FILE"),
    ])
    func aGuestUploadRequiresItsLink(uploadID: String?, hint: String) {
        let path = Array("a.mp4".utf8)
        let error = ErrorCatalog.userFacingError(
            of: GigHiveError(.notResumable, path: path, value: uploadID).with(\.field, "event_link")
        )
        #expect(error.message == "the upload of \"a.mp4\" requires its event link" && error.hint == hint)
    }

    @Test func anInterruptedUploadIsRepeatedWithItsDetails() throws {
        var error = GigHiveError(.connectionLost, path: Array("a.mp4".utf8))
        error.details = try UploadDetails.validated(eventDate: "2026-01-02", orgName: "Ann & Bob", label: "-x")
        error.server = "https://media.example.org"
        let details = "--event-date=2026-01-02 '--org-name=Ann & Bob' --event-type=band --label=-x"
        let command = "mediactl upload --server https://media.example.org \(details) a.mp4"
        #expect(ErrorCatalog.userFacingError(of: error).hint == "upload the file again with: \(command)")
    }

    @Test(arguments: [(true, "multipart"), (false, "tus")])
    func theHintForARefusedSizeIsTheOtherTransport(isOfTusServer: Bool, transport: String) {
        var error = GigHiveError(.payloadTooLarge, httpStatus: 413).with(\.field, "transport")
        error.isOfTusServer = isOfTusServer
        #expect(ErrorCatalog.userFacingError(of: error).hint == "upload it with --transport \(transport)")
    }

    /// Only a file that is in an event is reported as being in another event.
    @Test(arguments: [(nil, "in another event, but not in this one"), ("event", "outside any event")])
    func aRefusedFileIsNotAlwaysInAnotherEvent(field: String?, place: String) {
        let error = GigHiveError(.refusedDuplicate).with(\.field, field).with(\.fileID, 18)
        let message = "the server refused the file, which it already has as 18 \(place)"
        #expect(ErrorCatalog.userFacingError(of: error).message == message)
    }

    private struct NewSystemErrorFacts: CatalogedFacts {}

    @Test func errorsOfANewSystemHaveTheMessagesOfTheTable() {
        let error = MediaError<NewSystemErrorFacts>(.rateLimited, httpStatus: 429, isRetryable: true)
        let userFacingError = ErrorCatalog.userFacingError(of: error as any Error)
        userFacingError.expectOurStyle()
        #expect(userFacingError.code == "rate_limited" && userFacingError.exitCode == .network)
        #expect(userFacingError.httpStatus == 429 && userFacingError.isRetryable)
        #expect(userFacingError.message.hasPrefix("rate limited by the server"))
        #expect(userFacingError.hint == OutcomeCode.rateLimited.hint)
        let refused = MediaError<NewSystemErrorFacts>(.badRequest, detail: "A message.", httpStatus: 400)
        #expect(ErrorCatalog.userFacingError(of: refused).message.hasSuffix("A message"))
    }

    @Test func anUnknownErrorIsInternal() {
        let userFacingError = ErrorCatalog.userFacingError(of: CancellationError())
        #expect(userFacingError.code == "internal_error" && userFacingError.exitCode == .failure)
    }

    /// An interruption has the exit code of its signal.
    @Test func codesHaveTheirPublishedExitCode() throws {
        let rows = try Repository.text("docs/exit-codes.md").matches(of: /\n\| `(\w+)` \| (\d+) \|/)
        let published = Dictionary(uniqueKeysWithValues: rows.map { (String($0.1), Int32($0.2)) })
        let codes = OutcomeTable.codes.filter { $0 != .interrupted }
        #expect(published.count == codes.count)
        for code in codes { #expect(ExitCode(code).rawValue == published[code.rawValue], "\(code.rawValue)") }
    }

    @Test func insecureIsNeverTheHint() {
        for code in OutcomeTable.codes {
            #expect(ErrorCatalog.userFacingError(of: GigHiveError(code)).hint?.contains("--insecure") != true)
        }
        let untrusted = ErrorCatalog.userFacingError(of: GigHiveError(.certificateUntrusted))
        #expect(untrusted.hint?.contains("--cacert") == true && untrusted.hint?.contains("--pinned-key") == true)
    }

    @Test(arguments: [
        StoreError.Kind.missing, .notWritable, .full, .corrupt, .newerVersion, .busy, .networkFileSystem, .unsafe,
        .other,
    ])
    func storeErrorsIncludeThePathAndAHint(kind: StoreError.Kind) {
        let userFacingError = ErrorCatalog.userFacingError(of: StoreError(kind, path: "/data", detail: "Why."))
        #expect(userFacingError.exitCode == .store)
        #expect(userFacingError.message.contains("\"/data\"") && userFacingError.message.hasSuffix(": Why"))
        #expect(userFacingError.hint?.isEmpty == false)
    }

    @Test(arguments: [
        (StoreError(.full, path: "/tmp/temporary.sqlite"), "TMPDIR"),
        (StoreError(.corrupt, path: "/data/index.sqlite"), "mediactl sync to rebuild it"),
        (StoreError(.corrupt, path: "/data/library.sqlite"), "or move it and its -wal and -shm files aside"),
    ])
    func storeErrorsStateWhatIsLost(error: StoreError, hint: String) {
        #expect(ErrorCatalog.userFacingError(of: error).hint?.contains(hint) == true)
    }

    @Test(arguments: [
        (ServerURLError.malformed("Bad"), "invalid server address"), (.unsupportedScheme("ftp"), "\"ftp\""),
        (.containsCredentials, "credentials"), (.containsPath(suggestion: "https://h"), "path"),
    ])
    func addressesAreExplained(error: ServerURLError, word: String) {
        let userFacingError = ErrorCatalog.userFacingError(of: error)
        #expect(
            userFacingError.message.contains(word) && userFacingError.exitCode == .usage && userFacingError.hint != nil
        )
    }

    @Test(arguments: [
        (
            "Failed to connect to h port 1 after 0 ms: Couldn't connect to server",
            "failed to connect to h port 1 after 0 ms"
        ),
        ("SSL connect error.", "SSL connect error"), ("a message from Ann", "a message from Ann"),
    ])
    func messagesOfLibrariesFollowOurStyle(text: String, words: String) {
        #expect(ErrorCatalog.clean(text) == words)
    }

    @Test(arguments: [
        (FileWriteError.Kind.full, "disk_full", ExitCode.store), (.io(errno: EIO), "output_failed", .failure),
        (.exists, "target_exists", .conflict), (.denied, "output_unusable", .usage),
        (.unsynced(reason: ""), "output_failed", .failure),
    ])
    func exportsThatCannotBeWritten(_ kind: FileWriteError.Kind, _ code: String, _ exitCode: ExitCode) {
        let userFacingError = ExportFile.userFacingError(of: FileWriteError(kind, path: []), Array("out.jsonl".utf8))
        #expect(userFacingError.code == code)
        #expect(userFacingError.exitCode == exitCode)
        #expect(userFacingError.message.contains("out.jsonl"))
    }

    @Test func otherHostsAreIncluded() {
        let userFacingError = ErrorCatalog.userFacingError(
            of: GigHiveError(.noDeleteToken).with(\.fileID, 18).with(\.otherHosts, ["b.example:8080"])
        )
        #expect(userFacingError.message.contains("b.example:8080"))
        #expect(userFacingError.message.contains("a different file"))
        #expect(
            userFacingError.hint?.contains("delete") == false,
            "a file on another host is never offered for deletion"
        )
    }

    @Test(arguments: [
        ([ExitCode](), ExitCode.success), ([.success, .success], .success), ([.network, .network], .network),
        ([.success, .network], .partly), ([.usage, .server], .partly),
    ])
    func batches(codes: [ExitCode], code: ExitCode) {
        #expect(ExitCode.batch(codes) == code)
    }

    @Test func resultsHaveExitCodes() {
        var result = UploadResult(path: [], fileName: "", server: "")
        let expected: [UploadState: Int32] = [
            .planned: 0, .done: 0, .duplicate: 0, .sending: 6, .sent: 6, .finalized: 6, .unknownOutcome: 6,
            .tokenLost: 11, .cancelled: 130, .failed: 1, .linked: 0, .refusedDuplicate: 10,
        ]
        for state in UploadState.allCases {
            result.state = state
            #expect(result.exitCode.rawValue == expected[state])
        }
        result.state = .done
        result.error = GigHiveError(.checksumMismatch)
        #expect(result.exitCode == .integrity)
    }
}
