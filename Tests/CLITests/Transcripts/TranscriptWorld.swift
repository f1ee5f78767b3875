import Foundation
import TestSupport
import Testing

/// How the program's output is viewed.
enum TranscriptLook: Sendable, Hashable, CaseIterable {
    case pipe, narrow, usual, wide, withoutColor, dumb, withoutUTF8

    var title: String {
        switch self {
        case .pipe: "on a pipe; 2| is standard error"
        case .narrow: "on a terminal of 40 columns"
        case .usual: "on a terminal of 80 columns"
        case .wide: "on a terminal of 200 columns"
        case .withoutColor: "on a terminal of 80 columns with NO_COLOR=1"
        case .dumb: "on a terminal of 80 columns with TERM=dumb"
        case .withoutUTF8: "on a terminal of 40 columns with LANG=C"
        }
    }

    var columns: UInt16? {
        switch self {
        case .pipe: nil
        case .narrow, .withoutUTF8: 40
        case .wide: 200
        default: 80
        }
    }

    var environment: [String: String] {
        switch self {
        case .withoutColor: ["TERM": "xterm", "NO_COLOR": "1"]
        case .dumb: ["TERM": "dumb"]
        case .withoutUTF8: ["TERM": "xterm", "LANG": "C"]
        default: ["TERM": "xterm"]
        }
    }
}

/// The output of a step.
struct TranscriptEntry: Sendable {
    var step: TranscriptStep
    /// The line as typed, without values that differ in each run.
    var line: String
    /// The program's output, byte for byte.
    var raw: String
    /// The visible output, line by line, without values that differ in each run.
    var shown: [String]
    var colors: [String]
    var exitCode: Int32?
}

/// A separate machine with its own server, on which the whole script is run once.
final class TranscriptWorld: Sendable {
    let look: TranscriptLook
    private let home: String
    private let runner: BinaryRunner
    private let sandbox: SandboxProcess

    init(_ look: TranscriptLook) async throws {
        self.look = look
        // Always the same length, regardless of TMPDIR: a narrow table truncates paths.
        var template = Array("/tmp/mctl-XXXXXX".utf8CString)
        try #require(mkdtemp(&template) != nil)
        home = template.withUnsafeBytes { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        sandbox = try await SandboxProcess.start()
        var runner = try BinaryRunner()
        runner.environment = runner.environment.filter { !$0.key.hasPrefix("XDG_") }.merging([
            "HOME": home, "MEDIACTL_SERVER": sandbox.baseURL, "MEDIACTL_USER": "uploader",
            "MEDIACTL_PASSWORD": "uploader", "MEDIACTL_RETRIES": "0",
        ]) { $1 }.merging(look.environment) { $1 }
        self.runner = runner
        try furnish()
        for (name, year) in [("IMG_0900.jpg", 2018), ("IMG_0901.jpg", 2019)] {
            try await sandbox.addPhotos(
                #"{"user":"alice@example.test","content":"taken in \#(year)","originalFilename":"\#(name)","#
                    + #""dateTaken":"\#(year)-07-01T09:00:00Z","uploadedAt":"\#(year + 7)-05-01T09:00:00Z"}"#
            )
        }
    }

    deinit {
        try? FileManager.default.removeItem(atPath: home)
    }

    /// Creates the files that the script uses.
    private func furnish() throws {
        for name in ["both", "pictures", "Pictures"] {
            try makeDirectory("\(home)/\(name)")
        }
        let clip = try Repository.data("fixtures/media/clip.mp4")
        for name in ["first-dance", "concert", "encore"] {
            try write(clip + Data(name.utf8), "\(name).mp4")
        }
        for (name, count) in [("long", 150_000), ("longer", 250_000)] {
            try write(clip + Data(name.utf8) + Data(count: count), "\(name).mp4")
        }
        let picture = Data([0xFF, 0xD8, 0xFF, 0xE0])
        try write(picture + Data("one".utf8), "pictures/IMG_0001.jpg")
        try write(picture + Data("two".utf8), "pictures/IMG_0002.jpg")
        try write(picture + Data("three".utf8), "both/IMG_0003.jpg")
        try write(picture + Data("square".utf8), "square.jpg")
        try write(([1, 2, 3, 4, 5, 6, 7, 8, 9] as [Float]).withUnsafeBytes { Data($0) }, "square.f32")
        try write(Data("no media\n".utf8), "notes.txt")
        try write(Data((SandboxProcess.aliceKey + "\n").utf8), "key.txt")
        let token = String(repeating: "5a", count: 32)
        try write(Data(#"{"id":7,"delete_token":"\#(token)"}"#.utf8), "response.txt")
    }

    private func write(_ data: Data, _ name: String) throws {
        try data.write(to: URL(fileURLWithPath: "\(home)/\(name)"))
        try #require(chmod("\(home)/\(name)", 0o600) == 0)
    }

    /// Runs the script.
    /// - Returns: The output of its steps, except preparations.
    func run() async throws -> [TranscriptEntry] {
        var entries: [TranscriptEntry] = []
        var kept: [String: String] = [:]
        for step in try TranscriptStep.all() where look == .pipe || ![.refusal, .look].contains(step.purpose) {
            guard step.purpose != .removal else {
                for photo in try await sandbox.photos() where photo.originalFilename == step.line {
                    try await sandbox.photoSync("DELETE", "photos/\(photo.id)")
                }
                continue
            }
            var line = step.line + (look == .pipe || step.purpose == .preparation ? step.consent : "")
            for (name, value) in kept {
                line = line.replacing("{\(name)}", with: value)
            }
            let result = try await run(line, step)
            if let (name, key) = step.kept {
                let value = try #require(Self.value(of: key, in: result.output), "\(line): \(result)")
                kept[name] = value
            }
            if step.purpose != .preparation {
                entries.append(entry(step, line, result))
            }
        }
        return entries
    }

    private func run(_ line: String, _ step: TranscriptStep) async throws -> ChildResult {
        let words = try #require(ShellWords.commands(in: line).first)
        let isOnPipe = look == .pipe || step.purpose == .preparation
        let child = try runner.start(
            words,
            streams: isOnPipe ? .captured : .terminal(columns: look.columns ?? 80),
            extra: step.environment,
            through: ["env", "-C", home]
        )
        if let (question, response) = step.response, !isOnPipe {
            try await child.respond(to: question, with: response)
        }
        return try await child.finish()
    }

    private func entry(_ step: TranscriptStep, _ line: String, _ result: ChildResult) -> TranscriptEntry {
        let names = TranscriptNames(home: home)
        let screen = ScreenText(result.output)
        // The status of a long run is printed without `mediactl:`, and only after a while.
        let errors = result.errors.split(separator: "\n").filter { $0.hasPrefix("mediactl: ") || $0.hasPrefix("  ") }
        let isPoor = look == .dumb && step.isLong
        let lines = isPoor ? screen.lines.filter { !TranscriptNames.isProgress($0) } : screen.lines
        return TranscriptEntry(
            step: step,
            line: names.normalized("mediactl " + line),
            raw: result.output + result.errors,
            shown: (lines + errors.map { "2| " + $0 }).map(names.normalized),
            colors: screen.colors.map(names.normalized),
            exitCode: result.exitCode
        )
    }

    /// The value of a key in the first record that has it.
    private static func value(of key: String, in output: String) -> String? {
        output.split(separator: "\n").lazy.compactMap { line in
            let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            return object?[key] as? String
        }.first
    }
}
