internal import CFileSystem
internal import Foundation

/// A running program with pipes for its standard input and output. Owned by one thread, which waits in `poll`.
struct ProgramProcess: ~Copyable {
    private let run: ProgramRun
    private let processID: pid_t
    /// Readable once the program has ended; -1 where the system has none.
    private let ending: Int32
    /// -1 once it is closed.
    private var inputEnd: Int32
    private var rest: ArraySlice<UInt8>
    private var outputEnd: ProgramOutput
    private var errorsEnd: ProgramOutput
    private var output: [UInt8] = []
    private var errors: [UInt8] = []

    /// Blocks until the program runs.
    init(_ path: String, _ run: ProgramRun, input: [UInt8]) throws(ProgramError) {
        self.run = run
        rest = input[...]
        var (input, output, errors): ([Int32], [Int32], [Int32]) = ([-1, -1], [-1, -1], [-1, -1])
        // Closes the program's ends in any case.
        defer { for end in [input[0], output[1], errors[1]] where end >= 0 { close(end) } }
        do {
            try Self.openPipe(&input)
            try Self.openPipe(&output)
            if run.keptErrors != nil { try Self.openPipe(&errors) }
            processID = try Self.spawn(path, run, input: input[0], output: output[1], errors: errors[1])
        } catch {
            for end in [input[1], output[0], errors[0]] where end >= 0 { close(end) }
            throw error
        }
        ending = open_process(processID)
        inputEnd = input[1]
        _ = fcntl(inputEnd, F_SETFL, fcntl(inputEnd, F_GETFL) | O_NONBLOCK)
        outputEnd = ProgramOutput(owning: output[0])
        errorsEnd = ProgramOutput(owning: errors[0])
    }

    deinit { for end in [inputEnd, ending] where end >= 0 { close(end) } }

    /// Writes and reads until the program has ended. Blocks.
    consuming func run(stop: StopSignal) throws(ProgramError) -> ProgramResult {
        Self.blockBrokenPipeSignal()
        while true {
            if rest.isEmpty { closeInput() }
            var events = [
                pollfd(fd: stop.readEnd, events: Int16(POLLIN), revents: 0),
                pollfd(fd: outputEnd.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: errorsEnd.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: inputEnd, events: Int16(POLLOUT), revents: 0),
                pollfd(fd: ending, events: Int16(POLLIN), revents: 0),
            ]
            poll(&events, nfds_t(events.count), ending < 0 ? 50 : -1)
            if events[0].revents != 0 {
                end()
                throw .cancelled
            }
            let result = Self.ending(of: processID, WNOHANG)
            // After the question: what was printed before the end is in the pipes by then.
            readErrors()
            readOutput()
            guard output.count <= run.outputLimit else {
                if result == nil { end() }
                throw .tooMuchOutput(limit: run.outputLimit)
            }
            if let result { return ProgramResult(output: output, ending: result, errors: errors) }
            writeInput()
        }
    }

    // MARK: Streams

    private mutating func readOutput() {
        if let onOutput = run.onOutput {
            outputEnd.read(onOutput)
        } else {
            outputEnd.read(upTo: run.outputLimit + 1 - output.count) { output += $0 }
        }
    }

    private mutating func readErrors() {
        guard let limit = run.keptErrors else { return }
        errorsEnd.read {
            errors += $0
            errors.removeFirst(max(0, errors.count - limit))
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
                // The program has closed its input, which is not an error.
                rest = []
            }
        }
    }

    private mutating func closeInput() {
        if inputEnd >= 0 { close(inputEnd) }
        inputEnd = -1
    }

    /// Only for this thread, which ends with the program: a program that does not read must not kill this process.
    private static func blockBrokenPipeSignal() {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    // MARK: Start and end

    private static func openPipe(_ ends: inout [Int32]) throws(ProgramError) {
        let code = open_pipe(&ends)
        guard code == 0 else { throw .cannotRun(errno: code) }
    }

    private static func spawn(
        _ path: String,
        _ run: ProgramRun,
        input: Int32,
        output: Int32,
        errors: Int32
    ) throws(ProgramError) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input, 0)
        posix_spawn_file_actions_adddup2(&actions, output, 1)
        if errors >= 0 { posix_spawn_file_actions_adddup2(&actions, errors, 2) }
        if let directory = run.directory {
            let code = spawn_in_directory(&actions, directory.descriptor)
            guard code == 0 else { throw .cannotRun(errno: code) }
        }
        // Protects locks and databases that are not close-on-exec.
        _ = spawn_close_others(&actions)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // Otherwise it inherits this thread's blocked and this process's ignored signals.
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        for signal in [SIGINT, SIGTERM, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2, SIGALRM, SIGXCPU] {
            sigaddset(&signals, signal)
        }
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        let environment = run.environment.map { "\($0.key)=\($0.value)" }
        let vectors = [run.arguments, environment].map { $0.map { strdup($0) } + [nil] }
        defer { vectors.joined().forEach { free($0) } }
        var child: pid_t = 0
        let code = posix_spawn(&child, path, &actions, &attributes, vectors[0], vectors[1])
        guard code == 0 else { throw .cannotRun(errno: code) }
        return child
    }

    /// Terminates the program, and kills it after the grace period.
    private func end() {
        kill(processID, SIGTERM)
        var event = pollfd(fd: ending, events: Int16(POLLIN), revents: 0)
        if poll(&event, 1, Int32(run.grace / .milliseconds(1))) <= 0 { kill(processID, SIGKILL) }
        _ = Self.ending(of: processID, 0)
    }

    /// Nil while it runs; must not be called again after another result.
    private static func ending(of processID: pid_t, _ options: Int32) -> ProgramResult.Ending? {
        var status: Int32 = 0
        var found = waitpid(processID, &status, options)
        while found < 0, errno == EINTR { found = waitpid(processID, &status, options) }
        if found == 0 { return nil }
        // ECHILD: other code of this process has already reaped it.
        guard found == processID else { return .ended(-1) }
        return status & 0x7f == 0 ? .ended((status >> 8) & 0xff) : .killed(status & 0x7f)
    }
}
