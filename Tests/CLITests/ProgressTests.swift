import GigHive
import MediaTransport
import Testing

@testable import MediaCLI

@Suite struct ProgressTests {
    private func progress(
        _ phase: TransferProgress.Phase,
        _ bytes: Int64,
        of total: Int64 = 1_000_000
    ) -> UploadEvent {
        .progress(TransferProgress(phase: phase, bytesAcknowledged: bytes, bodyByteCount: total))
    }

    @Test func terminalShowsRateAndTimeLeft() throws {
        let test = try TestConsole()
        let display = ProgressDisplay(
            test.console(isTerminal: true),
            mode: .terminal,
            writesRecords: false
        )
        display.begin(path: Array("a\u{1b}.mp4".utf8), byteCount: 1_000_000, position: 2, total: 5)
        display.handle(progress(.sending, 0))
        test.advance(.seconds(2))
        display.handle(progress(.sending, 500_000))
        test.advance(.seconds(1))
        display.handle(progress(.processing, 1_000_000))
        test.advance(.seconds(42))
        display.tick()
        display.end()
        let lines = test.errors.split(separator: "\n").map(String.init)
        #expect(lines[0] == "[2/5] a\\u{1b}.mp4  connecting")
        #expect(lines.contains { $0.hasSuffix("500 kB of 1.00 MB  50 %  250 kB/s  ETA 0:02") })
        #expect(lines.contains { $0.hasSuffix("1.00 MB sent  server is processing (0:42)") })
        #expect(test.errors.hasSuffix("\r\u{1b}[1A\u{1b}[J"))
        #expect(test.output.isEmpty)
    }

    @Test func linesNeverWrap() throws {
        let test = try TestConsole()
        let display = ProgressDisplay(
            test.console(isTerminal: true, columns: 30),
            mode: .terminal,
            writesRecords: false
        )
        display.begin(
            path: Array(String(repeating: "日", count: 200).utf8),
            byteCount: 5_000_000_000,
            position: 1,
            total: 1
        )
        test.advance(.seconds(3))
        display.handle(progress(.sending, 77_777_777, of: 5_000_000_000))
        for line in test.errors.replacing("\r\u{1b}[1A\u{1b}[J", with: "").split(separator: "\n") {
            #expect(line.unicodeScalars.reduce(0) { $0 + ($1.value > 0x2000 && $1 != "…" ? 2 : 1) } <= 29)
        }
    }

    @Test func plainSaysALineEveryTenSecondsOrTenPercent() throws {
        let test = try TestConsole()
        let display = ProgressDisplay(test.console(), mode: .plain, writesRecords: false)
        display.begin(path: Array("a.mp4".utf8), byteCount: 1_000_000, position: 1, total: 1)
        display.handle(progress(.sending, 50_000))
        #expect(test.errors.isEmpty)
        test.advance(.seconds(2))
        display.handle(progress(.sending, 90_000))
        #expect(test.errors.isEmpty)
        display.handle(progress(.sending, 110_000))
        #expect(test.errors.split(separator: "\n").count == 1)
        test.advance(.seconds(9))
        display.handle(progress(.sending, 120_000))
        #expect(test.errors.split(separator: "\n").count == 1)
        test.advance(.seconds(1))
        display.tick()
        #expect(test.errors.split(separator: "\n").count == 2)
        #expect(!test.errors.contains("\r") && !test.errors.contains("\u{1b}"))
    }

    @Test func silentSaysNothingButAnswersSIGUSR1() throws {
        let test = try TestConsole()
        let display = ProgressDisplay(test.console(), mode: .silent, writesRecords: false)
        display.begin(path: Array("a.mp4".utf8), byteCount: 1_000_000, position: 1, total: 1)
        test.advance(.seconds(60))
        display.handle(progress(.sending, 500_000))
        #expect(test.errors.isEmpty)
        test.interruption.onStatusRequest { display.showStatus() }
        test.interruption.receiveStatusRequest()
        #expect(test.errors == "a.mp4  500 kB of 1.00 MB  50 %\n")
    }

    @Test func recordsComeOncePerSecondAndPhase() throws {
        let test = try TestConsole()
        let display = ProgressDisplay(
            test.console(OutputPreferences(isJSON: true)),
            mode: .silent,
            writesRecords: true
        )
        display.begin(path: Array("a.mp4".utf8), byteCount: 1_000_000, position: 1, total: 1)
        display.handle(progress(.sending, 1))
        display.handle(progress(.sending, 2))
        test.advance(.seconds(1))
        display.handle(progress(.sending, 500_000))
        let lines = test.output.split(separator: "\n")
        #expect(lines.count == 3)
        #expect(
            lines.last
                == #"{"schema":"mediactl.upload/1","type":"progress","path":"a.mp4","phase":"sending","bytes_acknowledged":500000,"size_bytes":1000000,"attempt":1,"elapsed_ms":1000}"#
        )
    }

    @Test func waitingIsSaidOnce() throws {
        let test = try TestConsole()
        let display = ProgressDisplay(test.console(), mode: .plain, writesRecords: false)
        display.begin(path: Array("a.mp4".utf8), byteCount: 10, position: 1, total: 1)
        #expect(!display.isPastLastByte)
        display.handle(progress(.processing, 10, of: 10))
        #expect(display.isPastLastByte)
        display.stop(waitingFor: nil)
        display.handle(.waitingForToken)
        #expect(test.errors == "mediactl: waiting for the delete token; press again to give up\n")
    }

    /// SIGTERM and SIGHUP come from programs: there is nobody to press anything.
    @Test func waitingIsLimitedWithoutAPerson() throws {
        let test = try TestConsole()
        let display = ProgressDisplay(test.console(), mode: .plain, writesRecords: false)
        display.begin(path: Array("a.mp4".utf8), byteCount: 10, position: 1, total: 1)
        display.stop(waitingFor: .seconds(30))
        #expect(test.errors.isEmpty)
        display.handle(.waitingForToken)
        #expect(test.errors == "mediactl: waiting up to 30 s for the delete token\n")
    }

    @Test func noTokenIsPromisedWhileTheServerIsAsked() throws {
        let test = try TestConsole()
        let display = ProgressDisplay(test.console(), mode: .plain, writesRecords: false)
        display.begin(path: Array("a.mp4".utf8), byteCount: 10, position: 1, total: 1)
        display.handle(.resolving(for: .seconds(330)))
        test.forget()
        display.stop(waitingFor: nil)
        display.handle(.waitingForToken)
        #expect(test.errors.isEmpty)
    }

    @Test func messagesGoAboveTheDrawnLine() throws {
        let test = try TestConsole()
        let console = test.console(environment: ["TERM": "xterm"], isTerminal: true)
        let display = ProgressDisplay(console, mode: .terminal, writesRecords: false)
        display.begin(path: Array("a.mp4".utf8), byteCount: 10, position: 1, total: 1)
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
}
