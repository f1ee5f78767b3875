internal import Foundation
internal import Glibc
internal import MediaSystem

/// A program of the user that is run to its end: bytes to its standard input, bytes from its standard output. No shell sees
/// its arguments; what it says on standard error is the user's to read, unless it is kept.
package struct ProgramRun: Sendable {
    /// Program and arguments.
    package var arguments: [String]
    /// `PATH`: where a program without a slash is looked for.
    package var searchPath: String
    /// More bytes of output end the program.
    package var outputLimit: Int
    /// Gets standard output as it comes, on a thread of its own; nothing is kept then, and there is no limit.
    package var onOutput: (@Sendable (ArraySlice<UInt8>) -> Void)?
    /// How many bytes of the end of standard error are kept; nil leaves it to the user.
    package var keptErrors: Int?
    /// Where it begins; nil is the current directory of this process.
    package var directory: TargetDirectory?
    /// How long it has to end by itself when the task is cancelled.
    package var grace: Duration = .seconds(2)
    /// Its environment.
    package var environment = ProcessInfo.processInfo.environment

    /// Prepares a run.
    ///
    /// - Parameters:
    ///   - arguments: Program and arguments.
    ///   - searchPath: `PATH`: where a program without a slash is looked for; nil for that of the environment.
    ///   - outputLimit: More bytes of output end the program.
    package init(_ arguments: [String], searchPath: String? = nil, outputLimit: Int = 64 << 10) {
        self.arguments = arguments
        self.searchPath = searchPath ?? environment["PATH"] ?? ""
        self.outputLimit = outputLimit
    }

    /// Runs it. Bytes that it does not read are no failure.
    ///
    /// Cancelling asks the program to end, kills it after `grace`, and throws `.cancelled` once it is gone.
    ///
    /// - Parameter input: For its standard input, which ends after them.
    /// - Returns: What it printed and how it ended, which is not always well.
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

    /// Whether there is such a program.
    package var isFound: Bool { (try? path()) != nil }

    private func path() throws(ProgramError) -> String {
        guard let name = arguments.first, !name.isEmpty else { throw .noName }
        if name.contains("/") { return name }
        // Entries that are not absolute would mean the current directory.
        let candidates = searchPath.split(separator: ":").filter { $0.hasPrefix("/") }.map { "\($0)/\(name)" }
        guard let path = candidates.first(where: { FileManager.default.isExecutableFile(atPath: $0) }) else {
            throw .notFound
        }
        return path
    }
}

/// Our end of a pipe that a program writes into; never waits.
struct ProgramOutput: ~Copyable {
    /// -1 once everything was read.
    private(set) var descriptor: Int32

    /// More than any pipe holds: one that writes faster than we read must not keep us from looking for anything else.
    private static let longestTurn = 4 << 20

    /// Takes a descriptor over; -1 has nothing to read.
    init(owning descriptor: Int32) {
        self.descriptor = descriptor
        if descriptor >= 0 { _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK) }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Whether everything was read, and nobody can write any more.
    var isAtEnd: Bool { descriptor < 0 }

    /// Hands over what is there, in pieces.
    ///
    /// - Parameters:
    ///   - limit: No more bytes than this; the rest stays where it is.
    ///   - body: Gets each piece.
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

/// Why a program was not run to its end. How it ended is no error here: `ProgramResult` tells that.
package enum ProgramError: Error, Sendable, Equatable {
    /// There are no arguments, and so no name.
    case noName
    /// A name without a slash that is in no directory of the search path.
    case notFound
    /// The system refused to start it, or to make the pipes; holds `errno`.
    case cannotRun(errno: Int32)
    /// It printed more bytes than allowed, and was ended.
    case tooMuchOutput(limit: Int)
    /// The task was cancelled; the program has been ended.
    case cancelled

    /// In words that follow the program's name.
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

/// What a program printed, and how it ended.
package struct ProgramResult: Sendable, Equatable {
    /// How it ended.
    package enum Ending: Sendable, Equatable {
        /// With an exit code.
        case ended(Int32)
        /// By a signal.
        case killed(Int32)
    }

    /// Standard output; empty where it was handed over as it came.
    package var output: [UInt8]
    /// How it ended.
    package var ending: Ending
    /// The end of standard error, where that was kept.
    package var errors: [UInt8] = []

    /// Nil after exit code 0; otherwise how it ended, in words that follow the program's name.
    package var failure: String? {
        switch ending {
        case .ended(0): nil
        case .ended(let code): "failed with exit code \(code)"
        case .killed(let number): "was ended by signal \(number)"
        }
    }
}
