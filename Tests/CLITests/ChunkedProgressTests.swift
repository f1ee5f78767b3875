import Testing

@testable import GigHive
@testable import MediaCLI

/// The output during tus uploads to servers that count chunks.
@Suite struct ChunkedProgressTests {
    /// Some servers do not return delete tokens for uploads over tus (gighive-d4 contract section 3).
    @Test func theWaitDoesNotMentionATokenThatWillNotArrive() throws {
        let test = try TestConsole()
        let display = ProgressDisplay(test.console(), mode: .plain)
        display.begin(0, path: Array("a.mp4".utf8), byteCount: 10)
        display.handle(0, .limited(TusLimits(isWithoutToken: true)))
        display.handle(0, .finalizing)
        display.stop(waitingFor: nil)
        #expect(test.errors.hasSuffix("waiting for the server's response; press Ctrl-C again to abandon it\n"))
        display.handle(0, .restarting(because: GigHiveError(.serverError)))
        display.handle(0, .leavingUnfinished)
        #expect(
            test.errors.hasSuffix(
                "mediactl: note: the server may count the earlier upload as unfinished for up to 24 hours\n"
            )
        )
    }
}
