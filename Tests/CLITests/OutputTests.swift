import Foundation
import MediaCore
import MediaFiles
import MediaStore
import Outcomes
import Testing

@testable import MediaCLI

@Suite struct OutputTests {
    @Test(
        arguments: [
            (0, "0 B"), (999, "999 B"), (1000, "1.00 kB"), (26_182, "26.2 kB"), (999_499, "999 kB"),
            (999_500, "1.00 MB"), (6_442_450_944, "6.44 GB"), (123_000_000_000_000, "123 TB"),
        ] as [(Int64, String)]
    )
    func bytes(count: Int64, text: String) {
        #expect(Formats.bytes(count) == text)
    }

    @Test(arguments: [(0, "0:00"), (67, "1:07"), (3599, "59:59"), (3723, "1:02:03")])
    func clock(seconds: Int, text: String) {
        #expect(Formats.clock(.seconds(seconds)) == text)
    }

    @Test(
        arguments: [
            (.zero, "1 s"), (.milliseconds(1200), "2 s"), (.seconds(330), "5 min 30 s"), (.seconds(600), "10 min"),
            (.seconds(3600), "1 h"), (.seconds(12_000), "3 h 20 min"), (.seconds(3601), "1 h 1 min"),
            (.seconds(31_536_000), "about 365 days"),
        ] as [(Duration, String)]
    )
    func span(duration: Duration, text: String) {
        #expect(Formats.span(duration) == text)
    }

    @Test(
        arguments: [
            (-5.0, "just now"), (-86_400, "just now"), (-86_401, "in the future"),
            (59, "just now"), (60, "1 minute ago"), (7200, "2 hours ago"), (86_400, "1 day ago"),
            (14 * 86_400, "2 weeks ago"), (61 * 86_400, "2 months ago"), (365 * 86_400, "11 months ago"),
            (731 * 86_400, "2 years ago"),
        ] as [(Double, String)]
    )
    func age(seconds: Double, text: String) {
        let now = Date(timeIntervalSince1970: 1_780_000_000)
        #expect(Formats.age(of: now.addingTimeInterval(-seconds), now: now) == text)
    }

    @Test func timestampIsUTC() {
        // date -u -d @1780000000 +%FT%TZ
        #expect(Formats.timestamp(Date(timeIntervalSince1970: 1_780_000_000.9)) == "2026-05-28T20:26:40Z")
    }

    @Test func jsonKeepsOrderAndEscapes() {
        let value: JSONValue = .object([
            "z": 1, "a": .array([.null, true]), "s": "q\"\\\n\t\u{1b}\u{9b}\u{2028}é🎸",
        ])
        #expect(
            value.json(isForTerminals: true)
                == #"{"z":1,"a":[null,true],"s":"q\"\\\n\t\u001b\u009b\u2028é🎸"}"#
        )
    }

    @Test func jsonIsReadBackByFoundation() throws {
        let text = String(String.UnicodeScalarView((0...0x2100).compactMap { Unicode.Scalar($0) }))
        let data = Data(JSONValue.array([.string(text)]).json(isForTerminals: true).utf8)
        #expect(try JSONSerialization.jsonObject(with: data) as? [String] == [text])
    }

    @Test func tableAlignsAndFits() {
        var table = Table(columns: [
            .init(title: "ID", alignment: .right), .init(title: "LABEL", isFlexible: true), .init(title: "SIZE"),
        ])
        table.append(contentsOf: [["7", "short", "1 B"], ["1234", "a rather long label 日本", "26.2 kB"]])
        let plain = Style(.never, isTerminal: false, environment: ["LANG": "C.UTF-8"])
        #expect(
            table.lines(fitting: nil, style: plain) == [
                "  ID  LABEL                     SIZE",
                "   7  short                     1 B",
                "1234  a rather long label 日本  26.2 kB",
            ]
        )
        #expect(
            table.lines(fitting: 26, style: plain) == [
                "  ID  LABEL        SIZE",
                "   7  short        1 B",
                "1234  a rather l…  26.2 kB",
            ]
        )
    }

    @Test func tableDropsColumnsInTheirOrder() {
        var table = Table(columns: [
            .init(title: "ID", alignment: .right), .init(title: "TYPE", dropOrder: 2),
            .init(title: "LABEL", isFlexible: true, minimumWidth: 7), .init(title: "SIZE", dropOrder: 1),
        ])
        table.append(contentsOf: [["7", "wedding", "a rather long label", "26.2 kB"]])
        let plain = Style(.never, isTerminal: false, environment: ["LANG": "C.UTF-8"])
        #expect(
            table.lines(fitting: 29, style: plain)
                == ["ID  TYPE     LABEL    SIZE", " 7  wedding  a rath…  26.2 kB"]
        )
        #expect(table.lines(fitting: 28, style: plain) == ["ID  TYPE     LABEL", " 7  wedding  a rather long …"])
        #expect(table.lines(fitting: 19, style: plain) == ["ID  LABEL", " 7  a rather long …"])
        #expect(table.lines(fitting: 10, style: plain) == ["7 a rathe…"])
    }

    @Test(arguments: 1...120)
    func theListFitsEveryTerminal(width: Int) throws {
        var entry = JSONSchemaTests.entry
        entry.label = "日本の結婚式 with a rather long label"
        for isTokenShown in [false, true] {
            let table = TextRenderer.table(
                of: [KeptUpload(entry), KeptUpload(JSONSchemaTests.entry)],
                now: Date(timeIntervalSince1970: 1_780_000_000),
                isTokenShown: isTokenShown,
                hasGuests: false
            )
            let lines = table.lines(fitting: width, style: Style(.never, isTerminal: true, environment: [:]))
            #expect(lines.allSatisfy { TerminalText.width($0) <= width }, "\(lines)")
            #expect(lines.last?.contains("18") == (width >= 3))
        }
    }

    /// POSIX.1-2017 XBD 8.2: LC_ALL, then LC_CTYPE, then LANG; an empty variable counts as not set, and the default
    /// is C.
    @Test(
        arguments: [
            ([:], "~"), (["LANG": "C"], "~"), (["LANG": "POSIX"], "~"), (["LANG": "de_DE.ISO-8859-1"], "~"),
            (["LANG": "de_DE.UTF-8"], "…"), (["LANG": "en_GB.utf8"], "…"), (["LANG": "C.UTF-8"], "…"),
            (["LC_ALL": "C", "LANG": "de_DE.UTF-8"], "~"), (["LC_CTYPE": "C.UTF-8", "LANG": "C"], "…"),
            (["LC_ALL": "", "LANG": "C.UTF-8"], "…"),
        ] as [([String: String], Character)]
    )
    func theLocaleChoosesTheEllipsis(environment: [String: String], ellipsis: Character) {
        let style = Style(.never, isTerminal: true, environment: environment)
        #expect(style.ellipsis == ellipsis)
        var table = Table(columns: [.init(title: "LABEL", isFlexible: true)])
        table.append(contentsOf: [["a rather long label"]])
        #expect(table.lines(fitting: 10, style: style) == ["LABEL", "a rather \(ellipsis)"])
    }

    @Test func pathsAreShortenedInTheMiddle() {
        var table = Table(columns: [.init(title: "FILE", isFlexible: true, isPath: true), .init(title: "SIZE")])
        table.append(contentsOf: [["/home/ann/Pictures/beach.mp4", "1 B"], ["日本/結婚式.mp4", "2 B"]])
        let plain = Style(.never, isTerminal: false, environment: ["LANG": "C.UTF-8"])
        #expect(table.lines(fitting: 16, style: plain) == ["FILE        SIZE", "…beach.mp4  1 B", "…婚式.mp4   2 B"])
    }

    @Test func sentencesWrapToTheNextLine() {
        var table = Table(columns: [
            .init(title: "CODE", alignment: .right), .init(title: "MEANING", isFlexible: true, isWrapped: true),
        ])
        table.append(contentsOf: [["3", "partly done: mixed results for the items"], ["4", "no"]])
        let plain = Style(.never, isTerminal: false, environment: ["LANG": "C.UTF-8"])
        #expect(
            table.lines(fitting: 22, style: plain) == [
                "CODE  MEANING", "   3  partly done:", "      mixed results", "      for the items", "   4  no",
            ]
        )
    }

    @Test(
        arguments: [
            (.auto, true, ["TERM": "xterm"], true), (.auto, false, ["TERM": "xterm"], false), (.auto, true, [:], false),
            (.auto, true, ["TERM": "xterm", "NO_COLOR": "0"], false),
            (.auto, true, ["TERM": "xterm", "NO_COLOR": ""], true), (.auto, true, ["TERM": "dumb"], false),
            (.always, false, ["NO_COLOR": "1"], true), (.never, true, ["TERM": "xterm"], false),
        ] as [(ColorMode, Bool, [String: String], Bool)]
    )
    func colorFollowsItsRules(mode: ColorMode, isTerminal: Bool, environment: [String: String], isColored: Bool) {
        #expect(Style(mode, isTerminal: isTerminal, environment: environment).isColored == isColored)
    }

    @Test func onlyOneLastRecordIsWritten() throws {
        let test = try TestConsole()
        let console = test.console(OutputPreferences(isJSON: true))
        console.record(.item, ["a": 1])
        console.summary(["exit_code": 0])
        console.fail(UserFacingError(.internalError, "too late"))
        #expect(
            test.output == """
                {"schema":"mediactl.upload/1","type":"item","a":1}
                {"schema":"mediactl.upload/1","type":"summary","exit_code":0}

                """
        )
        #expect(test.errors == "mediactl: error: too late\n")
    }

    @Test func quietKeepsErrors() throws {
        let test = try TestConsole()
        let console = test.console(OutputPreferences(isQuiet: true))
        console.note("n")
        console.warning("w")
        console.error(UserFacingError(.internalError, "e", hint: "h"))
        #expect(test.errors == "mediactl: warning: w\nmediactl: error: e\nmediactl: hint: h\n")
    }

    @Test func signalDecidesTheExitCode() throws {
        let test = try TestConsole()
        #expect(test.console().exitCode(.partly) == .partly)
        test.interruption.receive(.terminate)
        #expect(test.console().exitCode(.success) == .terminate)
    }

    @Test func fullDeviceIsAFailureAndAClosedPipeIsNot() throws {
        let test = try TestConsole()
        var context = test.context()
        let full = open("/dev/full", O_WRONLY | O_CLOEXEC)
        defer { close(full) }
        context.output = Output(full)
        let console = Console(context, schema: "s", preferences: OutputPreferences())
        console.text(["x"])
        #expect(console.exitCode(.success) == .failure)
        #expect(console.exitCode(.network) == .network)
        #expect(test.errors == "mediactl: error: cannot write to standard output: no space left on device\n")
    }
}
