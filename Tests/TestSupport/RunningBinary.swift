internal import Foundation
internal import Synchronization

/// A child process with its output collected as it comes.
public final class RunningBinary: Sendable {
    /// The process id. It stays reserved until `finish` has returned.
    public let processID: Int32

    private enum Event: Sendable {
        case text(String)
        case end
    }

    private struct State {
        var output: [UInt8] = []
        var errors: [UInt8] = []
        var openStreams: Int
        var status: Int32?
        var input: Int32
        var isHungUp = false
        var waiters: [Int: Waiter] = [:]
        var nextWaiter = 0
    }

    private struct Waiter {
        var event: Event
        var continuation: CheckedContinuation<Bool, Never>
    }

    private let state: Mutex<State>

    init(
        executable: String,
        arguments: [[UInt8]],
        environment: [String: String],
        streams: BinaryRunner.Streams
    ) throws {
        let ends = try ChildStreams(streams)
        processID = try ends.spawn(executable, arguments, environment)
        ends.closeChildEnds()
        state = Mutex(State(openStreams: ends.errors == nil ? 1 : 2, input: ends.input))
        collect(ends.output) { $0.output += $1 }
        if let errors = ends.errors {
            collect(errors) { $0.errors += $1 }
        }
        let child = processID
        Thread.detachNewThread { [self] in
            var status: Int32 = 0
            while waitpid(child, &status, 0) < 0, errno == EINTR {}
            change { $0.status = status }
        }
    }

    /// Sends a signal to the child only.
    public func send(_ signal: Int32) {
        kill(processID, signal)
    }

    /// Writes to standard input, or types on the terminal. A child that does not read is no failure.
    public func write(_ text: String) {
        let descriptor = state.withLock { $0.input }
        guard descriptor >= 0, !text.isEmpty else { return }
        let bytes = Array(text.utf8)
        var offset = 0
        while offset < bytes.count {
            // MSG_NOSIGNAL works for sockets only; the input is one, so that a child that is gone raises no SIGPIPE.
            let count = bytes[offset...].withUnsafeBytes { buffer in
                let sent = Foundation.send(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL))
                return sent < 0 && errno == ENOTSOCK
                    ? Foundation.write(descriptor, buffer.baseAddress, buffer.count) : sent
            }
            guard count > 0 else { return }
            offset += count
        }
    }

    /// Ends standard input. On a terminal nothing happens.
    public func closeInput() {
        let descriptor = state.withLock { $0.input }
        if descriptor >= 0 {
            shutdown(descriptor, Int32(SHUT_WR))
        }
    }

    /// Closes the terminal under the child, as a closed window does. Only for a child on a terminal.
    public func hangUp() {
        state.withLock { $0.isHungUp = true }
    }

    /// Waits until a text has been written to standard output or standard error.
    ///
    /// - Throws: `BinaryError.neverSaid`.
    public func wait(for text: String, deadline: Duration = .seconds(30)) async throws {
        guard await wait(.text(text), deadline) else {
            let soFar = result.output + result.errors
            throw BinaryError.neverSaid(text, soFar: soFar)
        }
    }

    /// Waits for the end of the child and of its output.
    ///
    /// - Returns: What it wrote and how it ended.
    /// - Throws: `BinaryError.neverEnded`; the child has been killed then.
    public func finish(deadline: Duration = .seconds(60)) async throws -> BinaryResult {
        guard await wait(.end, deadline) else {
            kill(processID, SIGKILL)
            throw BinaryError.neverEnded(soFar: result.output + result.errors)
        }
        let descriptor = state.withLock { state in
            defer { state.input = -1 }
            return state.input
        }
        if descriptor >= 0 {
            close(descriptor)
        }
        return result
    }

    private var result: BinaryResult {
        state.withLock { state in
            let status = state.status ?? 0
            let isExited = status & 0x7f == 0
            return BinaryResult(
                output: String(decoding: state.output, as: UTF8.self),
                errors: String(decoding: state.errors, as: UTF8.self),
                exitCode: isExited ? (status >> 8) & 0xff : nil,
                signal: isExited ? nil : status & 0x7f
            )
        }
    }

    // MARK: Events

    private func wait(_ event: Event, _ deadline: Duration) async -> Bool {
        await withCheckedContinuation { continuation in
            let key: Int? = state.withLock { state in
                if Self.hasHappened(event, state) {
                    continuation.resume(returning: true)
                    return nil
                }
                state.nextWaiter += 1
                state.waiters[state.nextWaiter] = Waiter(event: event, continuation: continuation)
                return state.nextWaiter
            }
            guard let key else { return }
            let seconds = Double(deadline.components.seconds)
            DispatchQueue.global().asyncAfter(deadline: .now() + seconds) { [self] in
                let waiter = state.withLock { $0.waiters.removeValue(forKey: key) }
                waiter?.continuation.resume(returning: false)
            }
        }
    }

    private func change(_ body: (inout State) -> Void) {
        let ready = state.withLock { state in
            body(&state)
            let keys = state.waiters.filter { Self.hasHappened($0.value.event, state) }.map(\.key)
            return keys.compactMap { state.waiters.removeValue(forKey: $0) }
        }
        for waiter in ready {
            waiter.continuation.resume(returning: true)
        }
    }

    private static func hasHappened(_ event: Event, _ state: State) -> Bool {
        switch event {
        case .end: state.status != nil && state.openStreams == 0
        case .text(let text):
            String(decoding: state.output, as: UTF8.self).contains(text)
                || String(decoding: state.errors, as: UTF8.self).contains(text)
        }
    }

    private func collect(_ descriptor: Int32, _ append: @escaping @Sendable (inout State, [UInt8]) -> Void) {
        Thread.detachNewThread { [self] in
            var buffer = [UInt8](repeating: 0, count: 64 << 10)
            while waitForInput(descriptor) {
                let count = read(descriptor, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                // A terminal whose last user is gone reads as EIO.
                guard count > 0 else { break }
                let bytes = Array(buffer[..<count])
                change { append(&$0, bytes) }
            }
            // The terminal's descriptor is also the input and is closed with it.
            if state.withLock({ $0.isHungUp }) {
                state.withLock { $0.input = -1 }
                close(descriptor)
            } else if descriptor != state.withLock({ $0.input }) {
                close(descriptor)
            }
            change { $0.openStreams -= 1 }
        }
    }
}

extension RunningBinary {
    /// Waits until a descriptor can be read. A terminal is hung up only when nobody is inside `read` on it.
    ///
    /// - Returns: false when it is to be closed.
    private func waitForInput(_ descriptor: Int32) -> Bool {
        var event = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while !state.withLock({ $0.isHungUp }) {
            if poll(&event, 1, 20) != 0 { return true }
        }
        return false
    }
}

/// The descriptors of a child's standard streams and our ends of them.
private struct ChildStreams {
    var input: Int32
    var output: Int32
    var errors: Int32?
    private var childEnds: [Int32] = []
    private var terminalPath: String?
    private var outputPath: String?

    init(_ streams: BinaryRunner.Streams) throws {
        switch streams {
        case .pipes: (input, output, errors, childEnds) = try Self.pipes()
        case .closedOutput:
            (input, output, errors, childEnds) = try Self.pipes()
            shutdown(output, Int32(SHUT_RD))
        case .outputFile(let path):
            (input, output, errors, childEnds) = try Self.pipes()
            outputPath = path
        case .terminal(let columns):
            // Numbers of <asm-generic/ioctls.h>, whose macros Swift does not see: unlock, and the number in /dev/pts.
            let (unlockRequest, numberRequest) = (UInt(0x4004_5431), UInt(0x8004_5430))
            let terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
            var isLocked: Int32 = 0
            var number: UInt32 = 0
            guard terminal >= 0, ioctl(terminal, unlockRequest, &isLocked) == 0,
                ioctl(terminal, numberRequest, &number) == 0
            else { throw BinaryError.cannotStart(errno) }
            var size = winsize(ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
            _ = ioctl(terminal, UInt(TIOCSWINSZ), &size)
            (input, output, errors) = (terminal, terminal, nil)
            terminalPath = "/dev/pts/\(number)"
        }
    }

    private static func pipes() throws -> (Int32, Int32, Int32?, [Int32]) {
        // Sockets, because they are born close-on-exec: no child of another test can hold an end open.
        var pairs: [[Int32]] = []
        for _ in 0..<3 {
            var pair: [Int32] = [0, 0]
            guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &pair) == 0 else {
                throw BinaryError.cannotStart(errno)
            }
            pairs.append(pair)
        }
        return (pairs[0][0], pairs[1][0], pairs[2][0], pairs.map { $0[1] })
    }

    func closeChildEnds() {
        for descriptor in childEnds {
            close(descriptor)
        }
    }

    func spawn(_ executable: String, _ arguments: [[UInt8]], _ environment: [String: String]) throws -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        if let terminalPath {
            // 0x80 is POSIX_SPAWN_SETSID, which Swift does not see. A session leader that opens a terminal gets it as its controlling one.
            posix_spawnattr_setflags(&attributes, 0x80)
            posix_spawn_file_actions_addopen(&actions, 0, terminalPath, O_RDWR, 0)
            posix_spawn_file_actions_adddup2(&actions, 0, 1)
            posix_spawn_file_actions_adddup2(&actions, 0, 2)
        } else {
            for (number, descriptor) in childEnds.enumerated() {
                posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(number))
            }
            if let outputPath {
                posix_spawn_file_actions_addopen(&actions, 1, outputPath, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
            }
        }
        let argumentVector = CStringArray([Array(executable.utf8)] + arguments)
        let environmentVector = CStringArray(environment.map { Array("\($0.key)=\($0.value)".utf8) })
        var child: pid_t = 0
        let code = posix_spawn(
            &child,
            executable,
            &actions,
            &attributes,
            argumentVector.pointers,
            environmentVector.pointers
        )
        guard code == 0 else { throw BinaryError.cannotStart(code) }
        return child
    }
}

/// A null-terminated array of C strings, freed with its last reference.
private final class CStringArray {
    let pointers: [UnsafeMutablePointer<CChar>?]

    init(_ strings: [[UInt8]]) {
        pointers =
            strings.map { bytes in
                (bytes + [0]).withUnsafeBytes {
                    $0.withMemoryRebound(to: CChar.self) { $0.baseAddress.flatMap { strdup($0) } }
                }
            } + [nil]
    }

    deinit {
        pointers.forEach { free($0) }
    }
}
