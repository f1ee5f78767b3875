import MediaStore
import TestSupport
import Testing

/// libcurl silently resends a POST if a reused connection closes before the response. Ours must not: this server reads
/// the second POST, on any connection, and closes.
@Suite struct AtMostOnceTests {
    @Test(arguments: [KnownFile.twoBlocks, .millionLetters])
    func secondUploadOfARunIsSentOnceAndThenQueried(second: KnownFile) async throws {
        let server = try ProofServer { connection, request, number in
            guard number == 1, let file = request.file else { return connection.close() }
            try connection.respond(201, file.response)
        }
        let bench = try Bench(server.address)
        let files = [
            try bench.file(KnownFile.abc.content, name: "one.mp4"),
            try bench.file(second.content, name: "two.mp4"),
        ]
        let result = try await bench.runner.run(["upload", "--json", "--jobs", "1"] + files + bench.login)
        #expect(server.posts.map(\.file?.id) == [18, second.id])
        #expect(result.states == ["done", "token_lost"])
        #expect(result.items.last?["file_id"] as? Int == second.id)
        #expect(result.exitCode == 3)
        let questions = server.requests.drop { $0.file?.id != second.id }.dropFirst()
        #expect(questions.contains { $0.method == "HEAD" && $0.path == "/video/\(second.checksum).mp4" })
        #expect(questions.contains { $0.method == "GET" && $0.path == "/db/database.php" })
    }

    @Test func secondDeletionOfARunIsSentOnceAndThenQueried() async throws {
        let server = try ProofServer { connection, request, number in
            guard number < 4, let file = request.file else { return connection.close() }
            try connection.respond(number < 3 ? 201 : 200, number < 3 ? file.response : deletedResponse(file.id))
        }
        let bench = try Bench(server.address)
        let files = [
            try bench.file(KnownFile.abc.content, name: "one.mp4"),
            try bench.file(KnownFile.twoBlocks.content, name: "two.mp4"),
        ]
        #expect(try await bench.runner.run(["upload"] + files + bench.login).exitCode == 0)
        let result = try await bench.runner.run(["uploads", "delete", "18", "19", "--yes", "--json"] + bench.login)
        #expect(server.posts.dropFirst(2).map(\.file?.id) == [18, 19])
        #expect(server.requests.last.map { "\($0.method) \($0.path)" } == "GET /api/uploads/19")
        #expect(result.states == ["deleted", "deleted"])
        #expect(try bench.tokens().isEmpty)
    }
}
