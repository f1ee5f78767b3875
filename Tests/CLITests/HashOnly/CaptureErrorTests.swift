import CaptureSubmission
import Foundation
import MediaStore
import MediaTransport
import Testing

@testable import HashCapture
@testable import MediaCLI

@Suite struct CaptureErrorTests {
    @Test(arguments: OutcomeTable.codes)
    func everyCodeHasAMessageInOurStyle(code: OutcomeCode) {
        for error in [
            CaptureError(code),
            CaptureError(
                code,
                detail: "It said \u{1b}[31mso.",
                httpStatus: 500,
                path: Array("a\u{1b}.jpg".utf8),
                value: "x\u{7}"
            ).with(\.parts, [("depth_analysis", 190)]),
        ] {
            let userFacingError = ErrorCatalog.userFacingError(of: error)
            userFacingError.expectOurStyle()
            // No key of this program is described as verified.
            let texts = [userFacingError.message, userFacingError.hint ?? ""]
            #expect(code == .unverifiedPhoto || !texts.contains { $0.contains("verified") })
            #expect(userFacingError.code == code.rawValue && userFacingError.httpStatus == error.httpStatus)
        }
    }

    @Test func errorsOfLowerLayersKeepTheirMessages() {
        let store = CaptureError(.storeUnusable, underlying: StoreError(.corrupt, path: "/d/library.sqlite"))
        #expect(ErrorCatalog.userFacingError(of: store).message.contains("\"/d/library.sqlite\" is not a usable store"))
        let network = CaptureError(.transport, underlying: TransportError(.unknownHost, detail: "Why."))
        let userFacingError = ErrorCatalog.userFacingError(of: network)
        #expect(userFacingError.code == "unknown_host" && userFacingError.exitCode == .network)
    }

    @Test func sizesOfPartsAreReported() {
        let userFacingError = ErrorCatalog.userFacingError(
            of: CaptureError(.payloadTooLarge).with(\.parts, [("metadata", 9000), ("depth_analysis", 190)])
        )
        #expect(userFacingError.details == ["metadata: 9000 bytes", "depth_analysis: 190 bytes"])
    }

    private static func record(_ id: String = "i", profile: String = "mediactl-1") -> CaptureRecord {
        CaptureRecord(
            id: id,
            server: "http://h",
            profile: profile,
            mode: .hashOnly,
            mediaHash: "",
            mediaType: "photo",
            createdAt: .distantPast
        )
    }

    // Hash-only contract 1.3 and section 8.
    @Test(
        arguments: [
            (.accepted, 0), (.pending, 1), (.queued, 6), (.submitted, 6), (.unknownOutcome, 6), (.rejected, 2),
        ] as [(CaptureRecord.State, Int32)]
    )
    func statesHaveExitCodes(state: CaptureRecord.State, exitCode: Int32) {
        var record = Self.record()
        record.state = state
        #expect(CaptureItem(CaptureOutcome(record: record), path: nil).exitCode.rawValue == exitCode)
        record.errorCode = OutcomeCode.duplicate.rawValue
        let kept = CaptureItem(CaptureOutcome(record: record), path: nil).exitCode
        #expect(kept == (state == .accepted ? .success : .conflict))
    }

    // Hash-only contract 1.3 and section 8: a query or an automatic retry would not help.
    @Test(
        arguments: [
            ("reference", CaptureRecord.State.unknownOutcome, 0), ("mediactl-1", .unknownOutcome, 0),
            ("mediactl-1", .pending, 3),
        ]
    )
    func resultsThatNeedAResendSuggestIt(profile: String, state: CaptureRecord.State, failures: Int) throws {
        var record = Self.record("5f0c2a91-x", profile: profile)
        (record.state, record.signingFailures) = (state, failures)
        var outcome = CaptureOutcome(record: record)
        outcome.needsResend = profile == "mediactl-1" && state == .unknownOutcome
        let item = CaptureItem(outcome, path: nil)
        let hint = try #require(item.error?.hint)
        #expect(hint.hasSuffix("mediactl hash-only retry 5f0c2a91 --resend"))
        // The server was queried, but shows the capture only to the device that submitted it.
        #expect(hint.contains("cannot be queried") == (profile == "reference"))
        let lines = TextRenderer.capture(item, style: Style(.never, isTerminal: false, environment: [:]))
        #expect(lines.last?.hasSuffix("5f0c2a91 --resend") == true)
    }

    /// The server has the data of the earlier submission, not that of this record.
    @Test func dataOfAnEarlierSubmissionIsNotReportedAsPublic() {
        var record = Self.record()
        record.state = .accepted
        let isPublic = [CaptureNotice.capturedAtIsPublic("2026-05-01T00:00:00Z"), .coordinatesArePublic(decimals: 4)]
        let first = CaptureItem(CaptureOutcome(record: record, notices: isPublic), path: nil)
        #expect(first.notices == isPublic)
        let earlier = CaptureItem(CaptureOutcome(record: record, notices: isPublic + [.acceptedEarlier]), path: nil)
        #expect(earlier.notices == [.acceptedEarlier] && earlier.exitCode == .success)
    }

    /// One resend is allowed, after which nothing can be done.
    @Test(arguments: [(1, true), (2, false)]) func aSecondResendIsNotSuggested(submissions: Int, isSuggested: Bool) {
        var record = Self.record("5f0c2a91-x", profile: "reference")
        (record.state, record.submissions) = (.unknownOutcome, submissions)
        let item = CaptureItem(CaptureOutcome(record: record), path: nil)
        let lines = TextRenderer.capture(item, style: Style(.never, isTerminal: false, environment: [:]))
        for text in lines + [item.error?.hint ?? ""] {
            #expect(text.contains("hash-only retry") == (isSuggested && text != lines.first), "\(text)")
        }
    }

    /// A query may just have shown that the server does not have the capture.
    @Test(arguments: [CaptureOperation.submission, .upload("mediactl hash-only retry 5f0c2a91")])
    func anUnknownOutcomeIsNotReportedAsProbable(_ operation: CaptureOperation) {
        let error = ErrorCatalog.userFacingError(of: CaptureError(.unknownOutcome, httpStatus: 409), in: operation)
        error.expectOurStyle()
        #expect(error.hint?.contains("probably") == false && error.hint?.contains("hash-only retry") == true)
    }

    /// `retry` does not repeat registrations or verifications.
    @Test(arguments: [CaptureOperation.registration, .verification])
    func onlyUnfinishedCapturesAreRetried(_ operation: CaptureOperation) {
        for code in [OutcomeCode.serverError, .transport, .clockWrong, .unknownOutcome] {
            let error = ErrorCatalog.userFacingError(of: CaptureError(code, httpStatus: 503), in: operation)
            error.expectOurStyle()
            let isOfCapture = operation == .verification && code == .unknownOutcome
            #expect(error.hint?.contains("hash-only retry") == isOfCapture, "\(error)")
            #expect(isOfCapture || !error.message.contains("capture"))
        }
    }

    /// This is a different server, whatever its page contains.
    @Test func aMissingRouteIsReportedAsAnotherServer() {
        let found = CaptureError(.notFound, detail: "status 404, an HTML page", httpStatus: 404)
        let error = ErrorCatalog.userFacingError(of: found, in: .registration)
        error.expectOurStyle()
        #expect(error.message == "no capture server at this address (404)" && error.code == "not_found")
        #expect(error.hint?.hasPrefix("check --server") == true && error.exitCode == .notFound)
    }

    /// A full upload may be too large; a hash is not.
    @Test(arguments: [(CaptureOperation.submission, false), (.upload("c"), true)])
    func onlyUploadsOfMediaAreTooLarge(_ operation: CaptureOperation, _ isUpload: Bool) {
        let error = ErrorCatalog.userFacingError(of: CaptureError(.payloadTooLarge, httpStatus: 413), in: operation)
        #expect(error.hint?.contains("--send-media") == isUpload)
    }

    @Test(
        arguments: [
            CaptureNotice.noDepth, .depthUnavailable, .sceneNotReal, .recordedAsSuspicious, .labeledByServer,
            .capturedAtIsPublic("2026-05-01T00:00:00Z"), .coordinatesArePublic(decimals: 4), .coarseLocationOmitted,
            .captureTimeUnknown, .timeWithoutZone, .optionsNotSent(CaptureNotice.Option.allCases),
            .disclosedEarlier(CaptureNotice.Option.allCases), .acceptedEarlier, .placeUnknown, .nearBorder([]),
            .nearBorder([
                PlaceCandidate(city: "Detroit", country: "US", kilometers: 2),
                PlaceCandidate(city: nil, country: "CA", kilometers: 2.3),
            ]),
            .depthFromKeyframes, .notObserved, .clockDiffers(seconds: -61),
        ]
    )
    func noticesAreSentencesWithACode(notice: CaptureNotice) {
        #expect(notice.code.wholeMatch(of: /[a-z_]+/) != nil)
        #expect(!notice.words.isEmpty && !notice.words.hasSuffix("."))
        #expect(notice.words.prefix(1) == notice.words.prefix(1).lowercased())
    }
}
