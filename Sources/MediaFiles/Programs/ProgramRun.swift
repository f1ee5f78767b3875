internal import CFileSystem
internal import Foundation
internal import Glibc
internal import MediaSystem
internal import Subprocess
internal import SystemPackage

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
    /// Maximum run time, after which it is terminated like after cancellation; nil means no limit.
    package var timeLimit: Duration?
    package var environment = ProcessInfo.processInfo.environment

    /// A nil `searchPath` is that of the environment.
    package init(_ arguments: [String], searchPath: String? = nil, outputLimit: Int = 64 << 10) {
        self.arguments = arguments
        self.searchPath = searchPath ?? environment["PATH"] ?? ""
        self.outputLimit = outputLimit
    }

    /// Runs the program with `input` as its whole standard input. Bytes that it does not read are not an error; nor is
    /// a failure of the program, which is in the result.
    ///
    /// Canceling terminates the program, kills it after `grace`, and throws `.cancelled` once it has ended.
    package func run(input: [UInt8] = []) async throws(ProgramError) -> ProgramResult {
        guard let timeLimit else { return try await runToEnd(input) }
        let work = Task { () -> Result<ProgramResult, ProgramError> in
            do throws(ProgramError) {
                return .success(try await runToEnd(input))
            } catch {
                return .failure(error)
            }
        }
        let timer = Task {
            guard (try? await Task.sleep(for: timeLimit)) != nil else { return false }
            work.cancel()
            return true
        }
        let result = await withTaskCancellationHandler {
            await work.value
        } onCancel: {
            work.cancel()
        }
        timer.cancel()
        if result == .failure(.cancelled), await timer.value, !Task.isCancelled { throw .timedOut(limit: timeLimit) }
        return try result.get()
    }

    private func runToEnd(_ input: [UInt8]) async throws(ProgramError) -> ProgramResult {
        let path = try path()
        guard !Task.isCancelled else { throw .cancelled }
        var options = PlatformOptions()
        options.teardownSequence = [.gracefulShutDown(allowedDurationToNextStep: grace)]
        let configuration = Configuration(
            executable: .path(FilePath(path)),
            arguments: Arguments(Array(arguments.dropFirst())),
            environment: .custom(environment.map { Array("\($0.key)=\($0.value)\0".utf8) }),
            // Through the descriptor, whatever happens to the name; resolved by the program's process.
            workingDirectory: directory.map { FilePath("/proc/self/fd/\($0.descriptor)") },
            platformOptions: options
        )
        do {
            let result = try await run(configuration, input: FileDescriptor(holding: input))
            guard !Task.isCancelled else { throw ProgramError.cancelled }
            return result
        } catch let error as ProgramError {
            throw error
        } catch let error as SubprocessError {
            if Task.isCancelled { throw .cancelled }
            throw .cannotRun(
                errno: error.underlyingError?.rawValue ?? (error.code == .executableNotFound ? ENOENT : EIO)
            )
        } catch let error as Errno {
            throw .cannotRun(errno: error.rawValue)
        } catch {
            throw .cancelled
        }
    }

    private func run(_ configuration: Configuration, input: FileDescriptor) async throws -> ProgramResult {
        // A file, not a pipe: a program that does not read its input causes neither an error nor a signal.
        let input = FileDescriptorInput.fileDescriptor(input, closeAfterSpawningProcess: true)
        guard let keptErrors else {
            let result = try await Subprocess.run(
                configuration,
                input: input,
                output: .sequence,
                error: .currentStandardError
            ) { try await keep($0.standardOutput) }
            return ProgramResult(output: result.closureResult, ending: .init(result.terminationStatus))
        }
        let result = try await Subprocess.run(configuration, input: input, output: .sequence, error: .sequence) {
            execution in
            async let errors = end(of: execution.standardError, keptErrors)
            return (try await keep(execution.standardOutput), try await errors)
        }
        let (output, errors) = result.closureResult
        return ProgramResult(output: output, ending: .init(result.terminationStatus), errors: errors)
    }

    private func keep(_ pieces: SubprocessOutputSequence) async throws -> [UInt8] {
        var output: [UInt8] = []
        for try await piece in pieces {
            let bytes = piece.withUnsafeBytes { Array($0) }
            if let onOutput {
                onOutput(bytes[...])
            } else {
                output += bytes
                guard output.count <= outputLimit else { throw ProgramError.tooMuchOutput(limit: outputLimit) }
            }
        }
        return output
    }

    private func end(of pieces: SubprocessOutputSequence, _ limit: Int) async throws -> [UInt8] {
        var end: [UInt8] = []
        for try await piece in pieces {
            end += piece.withUnsafeBytes { Array($0) }
            end.removeFirst(max(0, end.count - limit))
        }
        return end
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
    /// It ran longer than allowed, and was terminated.
    case timedOut(limit: Duration)
    /// The task was canceled; the program was terminated.
    case cancelled

    /// Text to follow the program's name.
    package var detail: String {
        switch self {
        case .noName: "is empty"
        case .notFound: "is not in PATH"
        case .cannotRun(let code): "cannot be run: \(SystemError.words(code))"
        case .tooMuchOutput(let limit): "printed more than \(limit) bytes"
        case .timedOut(let limit): "did not finish within \(limit.components.seconds) s, and was terminated"
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
        case .killed(let number): "was terminated by signal \(number)"
        }
    }
}

extension ProgramResult.Ending {
    fileprivate init(_ status: TerminationStatus) {
        switch status {
        case .exited(let code): self = .ended(code)
        case .signaled(let number): self = .killed(number)
        }
    }
}

extension FileDescriptor {
    /// A file in memory that holds bytes, at its beginning.
    fileprivate init(holding bytes: [UInt8]) throws {
        self.init(rawValue: open_memory_file())
        guard rawValue >= 0 else { throw Errno(rawValue: errno) }
        do {
            try writeAll(bytes)
            try seek(offset: 0, from: .start)
        } catch {
            try? close()
            throw error
        }
    }
}
