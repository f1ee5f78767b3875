import Foundation
import GigHive
import MediaFiles
import MediaStore
import MediaTransport
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
                field: "event_date",
                value: "x",
                limit: 5,
                fileID: 18,
                rescuePath: "/r",
                otherHosts: ["h"],
                retryAfterSeconds: 3,
                store: StoreError(.full, path: "/d")
            ),
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

    private struct NewSystemError: CatalogedError {
        var code: OutcomeCode
        var detail = ""
        var path: [UInt8]?
        var value: String?
        var httpStatus: Int?
        var isRetryable = false
    }

    @Test func errorsOfANewSystemHaveTheMessagesOfTheTable() {
        let error = NewSystemError(code: .rateLimited, httpStatus: 429, isRetryable: true)
        let userFacingError = ErrorCatalog.userFacingError(of: error as any Error)
        userFacingError.expectOurStyle()
        #expect(userFacingError.code == "rate_limited" && userFacingError.exitCode == .network)
        #expect(userFacingError.httpStatus == 429 && userFacingError.isRetryable)
        #expect(userFacingError.message.hasPrefix("rate limited by the server"))
        #expect(userFacingError.hint == OutcomeCode.rateLimited.hint)
        let refused = NewSystemError(code: .badRequest, detail: "A message.", httpStatus: 400)
        #expect(ErrorCatalog.userFacingError(of: refused).message.hasSuffix("A message"))
    }

    @Test func anUnknownErrorIsInternal() {
        let userFacingError = ErrorCatalog.userFacingError(of: CancellationError())
        #expect(userFacingError.code == "internal_error" && userFacingError.exitCode == .failure)
    }

    // The exit codes of docs/exit-codes.md, one row per code.
    @Test(
        arguments: [
            (OutcomeCode.invalidDetail, 2), (.fileNotFound, 2), (.fileUnreadable, 2), (.isDirectory, 2),
            (.notRegularFile, 2), (.emptyFile, 2), (.fileTooLarge, 2), (.unknownExtension, 2), (.uploadInProgress, 10),
            (.storeUnusable, 12), (.badRequest, 2), (.unauthorized, 4), (.forbidden, 4), (.notFound, 5),
            (.requestTimeout, 6), (.payloadTooLarge, 2), (.unsupportedMedia, 2), (.locked, 10), (.rateLimited, 6),
            (.conflict, 10), (.serverError, 7), (.redirected, 1), (.unexpectedResponse, 7), (.unknownHost, 6),
            (.cannotConnect, 6),
            (.tlsFailed, 6), (.certificateUntrusted, 6), (.certificateNameMismatch, 6), (.pinnedKeyMismatch, 6),
            (.networkTimeout, 6), (.connectionLost, 6), (.unknownOutcome, 6), (.checksumMismatch, 8),
            (.sourceChanged, 13),
            (.tokenLost, 11), (.tokenNotStored, 12), (.invalidDeleteToken, 11), (.noDeleteToken, 11), (.idReused, 11),
            (.notDeleted, 7), (.otherFilesDeleted, 7), (.filterUnavailable, 2), (.adminUnverified, 1),
            (.tusUnavailable, 5), (.uploadExpired, 5), (.notResumable, 10),
            (.invalidEventLink, 4), (.termsNotAccepted, 2), (.cancelled, 130), (.internalError, 1),
        ] as [(OutcomeCode, Int32)]
    )
    func codesHaveTheirPublishedExitCode(code: OutcomeCode, exitCode: Int32) {
        #expect(ExitCode(code).rawValue == exitCode)
    }

    @Test func insecureIsNeverTheHint() {
        for code in OutcomeTable.codes {
            #expect(ErrorCatalog.userFacingError(of: GigHiveError(code)).hint?.contains("--insecure") != true)
        }
        let untrusted = ErrorCatalog.userFacingError(of: GigHiveError(.certificateUntrusted))
        #expect(untrusted.hint?.contains("--cacert") == true && untrusted.hint?.contains("--pinned-key") == true)
    }

    @Test(arguments: [
        StoreError.Kind.notWritable, .full, .corrupt, .newerVersion, .busy, .networkFileSystem, .unsafe, .other,
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
        (StoreError(.corrupt, path: "/data/library.sqlite"), "restore a copy"),
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
    ])
    func exportsThatCannotBeWritten(_ kind: FileWriteError.Kind, _ code: String, _ exitCode: ExitCode) {
        let userFacingError = ExportFile.userFacingError(of: FileWriteError(kind, path: []), Array("out.jsonl".utf8))
        #expect(userFacingError.code == code)
        #expect(userFacingError.exitCode == exitCode)
        #expect(userFacingError.message.contains("out.jsonl"))
    }

    @Test func otherHostsAreIncluded() {
        let userFacingError = ErrorCatalog.userFacingError(
            of: GigHiveError(.noDeleteToken, fileID: 18, otherHosts: ["b.example:8080"])
        )
        #expect(userFacingError.message.contains("b.example:8080"))
        #expect(userFacingError.message.contains("another file"))
        #expect(
            userFacingError.hint?.contains("delete") == false,
            "a file of another host is never offered for deletion"
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
