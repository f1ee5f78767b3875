import Foundation
import TestSupport
import Testing

/// `scripts/check-phrases.py`, which `make lint` runs, against small trees.
@Suite struct PhraseCheckTests {
    private func check(_ files: [String: String]) async throws -> ChildResult {
        let tree = try TemporaryDirectory()
        for (name, text) in files {
            let url = URL(fileURLWithPath: tree.file(name))
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(),
                withIntermediateDirectories: true
            )
            try Data(text.utf8).write(to: url)
        }
        let child = try ChildProcess(Repository.path("scripts/check-phrases.py"), [tree.path], home: tree)
        return try await child.finish(deadline: .seconds(120))
    }

    @Test func eachPhraseIsReportedWithItsReplacement() async throws {
        let result = try await check([
            "Sources/A/A.swift": """
            // An interrupted upload can be
            /// resumed, or it can
            /// go on.
            let message = "take it back with \\(command)"
            func canGoOn() {}
            var isSettled = true

            """,
            "README.md": "Settings are one a line.\n",
            "docs/guides/a.md": "> a level of its\n> own\n",
            "docs/schemas/a-1.json": #"{"description": "Why it is told."}"#,
            "CHANGELOG.md": "## Unreleased\n- No patience.\n## 0.1.0\n- No patience.\n",
        ])
        #expect(
            result.errors == """
                phrases: CHANGELOG.md:2: patience → timeout
                phrases: CHANGELOG.md:4: patience → timeout
                phrases: README.md:1: one a line → one per line
                phrases: Sources/A/A.swift:2: can go on → can be resumed
                phrases: Sources/A/A.swift:4: take it back → delete
                phrases: Sources/A/A.swift:5: can Go On → can be resumed
                phrases: Sources/A/A.swift:6: Settled → finished, outcome, or recorded
                phrases: docs/guides/a.md:1: of its own → separate, or own
                phrases: docs/schemas/a-1.json:1: is told → be reported, disclosed, or notified

                """
        )
        #expect(result.status == 1)
    }

    @Test func otherWordsAndFilesPass() async throws {
        let result = try await check([
            "Sources/A/A.swift": """
            let last = values.last
            try read(values)
            let ownLevel = "levels may go on holiday"
            let settleTimeout = "--settle-timeout, settle_timeout"
            // There is no file.

            """,
            "docs/a.md": "`canGoOn` is the name of a test. One\n\na line.\n",
            "Tests/A/ATests.swift": "// go on with it\n",
        ])
        #expect(result.errors == "")
        #expect(result.status == 0)
    }

    @Test func exceptionsAreUsedAndSpecific() async throws {
        let result = try await check([
            "Sources/A/A.swift": "// for good\n// all the same\n",
            "Sources/B/B.swift": "// for good\n",
            "Sources/B/Inner/C.swift": "// all the same\n",
            "scripts/phrases-exceptions.tsv": """
            Sources/A/A.swift\tfor good\ta message of the server
            Sources/B/\t*\tanother reason
            Sources/A/A.swift\tat that\tis not there

            """,
        ])
        #expect(
            result.errors == """
                phrases: Sources/A/A.swift:2: all the same → anyway
                phrases: scripts/phrases-exceptions.tsv: Sources/A/A.swift does not contain 'at that'

                """
        )
        #expect(result.status == 1)
    }
}
