import Foundation
import MediaCore
import Testing

@testable import MediaCLI
@testable import MediaStore
@testable import Tapes

@Suite struct TapeErrorTests {
    @Test(arguments: OutcomeTable.codes)
    func everyCodeHasAMessageInOurStyle(code: OutcomeCode) {
        for error in [
            TapesError(code),
            TapesError(
                code,
                detail: "It said \u{1b}[31mso.",
                path: Array("a\u{1b}.jpg".utf8),
                value: "x\u{7}",
                underlying: AlbumError(.insufficient(["album.read"]), detail: "No\u{1b}.")
            ).with(\.candidates, ["a\u{7}", "b"]),
        ] {
            let userFacingError = ErrorCatalog.userFacingError(of: error)
            userFacingError.expectOurStyle()
            #expect(userFacingError.code == code.rawValue)
        }
    }

    @Test func errorsOfLowerLayersKeepTheirText() {
        let store = TapesError(.storeUnusable, underlying: StoreError(.corrupt, path: "/d/library.sqlite"))
        #expect(ErrorCatalog.userFacingError(of: store).exitCode == .store)
        let down = TapesError(
            .libraryUnusable,
            underlying: AlbumError(.unreachable(retryAfter: nil), detail: "No way.")
        )
        let userFacingError = ErrorCatalog.userFacingError(of: down)
        #expect(
            userFacingError.exitCode == .network && userFacingError.isRetryable
                && userFacingError.message.hasSuffix(": No way")
        )
        for other in [
            TapesError(.libraryUnusable, underlying: AlbumError(.libraryChanged)),
            TapesError(.libraryUnusable, value: "library_changed"),
        ] { #expect(ErrorCatalog.userFacingError(of: other).exitCode == .conflict) }
    }

    // Contract 2.3: each reason has one sentence.
    @Test func reasonsHaveOneSentenceEach() {
        let words = AssociationReason.allCases.map(\.words)
        #expect(Set(words).count == words.count)
        for line in words + AssociationReason.allCases.compactMap(\.hint) {
            #expect(!line.isEmpty && !line.hasSuffix(".") && line.prefix(1) == line.prefix(1).lowercased())
        }
        #expect(AssociationReason.allCases.allSatisfy { $0.exitCode != .success })
    }

    // MARK: The one warning (R9)

    private static let link = AlbumLink(
        tapeID: "t",
        libraryID: "folder:l",
        albumID: "a",
        titleAtCreation: "Tapes – T",
        createdAt: Date(timeIntervalSince1970: 0)
    )

    @Test(
        arguments: [
            (
                AlbumOutcome(state: .pending, reason: .unreachable, pendingClips: 3), 3,
                "3 clips saved; their album was not updated (library unreachable) - will retry"
            ),
            (
                AlbumOutcome(state: .pending, reason: .unreachable, detail: "Connection refused.", pendingClips: 1), 1,
                "1 clip saved; its album was not updated (library unreachable: connection refused) - will retry"
            ),
            (
                AlbumOutcome(state: .partly, link: link, reason: .assetRejected, pendingClips: 1), 2,
                "2 clips saved; 1 clip is not in the album (the library refused the original)"
            ),
            (
                AlbumOutcome(
                    state: .pending,
                    reason: .accessLimited,
                    missingPermissions: ["album.create"],
                    pendingClips: 1
                ),
                1,
                "1 clip saved; its album was not updated (access to the library is limited: album.create missing) - will retry once access is granted"
            ),
            (
                AlbumOutcome(state: .pending, reason: .libraryChanged, pendingClips: 1), 1,
                "1 clip saved; its album was not updated (a different library is now at this address) - will retry once the album's library is available again"
            ),
            (
                AlbumOutcome(state: .pending, reason: .internalError, detail: "400", pendingClips: 1), 1,
                "1 clip saved; its album was not updated (internal error: 400)"
            ),
            (
                AlbumOutcome(
                    state: .pending,
                    reason: .unreachable,
                    detail: "damaged",
                    isAlbumDamaged: true,
                    pendingClips: 1
                ),
                1, "1 clip saved; its album was not updated (damaged) - will retry"
            ),
            (
                AlbumOutcome(state: .associated, link: link, hiddenClips: 2), 2,
                "2 clips are in the library's trash and invisible until you restore them there"
            ),
            (AlbumOutcome(state: .associated, link: link, addedClips: 2), 2, nil), (AlbumOutcome.skipped, 1, nil),
        ] as [(AlbumOutcome, Int, String?)]
    )
    func albumsHaveOneWarning(outcome: AlbumOutcome, count: Int, text: String?) {
        #expect(AlbumWarning(saved: Formats.count(count, "clip"), count: count, outcome)?.text == text)
    }

    /// Remedies for a folder do not help with a server, and neither do remedies for a different cause.
    @Test(
        arguments: [
            (
                .libraryMissing,
                "if the library is lost: mediactl tapes library init --yes, then mediactl tapes album unlink"
            ),
            (.markerDamaged, "without a backup, remove it, then: mediactl tapes library init --yes"),
            (.otherFolder, "for an album that is here: mediactl tapes album link TAPE ALBUM"),
            (
                .otherAccount,
                "with user.read for the account that has the albums: mediactl tapes library init --api-key-file"
            ),
            (.newerVersion, "use the version of mediactl that wrote it, or a later one"),
        ] as [(AlbumObstacle, String)]
    )
    func hintsAreAboutTheCause(obstacle: AlbumObstacle, part: String) throws {
        let outcome = AlbumOutcome(
            state: .pending,
            reason: .libraryChanged,
            detail: "the cause",
            obstacle: obstacle,
            pendingClips: 1
        )
        let warning = try #require(AlbumWarning(saved: "1 clip", count: 1, outcome))
        #expect(warning.hint?.contains(part) == true && warning.text.contains("was not updated (the cause)"))
        let refusal = AlbumError(.libraryChanged, obstacle: obstacle)
        let error = TapesError(.libraryUnusable, value: "library_changed", underlying: refusal)
        #expect(ErrorCatalog.userFacingError(of: error).hint == warning.hint)
        #expect(warning.hint?.contains("api-key") == (obstacle == .otherAccount))
    }

    /// The code of the last failure; 0.1.0 could store a message instead.
    @Test(
        arguments: [
            ("library_changed", " (a different library is now at this address)"), ("words", ""), (nil, ""),
        ] as [(String?, String)]
    )
    func aPendingDeletionHasACode(lastError: String?, words: String) {
        var stone = AlbumTombstone(libraryID: "l", albumID: "a", tapeTitle: "Sea")
        stone.lastError = lastError
        let item = ReconcileRun.Item(stone)
        #expect(item.json["detail"]?.text == lastError)
        #expect(item.json["reason"]?.text == (words.isEmpty ? nil : lastError))
        let text = item.text(Style(.never, isTerminal: false, environment: [:]))
        #expect(text == ["the album of the deleted tape \"Sea\" would be deleted\(words)"])
    }

    /// Nothing is saved by an export to standard output.
    @Test(arguments: [
        (nil, "the album of the tape was not updated (library unreachable) - will retry"),
        ("\"a.m3u8\"", "\"a.m3u8\" saved; the album of the tape was not updated (library unreachable) - will retry"),
    ])
    func exportsHaveAWarningOfTheirTarget(saved: String?, text: String) {
        let outcome = AlbumOutcome(state: .pending, reason: .unreachable, pendingClips: 1)
        #expect(AlbumWarning(saved: saved, count: nil, outcome)?.text == text)
    }

    @Test func interruptedWorkIsReported() {
        let warning = AlbumWarning(saved: "1 clip", count: 1, nil)
        #expect(warning?.text == "1 clip saved; its album was not updated (interrupted) - will retry")
    }
}
