import Foundation
import TestSupport
import Testing

/// Preconditions of every test that starts a child process.
@Suite struct ChildProcessTests {
    @Test func aChildHasNoBlockedSignalsRegardlessOfItsParent() throws {
        var all = sigset_t()
        var before = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &before)
        let child = Result { try ChildProcess("grep", ["SigBlk", "/proc/self/status"]) }
        pthread_sigmask(SIG_SETMASK, &before, nil)
        #expect(try child.get().finish().output == "SigBlk:\t0000000000000000\n")
    }

    @Test func aChildInheritsOnlyTheStandardStreams() throws {
        let inheritable = dup(STDERR_FILENO)
        defer { close(inheritable) }
        // 3 is the directory that `ls` itself reads.
        #expect(try ChildProcess.run("ls", ["/proc/self/fd"]).lines == ["0", "1", "2", "3"])
    }

    @Test func aChildEndsWithItsLastReference() throws {
        let number = try ChildProcess("cat", [], streams: .pipes).processID
        #expect(kill(number, 0) == -1)
    }

    @Test func writingToAChildThatExitedIsNotAnError() throws {
        let child = try ChildProcess("true", [], streams: .pipes)
        #expect(try child.finish().exitCode == 0)
        child.write("too late")
        #expect(child.result.signal == nil)
    }

    @Test func exitCodesAndSignalsAreDistinguished() async throws {
        #expect(try await ChildProcess.run("sh", ["-c", "exit 3"]).exitCode == 3)
        #expect(try await ChildProcess.run("sh", ["-c", "kill -9 $$"]).signal == SIGKILL)
        await #expect(throws: ChildError.cannotStart(ENOENT)) { try await ChildProcess.run("/no/such/program") }
    }
}
