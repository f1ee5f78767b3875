internal import Glibc
internal import MediaSystem

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
