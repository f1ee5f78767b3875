internal import CFileSystem
internal import Foundation

/// A running program with a pipe to its standard input and one from its standard output. One owner, on one thread, which
/// waits in `poll`.
struct ProgramProcess: ~Copyable {
    private let processID: pid_t
    /// -1 once it is closed.
    private var inputEnd: Int32
    private var outputEnd: Int32
    private var rest: ArraySlice<UInt8>
    private var output: [UInt8] = []

    private static let grace = Duration.seconds(2)

    /// Starts a program. Blocks until it runs.
    init(_ path: String, _ arguments: [String], input: [UInt8]) throws(ProgramError) {
        (processID, inputEnd, outputEnd) = try Self.start(path, arguments)
        rest = input[...]
        for end in [inputEnd, outputEnd] { _ = fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK) }
    }

    deinit {
        for end in [inputEnd, outputEnd] where end >= 0 { close(end) }
    }

    /// Feeds and reads until the program has ended. Blocks.
    consuming func run(outputLimit: Int, stop: StopSignal) throws(ProgramError) -> ProgramResult {
        Self.blockBrokenPipeSignal()
        var pause: Int32 = 1
        while true {
            if rest.isEmpty { closeInput() }
            var events = [
                pollfd(fd: stop.readEnd, events: Int16(POLLIN), revents: 0),
                pollfd(fd: outputEnd, events: Int16(POLLIN), revents: 0),
                pollfd(fd: inputEnd, events: Int16(POLLOUT), revents: 0),
            ]
            // The program's end is seen by that of its output, unless it, or somebody it has started, keeps that open.
            poll(&events, nfds_t(events.count), outputEnd < 0 ? pause : 100)
            if outputEnd < 0 { pause = min(pause * 2, 50) }
            if events[0].revents != 0 {
                end()
                throw .cancelled
            }
            let ending = Self.ending(of: processID, WNOHANG)
            // After the question: what was printed before the end is in the pipe by then.
            readOutput(upTo: outputLimit + 1)
            guard output.count <= outputLimit else {
                if ending == nil { end() }
                throw .tooMuchOutput(limit: outputLimit)
            }
            if let ending { return ProgramResult(output: output, ending: ending) }
            writeInput()
        }
    }

    // MARK: Streams

    private mutating func readOutput(upTo limit: Int) {
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while outputEnd >= 0, output.count < limit {
            let count = read(outputEnd, &buffer, min(buffer.count, limit - output.count))
            if count > 0 {
                output += buffer[..<count]
            } else if count < 0, errno == EAGAIN {
                return
            } else if count == 0 || errno != EINTR {
                close(outputEnd)
                outputEnd = -1
            }
        }
    }

    private mutating func writeInput() {
        while inputEnd >= 0, !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(inputEnd, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                return
            } else if errno != EINTR {
                // It reads no more, which is its own affair.
                rest = []
            }
        }
    }

    private mutating func closeInput() {
        if inputEnd >= 0 { close(inputEnd) }
        inputEnd = -1
    }

    /// Only for this thread, which ends with the program: a program that does not read must not end us.
    private static func blockBrokenPipeSignal() {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    // MARK: Start and end

    private static func start(
        _ path: String,
        _ arguments: [String]
    ) throws(ProgramError) -> (processID: pid_t, inputEnd: Int32, outputEnd: Int32) {
        var (input, output): ([Int32], [Int32]) = ([-1, -1], [-1, -1])
        var code = open_pipe(&input)
        guard code == 0 else { throw .cannotRun(errno: code) }
        defer { close(input[0]) }
        code = open_pipe(&output)
        guard code == 0 else {
            close(input[1])
            throw .cannotRun(errno: code)
        }
        defer { close(output[1]) }
        do {
            return (try spawn(path, arguments, input: input[0], output: output[1]), input[1], output[0])
        } catch {
            close(input[1])
            close(output[0])
            throw error
        }
    }

    private static func spawn(
        _ path: String,
        _ arguments: [String],
        input: Int32,
        output: Int32
    ) throws(ProgramError) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input, 0)
        posix_spawn_file_actions_adddup2(&actions, output, 1)
        // Locks and databases are none of its business, should one not be close-on-exec.
        _ = spawn_close_others(&actions)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // It would inherit what this thread blocks and what this process ignores.
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        for signal in [SIGINT, SIGTERM, SIGQUIT, SIGPIPE] { sigaddset(&signals, signal) }
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        let environment = ProcessInfo.processInfo.environment.map { "\($0.key)=\($0.value)" }
        let vectors = [arguments, environment].map { $0.map { strdup($0) } + [nil] }
        defer { vectors.joined().forEach { free($0) } }
        var child: pid_t = 0
        let code = posix_spawn(&child, path, &actions, &attributes, vectors[0], vectors[1])
        guard code == 0 else { throw .cannotRun(errno: code) }
        return child
    }

    /// Asks the program to end, and kills it when it does not.
    private func end() {
        kill(processID, SIGTERM)
        let deadline = ContinuousClock.now + Self.grace
        while Self.ending(of: processID, WNOHANG) == nil {
            guard ContinuousClock.now < deadline else {
                kill(processID, SIGKILL)
                _ = Self.ending(of: processID, 0)
                return
            }
            poll(nil, 0, 10)
        }
    }

    /// How the program ended, when it has; it is asked once more only while this is nil.
    private static func ending(of processID: pid_t, _ options: Int32) -> ProgramResult.Ending? {
        var status: Int32 = 0
        var found = waitpid(processID, &status, options)
        while found < 0, errno == EINTR { found = waitpid(processID, &status, options) }
        if found == 0 { return nil }
        // ECHILD: somebody else of this process has asked for it, and knows how it ended.
        guard found == processID else { return .ended(-1) }
        return status & 0x7f == 0 ? .ended((status >> 8) & 0xff) : .killed(status & 0x7f)
    }
}
