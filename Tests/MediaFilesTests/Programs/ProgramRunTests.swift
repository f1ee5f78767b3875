import Foundation
import MediaSystem
import Synchronization
import TestSupport
import Testing

@testable import MediaFiles

/// The user's programs: a password command, an external signer, the source of a key.
@Suite struct ProgramRunTests {
    private static let searchPath = "/usr/bin:/bin"

    private func run(
        _ arguments: [String],
        input: [UInt8] = [],
        limit: Int = 64 << 10
    ) async throws -> ProgramResult {
        try await ProgramRun(arguments, searchPath: Self.searchPath, outputLimit: limit).run(input: input)
    }

    @Test func inputIsWrittenAndOutputIsRead() async throws {
        #expect(try await run(["cat"], input: [0, 10, 255]) == ProgramResult(output: [0, 10, 255]))
        #expect(try await run(["cat"]).output == [])
        #expect(try await run(["/bin/echo", "$HOME; *"]).output == Array("$HOME; *\n".utf8))
    }

    @Test func dataLargerThanAPipeIsTransferredInBothDirections() async throws {
        let bytes = (0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        #expect(try await run(["cat"], input: bytes, limit: 1 << 20).output == bytes)
    }

    /// A signal for the broken pipe would terminate the test process.
    @Test func aProgramNeedNotReadItsInput() async throws {
        let bytes = [UInt8](repeating: 1, count: 1 << 20)
        #expect(try await run(["true"], input: bytes) == ProgramResult(output: []))
    }

    @Test(
        arguments: [
            (["true"], nil),
            (["sh", "-c", "exit 3"], "failed with exit code 3"),
            (["sh", "-c", "kill -9 $$"], "was terminated by signal 9"),
        ] as [([String], String?)]
    )
    func theExitStatusIsReported(_ arguments: [String], _ failure: String?) async throws {
        #expect(try await run(arguments).failure == failure)
    }

    @Test(
        arguments: [
            ([], .noName),
            ([""], .noName),
            (["no-such-program"], .notFound),
            (["/nonexistent/x"], .cannotRun(errno: ENOENT)),
            (["yes"], .tooMuchOutput(limit: 65536)),
        ] as [([String], ProgramError)]
    )
    func refusals(_ arguments: [String], _ expected: ProgramError) async throws {
        await #expect(throws: expected) { try await run(arguments) }
    }

    @Test func programsAreSearchedForInAbsoluteEntriesOnly() async throws {
        let home = try TemporaryDirectory()
        try makeLink(home.file("found"), to: "/bin/echo")
        let output = try await ProgramRun(["found", "x"], searchPath: ".:relative::\(home.path)").run().output
        #expect(output == Array("x\n".utf8))
        await #expect(throws: ProgramError.notFound) { try await ProgramRun(["found"], searchPath: "bin").run() }
    }

    @Test func outputUpToTheLimitIsAccepted() async throws {
        #expect(try await run(["printf", "12345678"], limit: 8).output.count == 8)
        await #expect(throws: ProgramError.tooMuchOutput(limit: 7)) { try await run(["printf", "12345678"], limit: 7) }
    }

    /// A descendant of the program may keep its output open; the program's exit counts.
    @Test func theExitOfTheProgramEndsTheRun() async throws {
        let result = try await run(["sh", "-c", "sleep 60 & echo $!"])
        let child = try #require(pid_t(String(decoding: result.output, as: UTF8.self).dropLast()))
        #expect(kill(child, SIGKILL) == 0)
    }

    @Test func aProgramThatClosesItsOutputIsWaitedFor() async throws {
        #expect(
            try await run(["sh", "-c", "echo x; exec >&-; sleep 0.05; exit 7"]).failure == "failed with exit code 7"
        )
    }

    /// The child inherits only the descriptors of the standard streams. `ls` itself opens one more, for the directory.
    @Test func noDescriptorLeaks() async throws {
        let leak = open("/dev/null", O_RDONLY)
        defer { close(leak) }
        let names = try await String(decoding: run(["ls", "/proc/self/fd"]).output, as: UTF8.self)
        #expect(names == "0\n1\n2\n3\n")
    }

    /// The program continues only after its first line was read.
    @Test func outputIsPassedOnAsItArrives() async throws {
        let home = try TemporaryDirectory()
        let pieces = Pieces()
        let script = "echo a; until [ -e '\(home.file("go"))' ]; do sleep 0.01; done; echo b"
        var run = ProgramRun(["sh", "-c", script], searchPath: Self.searchPath, outputLimit: 1)
        run.onOutput = {
            pieces.append($0)
            _ = FileManager.default.createFile(atPath: home.file("go"), contents: nil)
        }
        #expect(try await run.run() == ProgramResult(output: []))
        #expect(pieces.all == ["a\n", "b\n"])
    }

    @Test func theLastErrorOutputIsKept() async throws {
        var run = ProgramRun(
            ["sh", "-c", "head -c 300000 /dev/zero >&2; echo out; printf 'the end' >&2; exit 1"],
            searchPath: Self.searchPath
        )
        run.keptErrors = 7
        let expected = ProgramResult(
            output: Array("out\n".utf8),
            failure: "failed with exit code 1",
            errors: Array("the end".utf8)
        )
        #expect(try await run.run() == expected)
    }

    /// The directory is passed as a descriptor, so its name and later changes to the path do not matter.
    @Test func aProgramStartsInTheSpecifiedDirectory() async throws {
        let home = try TemporaryDirectory()
        let name = Array((home.path + "/new\nline").utf8) + [0xFF]
        let directory = try #require(try TargetDirectory.open(name, creating: true))
        var run = ProgramRun(["sh", "-c", "echo x > made"], searchPath: Self.searchPath)
        run.directory = directory
        #expect(try await run.run().failure == nil)
        #expect(try directory.status(of: Array("made".utf8))?.size == 2)
    }

    /// A program's own cleanup may take long, and may be useless.
    @Test func aProgramWithoutAGracePeriodIsKilled() async throws {
        let home = try TemporaryDirectory()
        let pieces = Pieces()
        var run = ProgramRun(
            ["sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.1; done"],
            searchPath: Self.searchPath
        )
        run.grace = .zero
        run.onOutput = { pieces.append($0) }
        run.directory = try TargetDirectory.open(Array(home.path.utf8), creating: false)
        let task = Task { [run] in try await run.run() }
        while pieces.all.isEmpty { await Task.yield() }
        let begin = ContinuousClock.now
        task.cancel()
        await #expect(throws: ProgramError.cancelled) { try await task.value }
        #expect(ContinuousClock.now - begin < .seconds(1))
    }

    @Test func aProgramThatExceedsItsTimeIsTerminated() async throws {
        var program = ProgramRun(["sh", "-c", "echo $$; exec sleep 600"], searchPath: Self.searchPath)
        let pieces = Pieces()
        program.onOutput = { pieces.append($0) }
        program.timeLimit = .milliseconds(200)
        let limited = program
        await #expect(throws: ProgramError.timedOut(limit: .milliseconds(200))) { try await limited.run() }
        if let process = pieces.all.first.flatMap({ pid_t($0.dropLast()) }) { #expect(kill(process, 0) == -1) }
        program.timeLimit = .seconds(600)
        program.arguments = ["true"]
        #expect(try await program.run().failure == nil)
        let endless = Task { [program] in
            var program = program
            program.arguments = ["sleep", "600"]
            return try await program.run()
        }
        endless.cancel()
        await #expect(throws: ProgramError.cancelled) { try await endless.value }
    }

    @Test(arguments: [false, true])
    func cancelingTerminatesTheProgram(isStubborn: Bool) async throws {
        let home = try TemporaryDirectory()
        let script =
            (isStubborn ? "trap '' TERM; " : "") + "echo $$ > '\(home.file("new"))'; "
            + "mv '\(home.file("new"))' '\(home.file("pid"))'; while :; do sleep 0.1; done"
        let task = Task { try await run(["sh", "-c", script]) }
        var process: pid_t?
        while process == nil {
            let text = try? String(contentsOfFile: home.file("pid"), encoding: .utf8)
            process = text.flatMap { pid_t($0.dropLast()) }
            await Task.yield()
        }
        let begin = ContinuousClock.now
        task.cancel()
        await #expect(throws: ProgramError.cancelled) { try await task.value }
        #expect(kill(try #require(process), 0) == -1)
        #expect(errno == ESRCH)
        if !isStubborn { #expect(ContinuousClock.now - begin < .seconds(2)) }
    }
}

/// The received output, in order.
private final class Pieces: Sendable {
    private let texts = Mutex<[String]>([])

    var all: [String] { texts.withLock { $0 } }

    func append(_ bytes: ArraySlice<UInt8>) {
        texts.withLock { $0.append(String(decoding: bytes, as: UTF8.self)) }
    }
}
