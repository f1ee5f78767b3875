import Foundation
import TestSupport
import Testing

/// Verifies the documents: their console sessions are run against the sandbox.
@Suite("Documentation")
struct DocumentationTests {
    /// The README and every guide with a session, in three lists that run in parallel: the guide to resumed uploads
    /// waits for about as long as each of the others.
    private static func documents() throws -> [[String]] {
        let slow = "docs/guides/resumable.md"
        let guides = try FileManager.default.contentsOfDirectory(atPath: Repository.path("docs/guides"))
            .filter { $0.hasSuffix(".md") }.sorted().map { "docs/guides/" + $0 }
            .filter { try Repository.text($0).contains("```console") }
        let others = ["README.md"] + guides.filter { $0 != slow }
        return [[slow], Array(others.prefix(others.count / 2)), Array(others.dropFirst(others.count / 2))]
    }

    @Test("console sessions print the documented output") func consoles() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for row in try Self.documents() {
                group.addTask { for document in row { try await console(document: document) } }
            }
            try await group.waitForAll()
        }
    }

    private func console(document: String) async throws {
        let directory = try TemporaryDirectory()
        let sandbox = try await SandboxProcess.start(
            arguments: ["--event-link-token", "\(Self.guestToken)=2026-06-13,Ann & Bob,wedding"]
        )
        let text = try Repository.text(document)
            .replacing("https://media.example.org", with: sandbox.baseURL)
            .replacing("https://photos.example.org", with: sandbox.baseURL)
            .replacing("https://captures.example.org", with: sandbox.baseURL)
            .replacing("media.example.org", with: "127.0.0.1:\(sandbox.port)")
            .replacing("captures.example.org", with: "127.0.0.1:\(sandbox.port)")
        let session = ConsoleSession(document: text)
        #expect(session.steps.count >= 5, "\(document)")
        try makeMedia(in: directory)
        try makePhotos(in: directory)
        try makeCapture(in: directory)
        // The pictures directory of a desktop, where albums are created.
        try makeDirectory(directory.file("Pictures"))
        try await addLegacyPhotos(to: sandbox)
        try "\(sandbox.baseURL)/upload/\(Self.guestToken)\n"
            .write(toFile: directory.file("event-link.txt"), atomically: true, encoding: .utf8)
        let mark = "--- \(UUID().uuidString)"
        try session.script(mark: mark).write(toFile: directory.file("session.sh"), atomically: true, encoding: .utf8)

        let shell = try await ForeignProgram.run(
            try ForeignProgram.path(of: "bash"),
            ["-c", "cd '\(directory.path)' && exec bash session.sh"],
            environment: childEnvironment(home: directory.path)
        )

        let outputs = shell.output.components(separatedBy: mark + "\n").dropFirst()
        try #require(outputs.count == session.steps.count, "\(document): \(shell.output)")
        for (step, output) in zip(session.steps, outputs) {
            #expect(ConsoleSession.matches(output, step.expectedLines), "\(document): $ \(step.command)\n\(output)")
        }
    }

    /// 43 characters of the alphabet of event links (gighive contract section 6).
    private static let guestToken = "a-token_of-43-characters-for-the-documents-"

    /// The files that the documents use: the small clip, made unique by a few bytes at its end.
    private func makeMedia(in directory: TemporaryDirectory) throws {
        let clip = try Repository.data("fixtures/media/clip.mp4")
        for name in ["first-dance", "concert", "rehearsal", "one", "two", "three", "smoke"] {
            try (clip + Data(name.utf8)).write(to: URL(filePath: directory.file("\(name).mp4")))
        }
        try (clip + Data(count: 2_000_000)).write(to: URL(filePath: directory.file("festival.mp4")))
        try makeDirectory(directory.file("concerts/2026"))
        for number in 1...6 {
            try (clip + Data("set \(number)".utf8))
                .write(to: URL(filePath: directory.file("concerts/2026/set-\(number).mp4")))
        }
        try Data("all of June\n".utf8).write(to: URL(filePath: directory.file("concerts/notes.txt")))
        let table = """
            path,event_date,org_name,label
            one.mp4,2026-06-13,The Larks,"Encore, first"
            two.mp4,2026-06-13,The Larks,Encore

            """
        try Data(table.utf8).write(to: URL(filePath: directory.file("evening.csv")))
    }

    /// Files that a photo server accepts, and the key of the sandbox's first user.
    private func makePhotos(in directory: TemporaryDirectory) throws {
        try makeDirectory(directory.file("pictures"))
        for number in 1...3 {
            let path = try directory.write("pictures/IMG_000\(number).jpg", SmallPhoto.jpeg("photo \(number)"))
            let taken = Date(timeIntervalSince1970: 1_781_000_000 + Double(number))
            try FileManager.default.setAttributes([.modificationDate: taken], ofItemAtPath: path)
        }
        let key = "a11ce".padding(toLength: 64, withPad: "0", startingAt: 0)
        try Data("\(key)\n".utf8).write(to: URL(filePath: directory.file("key.txt")))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: directory.file("key.txt"))
    }

    /// A photo, and the depth map of a real scene.
    private func makeCapture(in directory: TemporaryDirectory) throws {
        try (Data([0xFF, 0xD8, 0xFF, 0xE0]) + Data("the square at noon".utf8))
            .write(to: URL(filePath: directory.file("square.jpg")))
        try FileManager.default.copyItem(
            atPath: Repository.path("fixtures/depth/typical_scene.f32"),
            toPath: directory.file("square.f32")
        )
        // The script in the guide.
        try FileManager.default.copyItem(
            atPath: Repository.path("docs/guides/verify-bundle.sh"),
            toPath: directory.file("verify-bundle.sh")
        )
    }

    /// Photos of the sandbox's first user without a device.
    private func addLegacyPhotos(to sandbox: SandboxProcess) async throws {
        for number in 1...4 {
            try await sandbox.addPhotos(
                """
                {"originalFilename":"beach-\(number).jpg","content":"summer \(number)",\
                "dateTaken":"2019-08-0\(number)T10:15:00Z","uploadedAt":"2025-11-02T08:00:0\(number)Z"}
                """
            )
        }
    }

    /// A separate home directory, and the built binaries first in `PATH`.
    private func childEnvironment(home: String) -> [String: String] {
        let own = Dictionary(
            uniqueKeysWithValues: ["CONFIG", "DATA", "STATE", "CACHE"].map { ("XDG_\($0)_HOME", "\(home)/\($0)") }
        )
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        return own.merging([
            "HOME": home, "PATH": "\(BuiltProgram.directories):\(path)", "COLUMNS": "120", "NO_COLOR": "1",
        ]) { $1 }
    }

    // The line is run with only the environment that cron sets.
    @Test("the crontab line works, and prints only when something is wrong")
    func crontab() async throws {
        let directory = try TemporaryDirectory()
        let sandbox = try await SandboxProcess.start()
        try makePhotos(in: directory)
        try FileManager.default.moveItem(atPath: directory.file("pictures"), toPath: directory.file("Pictures"))
        let document = try Repository.text("docs/guides/sync.md")
        let block = try #require(document.components(separatedBy: "```crontab\n").dropFirst().first)
        let lines = block.components(separatedBy: "\n```")[0].split(separator: "\n").map {
            $0.replacing("https://photos.example.org", with: sandbox.baseURL)
        }
        let programs = BuiltProgram.directories
        var childEnvironment = ["HOME": directory.path]
        for line in lines.dropLast() {
            let parts = line.split(separator: "=", maxSplits: 1).map { String($0) }
            childEnvironment[parts[0]] = parts[0] == "PATH" ? "\(programs):\(parts[1])" : parts[1]
        }
        let fields = try #require(lines.last).split(separator: " ", maxSplits: 5)
        #expect(fields.count == 6 && childEnvironment.count == 3)
        let sanitizers = ProcessInfo.processInfo.environment.filter { $0.key.hasSuffix("SAN_OPTIONS") }
        let cron = childEnvironment.merging(sanitizers) { $1 }
        func run(_ command: String) async throws -> ChildResult {
            try await ChildProcess.run("/bin/sh", ["-c", "cd && \(command)"], environment: cron)
        }
        _ = try await run("mediactl login --api-key-file key.txt -q")

        let night = try await run(String(fields[5]))
        #expect(night.exitCode == 0 && night.output.isEmpty && night.errors.isEmpty)
        let status = try await run("mediactl sync status --json")
        #expect(status.output.contains(#""server_counts":{"total":3,"this_device":3,"#), "\(status.output)")

        _ = try await run("mediactl logout")
        let badNight = try await run(String(fields[5]))
        #expect(badNight.exitCode == 4 && badNight.errors.contains("not logged in"))
    }

    @Test(
        "an ellipsis in an expected line matches any text",
        arguments: [
            ("a  b\n", ["a b"], true), ("a\n\nb\n", ["a", "", "b"], true),
            ("a b\nc\n", ["a b"], false), ("abc\n", ["a…c"], true),
            ("abc\n", ["a…d"], false),
            ("x\ny\nz\n", ["…", "z"], true), ("x\ny\nz\n", ["x", "…"], true), ("", ["…"], true), ("", ["x"], false),
            ("30.1 kB, just now\n", ["1.2 GB, 3 days ago"], true), ("30.1 kB\n", ["1.2 GB, x"], false),
            ("u-zihvzhpa6rfelsji 2026-06-13\n", ["u-3fuv64hsh3w3rxsg 2027-01-01"], true),
            ("file 1\n", ["file 2"], false),
            ("aXbXc\n", ["a…b…c"], true), ("aXc\n", ["a…b…c"], false), ("", [], true), ("x\n", [], false),
        ] as [(String, [String], Bool)]
    )
    func gaps(output: String, expected: [String], isMatch: Bool) {
        #expect(ConsoleSession.matches(output, expected) == isMatch)
    }
}
