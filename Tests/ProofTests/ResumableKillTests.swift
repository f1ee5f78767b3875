import Foundation
import MediaStore
import TestSupport
import Testing

/// `kill -9` at every step of an upload over tus, then resuming: nothing is sent twice except the interrupted chunk,
/// and no token is lost silently.
@Suite struct ResumableKillTests {
    /// Several chunks, which start at 64 KiB and grow.
    static let byteCount = 512 << 10

    /// The points of `UploadFailpoint.ofTus`, in the order in which an upload reaches them.
    static let points = [
        "afterIntent", "afterCreate", "afterTusID", "midPatch", "afterPatch", "afterAllBytes", "finalizeSent",
        "responseInRescueFile", "beforeTokenCommit", "afterTokenCommit",
    ]

    /// The command that resumes.
    enum Continuation: String, CaseIterable {
        case resumeAll
        case sameCommand
    }

    @Test(arguments: points, Continuation.allCases)
    func killedUploadEndsAsOneObject(at point: String, _ continuation: Continuation) async throws {
        let sandbox = try await SandboxProcess.start(
            // Long enough for the program to detect that its request was sent, even on a busy machine.
            faults: point == "finalizeSent" ? ["finalize:delay-response=60,times=1"] : []
        )
        let bench = try Bench(sandbox.baseURL)
        let file = try bench.movie(Self.byteCount)
        let chunks = ["--transport", "tus", "--chunk-size", "64K", "--json"]
        let upload = ["upload", file] + chunks + bench.login
        let killed = try await bench.runner.run(upload, extra: ["MEDIACTL_KILL_AT": point])
        #expect(killed.signal == SIGKILL, "\(killed.output)\(killed.errors)")
        #expect(!killed.states.contains("done"))

        let next =
            switch continuation {
            case .resumeAll: ["uploads", "resume", "--all"] + chunks + bench.login
            case .sameCommand: upload
            }
        // The settle timeout is for servers that may still be storing the file. This one finished long ago.
        let resumed = try await bench.runner.run(next + ["--settle-timeout", "1"])

        let checksum = try await bench.sha256(file)
        let objects = try await sandbox.objects()
        #expect(objects.keys.sorted() == [checksum], "\(resumed.output)\(resumed.errors)")
        #expect(objects[checksum]?.count == 1)
        #expect(try await sandbox.digestServed(checksum) == checksum)
        let bodies = try await sandbox.requests().filter { $0.method == "PATCH" }.map(\.bodyBytesRead)
        let sentAgain = bodies.reduce(0, +) - Self.byteCount
        #expect(sentAgain <= bodies.max() ?? 0, "more than one chunk was sent again: \(bodies)")
        let tokens = try bench.tokens()
        let states = try bench.journal().map(\.state)
        if point == "finalizeSent" {
            // The only copy of the token was in the response that was not read.
            #expect(tokens.isEmpty)
            #expect(states.contains(.tokenLost))
            #expect(resumed.exitCode == 11, "\(resumed.output)\(resumed.errors)")
        } else {
            #expect(tokens.map(\.checksumSHA256) == [checksum])
            #expect(states.contains(.done))
            #expect(resumed.exitCode == 0, "\(resumed.output)\(resumed.errors)")
            let delete = try await bench.runner.run(["uploads", "delete", "1", "--yes", "--json"] + bench.login)
            #expect(delete.states == ["deleted"], "the token is useful only if the server accepts it")
        }
        #expect(bench.leftovers().allSatisfy { $0.hasPrefix("locks/") }, "\(bench.leftovers())")
    }
}
