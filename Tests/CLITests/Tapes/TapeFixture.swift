import Foundation
import TestSupport
import Testing

/// The built program, a home directory with a pictures directory, and some originals, which no command may change.
struct TapeFixture: Sendable {
    /// The state of a file that a command must not change.
    struct Witness: Equatable {
        var inode: UInt64
        var size: Int
        var modified: Date
        var content: Data
    }

    var runner: BinaryRunner
    /// `$HOME/Pictures`
    let pictures: String

    init(hasPictures: Bool = true) throws {
        runner = try BinaryRunner()
        runner.environment["MEDIACTL_RETRIES"] = "0"
        pictures = runner.home.file("Pictures")
        if hasPictures {
            try makeDirectory(pictures)
        }
    }

    /// An environment with an empty tape.
    static func withTape(_ title: String) async throws -> TapeFixture {
        let fixture = try TapeFixture()
        try #require(try await fixture.run("create", title).exitCode == 0)
        return fixture
    }

    // MARK: Commands

    /// Runs a command of `tapes` to completion.
    func run(_ arguments: String..., extra: [String: String] = [:]) async throws -> ChildResult {
        try await runner.run(["tapes"] + arguments, extra: extra)
    }

    /// Runs a command with `--json`; the first five lines and the last one must have their documented shape, and the
    /// last must be the final record.
    func json(_ arguments: String..., extra: [String: String] = [:]) async throws -> SyncFixture.Report {
        try await json(arguments, extra: extra)
    }

    func json(_ arguments: [String], extra: [String: String] = [:]) async throws -> SyncFixture.Report {
        try SyncFixture.report(of: try await runner.run(["tapes"] + arguments + ["--json"], extra: extra))
    }

    func clips(_ tape: String) async throws -> [[String: Any]] { try await json("show", tape).items }

    /// Names of the originals of a tape, in its order.
    func names(_ tape: String) async throws -> [String] {
        try await clips(tape).compactMap { ($0["path"] as? String)?.split(separator: "/").last.map(String.init) }
    }

    // MARK: Files

    /// An original: an image, or, depending on its extension, the small video with the name appended.
    @discardableResult
    func original(_ name: String) throws -> String {
        let path = runner.home.file(name)
        let directory = URL(fileURLWithPath: path).deletingLastPathComponent()
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let isVideo = name.hasSuffix(".mp4")
        let head = isVideo ? try Repository.data("fixtures/media/clip.mp4") : Data([0xFF, 0xD8, 0xFF, 0xE0])
        try (head + Data(name.utf8)).write(to: URL(fileURLWithPath: path))
        return path
    }

    func witness(_ path: String) throws -> Witness {
        let facts = try FileManager.default.attributesOfItem(atPath: path)
        return Witness(
            inode: try #require(facts[.systemFileNumber] as? UInt64),
            size: try #require(facts[.size] as? Int),
            modified: try #require(facts[.modificationDate] as? Date),
            content: try Data(contentsOf: URL(fileURLWithPath: path))
        )
    }

    /// The folder of the album with this title.
    func album(_ title: String) -> String { "\(pictures)/Tapes/\(title)" }

    /// The files in an album's folder, without the program's own files.
    func links(_ title: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: album(title)).filter { $0.hasPrefix("0") }.sorted()
    }

    /// The files of an album that a player plays, in order.
    func playlist(_ tape: String) async throws -> [String] {
        try String(contentsOfFile: album("Tapes – \(tape)") + "/tape.m3u8", encoding: .utf8)
            .split(separator: "\n").filter { !$0.hasPrefix("#") }.map(String.init)
    }

    func albums() -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "\(pictures)/Tapes")) ?? []
        return names.filter { !$0.hasPrefix(".") }.sorted()
    }
}
