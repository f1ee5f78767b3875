internal import Foundation
internal import Glibc
internal import MediaSystem

/// Runs a user's program to its end: bytes to its standard input, bytes from its standard output. It is run without a
/// shell; its standard error is passed to the user, unless it is kept.
package struct ProgramRun: Sendable {
    /// Program and arguments.
    package var arguments: [String]
    /// `PATH` to search for a program without a slash.
    package var searchPath: String
    /// More bytes of output terminate the program.
    package var outputLimit: Int
    /// Gets standard output as it arrives, on another thread; then it is not kept, and there is no limit.
    package var onOutput: (@Sendable (ArraySlice<UInt8>) -> Void)?
    /// Number of bytes kept of the end of standard error; nil passes it to the user.
    package var keptErrors: Int?
    /// Its working directory; nil is the current directory of this process.
    package var directory: TargetDirectory?
    /// Time to end by itself after cancellation.
    package var grace: Duration = .seconds(2)
    /// Its environment.
    package var environment = ProcessInfo.processInfo.environment

    /// Without a search path it is that of the environment.
    package init(_ arguments: [String], searchPath: String? = nil, outputLimit: Int = 64 << 10) {
        self.arguments = arguments
        self.searchPath = searchPath ?? environment["PATH"] ?? ""
        self.outputLimit = outputLimit
    }

    /// Runs the program. Bytes that it does not read are not an error.
    ///
    /// Cancelling terminates the program, kills it after `grace`, and throws `.cancelled` once it has ended.
    ///
    /// - Parameter input: Bytes for its standard input, which is closed after them.
    /// - Returns: Its output and how it ended, which may be a failure.
    /// - Throws: `ProgramError`.
    package func run(input: [UInt8] = []) async throws(ProgramError) -> ProgramResult {
        let path = try path()
        guard !Task.isCancelled else { throw .cancelled }
        guard let stop = StopSignal() else { throw .cannotRun(errno: errno) }
        let result: Result<ProgramResult, ProgramError> = await withTaskCancellationHandler {
            await BlockingWork.run {
                Result { () throws(ProgramError) in
                    try ProgramProcess(path, self, input: input).run(stop: stop)
                }
            }
        } onCancel: {
            stop.signal()
        }
        return try result.get()
    }

    package var isFound: Bool { (try? path()) != nil }

    private func path() throws(ProgramError) -> String {
        guard let name = arguments.first, !name.isEmpty else { throw .noName }
        if name.contains("/") { return name }
        // Relative entries would mean the current directory.
        let candidates = searchPath.split(separator: ":").filter { $0.hasPrefix("/") }.map { "\($0)/\(name)" }
        guard let path = candidates.first(where: { FileManager.default.isExecutableFile(atPath: $0) }) else {
            throw .notFound
        }
        return path
    }
}

/// Our nonblocking end of a pipe that a program writes to.
struct ProgramOutput: ~Copyable {
    /// -1 once everything was read.
    private(set) var descriptor: Int32

    /// More than any pipe holds: a fast writer must not prevent other work.
    private static let longestTurn = 4 << 20

    /// Takes ownership of a descriptor; -1 has nothing to read.
    init(owning descriptor: Int32) {
        self.descriptor = descriptor
        if descriptor >= 0 { _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK) }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Reads what is available, in pieces; what exceeds the limit stays in the pipe.
    mutating func read(upTo limit: Int = longestTurn, _ body: (ArraySlice<UInt8>) -> Void) {
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        var rest = min(limit, Self.longestTurn)
        while descriptor >= 0, rest > 0 {
            let count = Glibc.read(descriptor, &buffer, min(buffer.count, rest))
            if count > 0 {
                body(buffer[..<count])
                rest -= count
            } else if count < 0, errno == EAGAIN {
                return
            } else if count == 0 || errno != EINTR {
                close(descriptor)
                descriptor = -1
            }
        }
    }
}

/// Why a program was not run to its end. A failure of the program is not an error here: see `ProgramResult`.
package enum ProgramError: Error, Sendable, Equatable {
    /// There are no arguments.
    case noName
    /// A name without a slash that is not in the search path.
    case notFound
    /// The system failed to start it or to create the pipes.
    case cannotRun(errno: Int32)
    /// It printed more bytes than allowed, and was terminated.
    case tooMuchOutput(limit: Int)
    /// The task was cancelled; the program was terminated.
    case cancelled

    /// Text to follow the program's name.
    package var detail: String {
        switch self {
        case .noName: "names no program"
        case .notFound: "is not in PATH"
        case .cannotRun(let code): "cannot be run: \(SystemError.words(code))"
        case .tooMuchOutput(let limit): "printed more than \(limit) bytes"
        case .cancelled: "was interrupted"
        }
    }
}

package struct ProgramResult: Sendable, Equatable {
    package enum Ending: Sendable, Equatable {
        /// With an exit code.
        case ended(Int32)
        /// By a signal.
        case killed(Int32)
    }

    /// Standard output; empty with `onOutput`.
    package var output: [UInt8]
    package var ending: Ending
    /// The end of standard error, if kept.
    package var errors: [UInt8] = []

    /// Nil after exit code 0; otherwise text to follow the program's name.
    package var failure: String? {
        switch ending {
        case .ended(0): nil
        case .ended(let code): "failed with exit code \(code)"
        case .killed(let number): "was ended by signal \(number)"
        }
    }
}
