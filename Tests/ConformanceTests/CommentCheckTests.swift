import Foundation
import TestSupport
import Testing

/// `scripts/check-comments.py`, which `make lint` runs, on a small tree.
@Suite struct CommentCheckTests {
    @Test func onlyCommentsThatRepeatTheirDeclarationAreReported() async throws {
        let tree = try TemporaryDirectory()
        try makeDirectory(tree.file("Sources/A"))
        let text = """
            /// An upload.
            struct Upload {
                /// The retries of the upload.
                let retries: Int
                /// The retries, at most 5.
                let retryLimit: Int
                /// Creates an upload with retries.
                init(retries: Int) {}
                /// The result.
                /// nil while it is running.
                var result: Int?
                /// The value as entered.
                var value = "entered"
                /// Sends the upload.
                func send() {}
            }

            """
        try Data(text.utf8).write(to: URL(fileURLWithPath: tree.file("Sources/A/A.swift")))
        let child = try ChildProcess(Repository.path("scripts/check-comments.py"), [tree.path], home: tree)
        let result = try await child.finish(deadline: .seconds(60))
        #expect(
            result.errors == """
                Sources/A/A.swift:3: the comment only repeats the declaration
                Sources/A/A.swift:7: the comment only repeats the declaration

                """
        )
        #expect(result.status == 1)
    }
}
