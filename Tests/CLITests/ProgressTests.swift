import Foundation
import GigHive
import MediaTransport
import Synchronization
import Testing

@testable import MediaCLI

@Suite struct ProgressTests {
    let test: TestConsole

    init() throws { test = try TestConsole() }

    private func progress(
        _ phase: TransferProgress.Phase,
        _ bytes: Int64,
        of total: Int64 = 1_000_000
    ) -> UploadEvent {
        .progress(TransferProgress(phase: phase, bytesAcknowledged: bytes, bodyByteCount: total))
    }

    @Test func terminalShowsRateAndTimeLeft() throws {
        let display = ProgressDisplay(
            test.console(isTerminal: true),
            mode: .terminal
        )
        display.begin(0, path: Array("a\u{1b}.mp4".utf8), byteCount: 1_000_000)
        display.handle(0, progress(.sending, 0))
        test.advance(.seconds(2))
        display.handle(0, progress(.sending, 500_000))
        test.advance(.seconds(1))
        display.handle(0, progress(.processing, 1_000_000))
        test.advance(.seconds(42))
        display.tick()
        display.end(0, byteCount: 1_000_000, isGood: true)
        display.close()
        let lines = test.errors.split(separator: "\n").map(String.init)
        #expect(lines[0] == "a\\u{1b}.mp4  connecting")
        #expect(lines.contains { $0.hasSuffix("500 kB of 1.00 MB  50%  250 kB/s  ETA 0:02") })
        #expect(lines.contains { $0.hasSuffix("1.00 MB sent  server is processing (0:42)") })
        #expect(test.errors.hasSuffix("\r\u{1b}[1A\u{1b}[J"))
        #expect(test.output.isEmpty)
    }

    @Test func aWaitHasItsAttemptItsReasonAndACountdown() throws {
        let display = ProgressDisplay(test.console(isTerminal: true), mode: .terminal)
        display.begin(0, path: Array("a.mp4".utf8), byteCount: 1_000_000)
        let cause = GigHiveError(.serverUnavailable, httpStatus: 503)
        func expectLine(_ ending: String) {
            test.advance(.seconds(4))
            display.tick()
            #expect(test.errors.split(separator: "\n").last?.hasSuffix(ending) == true, "\(test.errors)")
        }
        display.handle(0, .retrying(attempt: 3, after: .seconds(10), because: cause))
        expectLine("a.mp4  waiting for attempt 4 (server unavailable, 503), 0:06 left")
        // The next request waits as well: all requests to the server wait after a 503.
        display.handle(0, .progress(TransferProgress(phase: .waitingToRetry, attempt: 1, wait: .seconds(9))))
        expectLine("a.mp4  waiting for attempt 4 (server unavailable, 503), 0:05 left")
        display.handle(0, progress(.sending, 0))
        display.handle(0, .retrying(attempt: 10, after: .seconds(5), because: GigHiveError(.serverRace)))
        expectLine("a.mp4  waiting for attempt 11 (server race), 0:01 left")
    }

    @Test func linesAreNeverWrapped() throws {
        let display = ProgressDisplay(
            test.console(isTerminal: true, columns: 30),
            mode: .terminal
        )
        display.begin(
            0,
            path: Array(String(repeating: "日", count: 200).utf8),
            byteCount: 5_000_000_000
        )
        test.advance(.seconds(3))
        display.handle(0, progress(.sending, 77_777_777, of: 5_000_000_000))
        for line in test.errors.replacing("\r\u{1b}[1A\u{1b}[J", with: "").split(separator: "\n") {
            #expect(line.unicodeScalars.reduce(0) { $0 + ($1.value > 0x2000 && $1 != "…" ? 2 : 1) } <= 29)
        }
    }

    @Test func plainPrintsALineEveryTenSecondsOrTenPercent() throws {
        let display = ProgressDisplay(test.console(), mode: .plain)
        display.begin(0, path: Array("a.mp4".utf8), byteCount: 1_000_000)
        display.handle(0, progress(.sending, 50_000))
        #expect(test.errors.isEmpty)
        test.advance(.seconds(2))
        display.handle(0, progress(.sending, 90_000))
        #expect(test.errors.isEmpty)
        display.handle(0, progress(.sending, 110_000))
        #expect(test.errors.split(separator: "\n").count == 1)
        test.advance(.seconds(9))
        display.handle(0, progress(.sending, 120_000))
        #expect(test.errors.split(separator: "\n").count == 1)
        test.advance(.seconds(1))
        display.tick()
        #expect(test.errors.split(separator: "\n").count == 2)
        #expect(!test.errors.contains("\r") && !test.errors.contains("\u{1b}"))
    }

    @Test func silentPrintsNothingButHandlesSIGUSR1() throws {
        let display = ProgressDisplay(test.console(), mode: .silent)
        display.begin(0, path: Array("a.mp4".utf8), byteCount: 1_000_000)
        test.advance(.seconds(60))
        display.handle(0, progress(.sending, 500_000))
        #expect(test.errors.isEmpty)
        // Captured weakly, because the display references the console, and the console references the interruption.
        test.interruption.onStatusRequest { [weak display] in display?.showStatus() }
        test.interruption.receiveStatusRequest()
        #expect(test.errors == "a.mp4  500 kB of 1.00 MB  50%\n")
    }

    @Test func recordsComeOncePerSecondAndPhase() throws {
        let display = ProgressDisplay(
            test.console(OutputPreferences(isJSON: true, writesProgress: true)),
            mode: .silent
        )
        display.begin(0, path: Array("a.mp4".utf8), byteCount: 1_000_000)
        display.handle(0, progress(.sending, 1))
        display.handle(0, progress(.sending, 2))
        test.advance(.seconds(1))
        display.handle(0, progress(.sending, 500_000))
        let lines = test.output.split(separator: "\n")
        #expect(lines.count == 3)
        #expect(
            lines.last
                == #"{"schema":"mediactl.upload/1","type":"progress","path":"a.mp4","phase":"sending","bytes_acknowledged":500000,"size_bytes":1000000,"attempt":1,"elapsed_ms":1000}"#
        )
    }

    @Test func waitingIsReportedOnce() throws {
        let display = ProgressDisplay(test.console(), mode: .plain)
        display.begin(0, path: Array("a.mp4".utf8), byteCount: 10)
        #expect(!display.isPastLastByte)
        display.handle(0, progress(.processing, 10, of: 10))
        #expect(display.isPastLastByte)
        display.stop(waitingFor: nil)
        display.handle(0, .waitingForToken)
        #expect(test.errors == "mediactl: waiting for the delete token; press Ctrl-C again to abandon it\n")
    }

    /// SIGTERM and SIGHUP come from programs: there is no user to press a key.
    @Test func waitingIsLimitedWithoutAUser() throws {
        let display = ProgressDisplay(test.console(), mode: .plain)
        display.begin(0, path: Array("a.mp4".utf8), byteCount: 10)
        display.stop(waitingFor: .seconds(30))
        #expect(test.errors.isEmpty)
        display.handle(0, .waitingForToken)
        #expect(test.errors == "mediactl: waiting up to 30 s for the delete token\n")
    }

    @Test func noTokenIsPromisedDuringTheQuery() throws {
        let display = ProgressDisplay(test.console(), mode: .plain)
        display.begin(0, path: Array("a.mp4".utf8), byteCount: 10)
        display.handle(0, .resolving(for: .seconds(330)))
        test.forget()
        display.stop(waitingFor: nil)
        display.handle(0, .waitingForToken)
        #expect(test.errors.isEmpty)
    }

    @Test func messagesGoAboveTheDrawnLine() throws {
        let console = test.console(environment: ["TERM": "xterm"], isTerminal: true)
        let display = ProgressDisplay(console, mode: .terminal)
        display.begin(0, path: Array("a.mp4".utf8), byteCount: 10)
        console.warning("w")
        #expect(
            test.errors
                == "a.mp4  connecting\n\r\u{1b}[1A\u{1b}[Jmediactl: warning: w\n"
                .replacing("warning:", with: "\u{1b}[33mwarning:\u{1b}[0m")
        )
    }

    @Test func rateFollowsTheLastTenSeconds() {
        var rate = TransferRate()
        rate.add(bytes: 0, at: .zero)
        #expect(rate.bytesPerSecond == nil)
        rate.add(bytes: 1000, at: .seconds(10))
        #expect(rate.bytesPerSecond == 100)
        rate.add(bytes: 11_000, at: .seconds(20))
        #expect(rate.bytesPerSecond == 1000)
        rate.add(bytes: 0, at: .seconds(21))
        #expect(rate.bytesPerSecond == nil)
    }

    // MARK: Many files

    private func batch(_ test: TestConsole, rows: Int = 24, columns: Int = 80) -> ProgressDisplay {
        ProgressDisplay(
            test.console(environment: ["TERM": "xterm"], isTerminal: true, columns: columns, rows: rows),
            mode: .terminal,
            fileCount: 4,
            byteCount: 4_000_000
        )
    }

    /// The lines on the screen after all output.
    private func screen(_ test: TestConsole) -> [String] {
        let last = test.errors.components(separatedBy: "\u{1b}[J").last ?? ""
        return last.split(separator: "\n").map(String.init)
    }

    @Test func oneLinePerTransferAndOneTotal() throws {
        let display = batch(test)
        display.begin(0, path: Array("a.mp4".utf8), byteCount: 1_000_000)
        display.begin(2, path: Array("c.mp4".utf8), byteCount: 1_000_000)
        display.handle(0, progress(.sending, 0))
        test.advance(.seconds(1))
        display.handle(0, progress(.sending, 500_000))
        #expect(
            screen(test) == [
                "[1/4] a.mp4  500 kB of 1.00 MB  50%  500 kB/s  ETA 0:01", "[3/4] c.mp4  connecting",
                "0 of 4 files  500 kB of 4.00 MB  12%  500 kB/s  ETA 0:07",
            ]
        )
        test.advance(.seconds(1))
        display.end(0, byteCount: 1_000_000, isGood: true)
        test.advance(.seconds(1))
        display.end(2, byteCount: 1_000_000, isGood: false)
        #expect(screen(test).last?.hasPrefix("2 of 4 files  2.00 MB of 4.00 MB  50%") == true)
        #expect(screen(test).last?.hasSuffix("1 failed") == true)
        display.close()
        #expect(screen(test).isEmpty)
    }

    /// A multipart body is longer than its file.
    @Test func totalCountsOnlyTheBytesOfFiles() {
        let display = batch(test)
        display.begin(0, path: Array("a.mp4".utf8), byteCount: 800_000)
        test.advance(.seconds(1))
        display.handle(0, progress(.sending, 900_000))
        #expect(screen(test).first?.hasPrefix("[1/4] a.mp4  900 kB of 1.00 MB  90%") == true)
        #expect(screen(test).last?.hasPrefix("0 of 4 files  800 kB of 4.00 MB  20%") == true)
    }

    @Test func linesDoNotExceedTheTerminalHeight() throws {
        let display = batch(test, rows: 4)
        for index in 0..<4 {
            test.advance(.seconds(1))
            display.begin(index, path: [0x61], byteCount: 10)
        }
        #expect(screen(test).count == 3)
        #expect(screen(test).last?.hasPrefix("0 of 4 files") == true)
    }

    @Test func itIsDrawnAtMostTenTimesASecond() throws {
        let display = batch(test)
        display.begin(0, path: [0x61], byteCount: 1_000_000)
        for step in 1...100 {
            test.advance(.milliseconds(10))
            display.handle(0, progress(.sending, Int64(step)))
        }
        #expect(test.errors.components(separatedBy: "files").count - 1 <= 11)
    }

    @Test func plainPrintsOnlyTheTotal() throws {
        let display = ProgressDisplay(
            test.console(),
            mode: .plain,
            fileCount: 3,
            byteCount: 3_000_000
        )
        for index in 0..<3 {
            display.begin(index, path: [0x61], byteCount: 1_000_000)
            display.end(index, byteCount: 1_000_000, isGood: true)
        }
        #expect(test.errors.isEmpty)
        test.advance(.seconds(10))
        display.tick()
        display.tick()
        #expect(test.errors == "3 of 3 files  3.00 MB of 3.00 MB  100%\n")
    }

    /// Files that do not need to be uploaded shorten the remaining time, although nothing is sent for them.
    @Test func timeLeftIncludesFilesThatNeedNoUpload() throws {
        let display = batch(test)
        display.begin(0, path: [0x61], byteCount: 1_000_000)
        test.advance(.seconds(1))
        display.end(0, byteCount: 1_000_000, isGood: true)
        #expect(screen(test) == ["1 of 4 files  1.00 MB of 4.00 MB  25%  ETA 0:03"])
    }

    @Test func statusSignalPrintsEveryTransfer() throws {
        let display = ProgressDisplay(
            test.console(),
            mode: .silent,
            fileCount: 2,
            byteCount: 20
        )
        display.begin(0, path: [0x61], byteCount: 10)
        display.begin(1, path: [0x62], byteCount: 10)
        display.showStatus()
        #expect(
            test.errors == "[1/2] a  connecting\n[2/2] b  connecting\n0 of 2 files  0 B of 20 B  0%\n"
        )
    }

    @Test func aNarrowedWindowIsErasedCompletely() throws {
        let columns = Mutex(80)
        let screen = ScreenArea(test.context().errors) { columns.withLock { $0 } }
        screen.draw([String(repeating: "x", count: 60), "y"])
        columns.withLock { $0 = 25 }
        screen.draw(["z"])
        // 60 columns wrap to three rows of 25, and the short line to one.
        #expect(test.errors.contains("\r\u{1b}[4A\u{1b}[J"))
    }
}
