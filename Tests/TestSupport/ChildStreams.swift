internal import CTestSupport
internal import Foundation

/// The connections of a child's standard streams.
public enum ChildStreams: Sendable {
    /// Each stream separately.
    case separate(input: Input = .nothing, output: Output = .captured, errors: Output = .captured)
    /// A separate terminal for all three, which is also the controlling one.
    case terminal(columns: UInt16)

    /// The source of standard input.
    public enum Input: Sendable {
        /// `/dev/null`.
        case nothing
        /// Written by the test, until it closes the input.
        case written
        /// A file.
        case file(String)
    }

    /// The destination of an output.
    public enum Output: Sendable {
        /// In memory.
        case captured
        /// A pipe without a reader.
        case closed
        /// A file, truncated first; `/dev/null` to discard the output.
        case file(String)
    }

    /// No input; outputs in memory.
    public static let captured = separate()
    /// Input from the test; outputs in memory.
    public static let pipes = separate(input: .written)
    /// Like `pipes`, but standard output has no reader.
    public static let closedOutput = separate(input: .written, output: .closed)
    /// Like `pipes`, but standard output is this file.
    public static func outputFile(_ path: String) -> ChildStreams { separate(input: .written, output: .file(path)) }
}

/// The descriptors of a child's standard streams, and the call that starts it with them.
///
/// All are created close-on-exec: no child of another test can keep one open.
struct ChildDescriptors: ~Copyable {
    /// Our end of standard input; -1 if there is none.
    private(set) var input: Int32 = -1
    /// Our ends of the outputs; nil if they are not collected.
    private(set) var output: Int32?
    private(set) var errors: Int32?

    /// A standard stream of the child: a descriptor of ours, or a file that it opens.
    private enum ChildEnd {
        case descriptor(Int32)
        case file(String, flags: Int32)
    }

    private var childEnds: [ChildEnd] = []
    private var terminalPath: String?

    init(_ streams: ChildStreams) throws {
        switch streams {
        case .separate(let source, let destination, let errorDestination):
            try connect(source)
            output = try connect(destination)
            errors = try connect(errorDestination)
        case .terminal(let columns): try openTerminal(columns)
        }
    }

    deinit {
        for case .descriptor(let descriptor) in childEnds {
            close(descriptor)
        }
    }

    private mutating func connect(_ source: ChildStreams.Input) throws {
        switch source {
        case .nothing: childEnds.append(.file("/dev/null", flags: O_RDONLY))
        case .file(let path): childEnds.append(.file(path, flags: O_RDONLY))
        case .written:
            var pair: [Int32] = [-1, -1]
            let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
            guard socketpair(AF_UNIX, kind, 0, &pair) == 0 else { throw ChildError.cannotStart(errno) }
            input = pair[0]
            childEnds.append(.descriptor(pair[1]))
        }
    }

    private mutating func connect(_ destination: ChildStreams.Output) throws -> Int32? {
        if case .file(let path) = destination {
            childEnds.append(.file(path, flags: O_WRONLY | O_CREAT | O_TRUNC))
            return nil
        }
        var pair: [Int32] = [-1, -1]
        guard ctest_pipe(&pair) == 0 else { throw ChildError.cannotStart(errno) }
        childEnds.append(.descriptor(pair[1]))
        if case .closed = destination {
            close(pair[0])
            return nil
        }
        return pair[0]
    }

    private mutating func openTerminal(_ columns: UInt16) throws {
        // Numbers from <asm-generic/ioctls.h>, whose macros Swift does not import: unlock, and the number in /dev/pts.
        let (unlockRequest, numberRequest) = (UInt(0x4004_5431), UInt(0x8004_5430))
        let terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var isLocked: Int32 = 0
        var number: UInt32 = 0
        guard terminal >= 0, ioctl(terminal, unlockRequest, &isLocked) == 0,
            ioctl(terminal, numberRequest, &number) == 0
        else { throw ChildError.cannotStart(errno) }
        var size = winsize(ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(terminal, UInt(TIOCSWINSZ), &size)
        // Two descriptors, because input and output are closed by different owners.
        (input, output) = (terminal, fcntl(terminal, F_DUPFD_CLOEXEC, 0))
        terminalPath = "/dev/pts/\(number)"
    }

    /// Starts the program.
    ///
    /// - Returns: Its process ID.
    /// - Throws: ``ChildError/cannotStart(_:)``; our ends are then closed.
    func spawn(_ executable: String, _ arguments: [[UInt8]], _ environment: [String: String]) throws -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        connectStandardStreams(&actions)
        // Not every descriptor of the test process is close-on-exec.
        ctest_spawn_close_others(&actions)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        resetSignals(&attributes)
        let argumentVector = CStringArray([Array(executable.utf8)] + arguments)
        let environmentVector = CStringArray(environment.map { Array("\($0.key)=\($0.value)".utf8) })
        var child: pid_t = 0
        let code = posix_spawnp(
            &child,
            executable,
            &actions,
            &attributes,
            argumentVector.pointers,
            environmentVector.pointers
        )
        guard code == 0 else {
            for descriptor in [input, output ?? -1, errors ?? -1] where descriptor >= 0 {
                close(descriptor)
            }
            throw ChildError.cannotStart(code)
        }
        return child
    }

    private func connectStandardStreams(_ actions: inout posix_spawn_file_actions_t) {
        if let terminalPath {
            posix_spawn_file_actions_addopen(&actions, 0, terminalPath, O_RDWR, 0)
            posix_spawn_file_actions_adddup2(&actions, 0, 1)
            posix_spawn_file_actions_adddup2(&actions, 0, 2)
        }
        for (number, end) in zip(Int32(0)..., childEnds) {
            switch end {
            case .descriptor(let descriptor): posix_spawn_file_actions_adddup2(&actions, descriptor, number)
            case .file(let path, let flags): posix_spawn_file_actions_addopen(&actions, number, path, flags, 0o600)
            }
        }
    }

    /// A child inherits the signals that are blocked in the thread that starts it, and those that the process ignores.
    private func resetSignals(_ attributes: inout posix_spawnattr_t) {
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        for signal in [SIGHUP, SIGINT, SIGPIPE, SIGTERM] {
            sigaddset(&signals, signal)
        }
        posix_spawnattr_setsigdefault(&attributes, &signals)
        // 0x80 is POSIX_SPAWN_SETSID, which Swift does not import. A session leader that opens a terminal gets it as
        // its controlling one.
        let session: Int32 = terminalPath == nil ? 0 : 0x80
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | session))
    }
}

/// A null-terminated array of C strings, freed when its last reference is released.
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
