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
                limit: 5
            ).with(\.photoID, "p\u{1b}"),
        ] {
            let userFacingError = ErrorCatalog.userFacingError(of: error)
            userFacingError.expectOurStyle()
            #expect(userFacingError.code == code.rawValue && userFacingError.httpStatus == error.httpStatus)
        }
    }

    // Trap 8: a 401 does not mean that a wrong key was typed.
    @Test func rejectedKeysAreExplained() {
        let hint = ErrorCatalog.userFacingError(of: PhotoSyncError(.unauthorized, httpStatus: 401)).hint ?? ""
        #expect(hint.contains("another login by the same user") && hint.contains("disabled"))
        #expect(hint.contains("mediactl login"))
    }

    // The limit of 1 GiB applies only to upload servers.
    @Test func aRequestThatIsTooLargeHasTheLimitOfPhotos() {
        let hint = ErrorCatalog.userFacingError(of: PhotoSyncError(.payloadTooLarge, httpStatus: 413)).hint
        #expect(hint?.contains("50 MiB") == true && hint?.contains("1 GiB") == false)
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
        let error = PhotoSyncError(.transport, underlying: TransportError(kind, detail: "Why."))
        let userFacingError = ErrorCatalog.userFacingError(of: error)
        #expect(userFacingError.code == code && userFacingError.exitCode.rawValue == exitCode)
        #expect(userFacingError.hint?.contains("--insecure") != true)
    }

    @Test func storesAreIncluded() {
        let error = PhotoSyncError(.storeUnusable, underlying: StoreError(.corrupt, path: "/d/library.sqlite"))
        let userFacingError = ErrorCatalog.userFacingError(of: error)
        #expect(
            userFacingError.exitCode == .store
                && userFacingError.message.contains("\"/d/library.sqlite\" is not a usable store")
        )
    }
}
