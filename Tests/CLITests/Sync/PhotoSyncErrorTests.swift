import MediaStore
import MediaTransport
import PhotoSync
import Testing

@testable import MediaCLI

@Suite struct PhotoSyncErrorTests {
    @Test(arguments: OutcomeTable.codes)
    func everyCodeHasAMessageInOurStyle(code: OutcomeCode) {
        for error in [
            PhotoSyncError(code),
            PhotoSyncError(
                code,
                detail: "It said \u{1b}[31mso.",
                httpStatus: 500,
                path: Array("a\u{1b}.jpg".utf8),
                value: "x\u{7}",
                limit: 5,
                photoID: "p\u{1b}"
            ),
        ] {
            let userFacingError = ErrorCatalog.userFacingError(of: error)
            userFacingError.expectOurStyle()
            #expect(userFacingError.code == code.rawValue && userFacingError.httpStatus == error.httpStatus)
        }
    }

    // The exit codes of docs/exit-codes.md, one row per code.
    @Test(
        arguments: [
            (.notLoggedIn, 4), (.noDevice, 4), (.invalidDate, 2), (.fileNotFound, 2), (.fileUnreadable, 2),
            (.notRegularFile, 2), (.emptyFile, 2), (.fileTooLarge, 2), (.unknownExtension, 2), (.unknownPhoto, 5),
            (.targetUnusable, 2), (.diskFull, 12), (.storeUnusable, 12), (.neverSynchronized, 5), (.badRequest, 2),
            (.bodyTooSlow, 6), (.unauthorized, 4), (.forbidden, 4), (.notFound, 5), (.setupRequired, 7),
            (.serverError, 7), (.keyNotRotated, 7), (.invalidDevice, 4), (.redirected, 1), (.unexpectedResponse, 7),
            (.stubServer, 7), (.listingIncomplete, 7), (.repeatedCursor, 7), (.ownershipDefect, 7), (.notOwned, 10),
            (.checksumMismatch, 8), (.lengthMismatch, 8), (.sourceChanged, 13), (.targetExists, 10), (.transport, 6),
            (.cancelled, 130), (.busy, 10), (.internalError, 1), (.requestTimeout, 6), (.conflict, 10),
            (.payloadTooLarge, 2), (.unsupportedMedia, 2), (.locked, 10), (.rateLimited, 6), (.wrongPhoto, 8),
            (.unverifiedPhoto, 8), (.undeliverable, 5), (.thumbnailUnavailable, 5),
        ] as [(OutcomeCode, Int32)]
    )
    func codesHaveTheirPublishedExitCode(code: OutcomeCode, exitCode: Int32) {
        #expect(ExitCode(code).rawValue == exitCode)
    }

    // Trap 8: a 401 does not mean that a wrong key was typed.
    @Test func rejectedKeysAreExplained() {
        let hint = ErrorCatalog.userFacingError(of: PhotoSyncError(.unauthorized, httpStatus: 401)).hint ?? ""
        #expect(hint.contains("another login of the same user") && hint.contains("disabled"))
        #expect(hint.contains("mediactl login"))
    }

    // Trap 23.
    @Test func defectWarnsAgainstFurtherUploads() {
        let userFacingError = ErrorCatalog.userFacingError(of: PhotoSyncError(.ownershipDefect))
        #expect(userFacingError.hint?.contains("do not delete any local original") == true)
    }

    @Test(arguments: [
        ("/setup", " at /setup on the same host"), ("//evil.example/setup", ""), ("https://evil.example/", ""),
        ("/\\evil.example", ""), (nil, ""),
    ])
    func setupIsMentionedOnlyForAReachableServer(value: String?, words: String) {
        let userFacingError = ErrorCatalog.userFacingError(
            of: PhotoSyncError(.setupRequired, httpStatus: 503, value: value)
        )
        #expect(userFacingError.hint == "its administrator must finish the setup" + words)
    }

    @Test func rejectedPasswordIsNotAMissingLogin() {
        let refused = ErrorCatalog.userFacingError(of: PhotoSyncError(.notLoggedIn, httpStatus: 401))
        let missing = ErrorCatalog.userFacingError(of: PhotoSyncError(.notLoggedIn))
        #expect(refused.message.contains("password") && refused.exitCode == .unauthorized)
        #expect(missing.hint?.contains("mediactl login") == true && missing.exitCode == .unauthorized)
    }

    // Transport failures have the same message for all servers.
    @Test(
        arguments: [
            (.unknownHost, "unknown_host", 6), (.cannotConnect, "cannot_connect", 6),
            (.connectTimeout, "network_timeout", 6), (.stalled, "network_timeout", 6),
            (.responseTimeout, "network_timeout", 6), (.connectionLost, "connection_lost", 6),
            (.invalidResponse, "connection_lost", 6), (.certificateUntrusted, "certificate_untrusted", 6),
            (.certificateNameMismatch, "certificate_name_mismatch", 6), (.pinnedKeyMismatch, "pinned_key_mismatch", 6),
            (.tls, "tls_failed", 6), (.responseTooLarge, "unexpected_answer", 7), (.cancelled, "cancelled", 130),
            (.unusable, "internal_error", 1),
        ] as [(TransportError.Kind, String, Int32)]
    )
    func transportFailuresKeepTheirMessages(kind: TransportError.Kind, code: String, exitCode: Int32) {
        let error = PhotoSyncError(.transport, transport: TransportError(kind, detail: "Why."))
        let userFacingError = ErrorCatalog.userFacingError(of: error)
        #expect(userFacingError.code == code && userFacingError.exitCode.rawValue == exitCode)
        #expect(userFacingError.hint?.contains("--insecure") != true)
    }

    @Test func storesAreIncluded() {
        let error = PhotoSyncError(.storeUnusable, store: StoreError(.corrupt, path: "/d/library.sqlite"))
        let userFacingError = ErrorCatalog.userFacingError(of: error)
        #expect(
            userFacingError.exitCode == .store
                && userFacingError.message.contains("\"/d/library.sqlite\" is not a usable store")
        )
    }
}
