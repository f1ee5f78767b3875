import Testing

@testable import MediaCLI
@testable import PhotoSync

@Suite struct SyncProgressTests {
    private func pull(_ photos: Int64, of expected: Int64?, attempt: Int = 1) -> PullProgress {
        PullProgress(photos: photos, pages: 1, expected: expected, attempt: attempt)
    }

    // Calculated by hand: 400 photos in 2 s are 200/s, and the other 600 take 3 s.
    @Test func pullShowsCountRateAndTimeLeft() throws {
        let test = try TestConsole()
        let console = test.console(environment: ["TERM": "xterm"], isTerminal: true)
        let display = RunDisplay<PullProgress>(console)
        display.update(pull(0, of: 1000))
        test.advance(.seconds(2))
        display.update(pull(400, of: 1000))
        #expect(test.errors.hasSuffix("400 of 1000 photos  40%  200/s  ETA 0:03\n"))
        #expect(test.output.isEmpty)
    }

    // A listing may grow while it is read (trap 19), and stored files are larger than the uploaded ones (trap 12).
    @Test func percentageNeverExceedsOneHundred() {
        #expect(pull(1100, of: 1000).line(rate: 5) == "1000 of 1000 photos  100%  5/s")
        var progress = DownloadProgress()
        (progress.photos, progress.photosDone, progress.bytes, progress.bytesReceived) = (2, 1, 1000, 1200)
        #expect(progress.percent == 100)
        #expect(progress.line(rate: nil) == "1 of 2 photos  1.00 kB of 1.00 kB  100%")
    }

    @Test func incrementalPullHasNoTotal() {
        #expect(pull(12, of: nil).line(rate: 6) == "12 photos  6/s")
        #expect(pull(12, of: nil, attempt: 2).line(rate: nil) == "12 photos  restarted, attempt 2")
    }

    @Test func pushReadsAndThenUploads() {
        var progress = PushProgress()
        (progress.filesFound, progress.filesHashed, progress.bytesHashed) = (10, 4, 2_000_000)
        #expect(progress.line(rate: 1e6) == "4 of 10 files checked  2.00 MB read  1.00 MB/s")
        (progress.filesHashed, progress.filesToSend, progress.bytesToSend) = (10, 3, 3_000_000)
        (progress.filesSent, progress.bytesSent) = (1, 1_500_000)
        #expect(
            progress.line(rate: 5e5)
                == "1 of 3 photos uploaded  1.50 MB of 3.00 MB  50%  500 kB/s  ETA 0:03"
        )
        (progress.filesSent, progress.bytesSent) = (3, 3_000_000)
        #expect(
            progress.line(rate: 5e5)
                == "3 of 3 photos uploaded  3.00 MB of 3.00 MB  100%  verifying the uploads"
        )
    }

    @Test func plainLinesComeEveryTenSecondsOrTenPercent() throws {
        let test = try TestConsole()
        let display = RunDisplay<PullProgress>(test.console())
        display.update(pull(50, of: 1000))
        test.advance(.seconds(2))
        display.update(pull(60, of: 1000))
        #expect(test.errors.isEmpty)
        display.update(pull(150, of: 1000))
        #expect(test.errors == "150 of 1000 photos  15%  50/s  ETA 0:17\n")
        test.advance(.seconds(9))
        display.update(pull(160, of: 1000))
        test.advance(.seconds(1))
        display.tick()
        #expect(test.errors.split(separator: "\n").count == 2)
    }

    @Test func quietShowsNothing() throws {
        let test = try TestConsole()
        let display = RunDisplay<PullProgress>(
            test.console(OutputPreferences(isQuiet: true), isTerminal: true)
        )
        display.update(pull(50, of: 1000))
        test.advance(.seconds(60))
        display.tick()
        #expect(test.errors.isEmpty)
    }

    @Test func recordsComeOnceASecond() throws {
        let test = try TestConsole()
        let display = RunDisplay<PullProgress>(
            test.console(OutputPreferences(isJSON: true, writesProgress: true, isQuiet: true))
        )
        for photos in 1...10 {
            display.update(pull(Int64(photos), of: nil))
            test.advance(.milliseconds(250))
        }
        #expect(test.output.split(separator: "\n").count == 3)
        #expect(test.output.contains(#""photos":5,"pages":1,"expected":null,"attempt":1,"elapsed_ms":1000"#))
    }

    @Test func statusIsPrintedOnRequest() async throws {
        let test = try TestConsole()
        let display = RunDisplay<PullProgress>(
            test.console(OutputPreferences(isQuiet: true))
        )
        await display.during {
            test.interruption.receiveStatusRequest()
            display.update(pull(7, of: nil))
            test.interruption.receiveStatusRequest()
        }
        test.interruption.receiveStatusRequest()
        #expect(test.errors == "mediactl: no progress yet\n7 photos\n")
    }
}
