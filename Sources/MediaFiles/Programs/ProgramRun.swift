internal import CFileSystem
internal import Foundation
internal import Glibc
internal import MediaCore
internal import MediaSystem
internal import Subprocess
internal import SystemPackage

/// Runs a user's program until it exits, passing bytes to its standard input and reading bytes from its standard
/// output. The program is run without a shell; its standard error is passed to the user unless it is kept.
package struct ProgramRun: Sendable {
    package var arguments: [String]
    /// The `PATH` to search for a program whose name has no slash.
    package var searchPath: String
    /// Maximum number of output bytes, beyond which the program is terminated.
    package var outputLimit: Int
    /// Receives standard output as it arrives, on another thread; the output is then not kept or limited.
    package var onOutput: (@Sendable (ArraySlice<UInt8>) -> Void)?
    /// Number of bytes to keep from the end of standard error; nil passes it to the user.
    package var keptErrors: Int?
    /// The program's working directory; nil means the current directory of this process.
    package var directory: TargetDirectory?
    /// Grace period after cancellation before the program is killed.
    package var grace: Duration = .seconds(2)
    /// Maximum run time, after which the program is terminated as on cancellation; nil for no limit.
    package var timeLimit: Duration?
    package var environment = ProcessInfo.processInfo.environment

    /// A nil `searchPath` means the `PATH` in the environment.
    package init(_ arguments: [String], searchPath: String? = nil, outputLimit: Int = 64 << 10) {
        self.arguments = arguments
        self.searchPath = searchPath ?? environment["PATH"] ?? ""
        self.outputLimit = outputLimit
    }

    /// Runs the program with `input` as its whole standard input. Bytes that it does not read are not an error; nor is
    /// a failure of the program, which is part of the result.
    ///
    /// Cancellation terminates the program, kills it after `grace`, and throws `.cancelled` once it has exited.
    package func run(input: [UInt8] = []) async throws(ProgramError) -> ProgramResult {
        guard let timeLimit else { return try await runToEnd(input) }
        let work = Task {
            await Result { () async throws(ProgramError) in try await runToEnd(input) }
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
            // Refers to the descriptor, so renames have no effect; the program's process resolves it.
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
        // A file, not a pipe: a program that does not read its input then causes neither an error nor a signal.
        let input = FileDescriptorInput.fileDescriptor(input, closeAfterSpawningProcess: true)
        guard let keptErrors else {
            let result = try await Subprocess.run(
                configuration,
                input: input,
                output: .sequence,
                error: .currentStandardError
            ) { try await keep($0.standardOutput) }
            return ProgramResult(output: result.closureResult, failure: Self.failure(result.terminationStatus))
        }
        let result = try await Subprocess.run(configuration, input: input, output: .sequence, error: .sequence) {
            execution in
            async let errors = end(of: execution.standardError, keptErrors)
            return (try await keep(execution.standardOutput), try await errors)
        }
        let (output, errors) = result.closureResult
        return ProgramResult(output: output, failure: Self.failure(result.terminationStatus), errors: errors)
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

    private static func failure(_ status: TerminationStatus) -> String? {
        switch status {
        case .exited(0): nil
        case .exited(let code): "failed with exit code \(code)"
        case .signaled(let number): "was terminated by signal \(number)"
        }
    }

    package var isFound: Bool { (try? path()) != nil }

    private func path() throws(ProgramError) -> String {
        guard let name = arguments.first, !name.isEmpty else { throw .noName }
        if name.contains("/") { return name }
        // Relative entries would refer to the current directory.
        let candidates = searchPath.split(separator: ":").filter { $0.hasPrefix("/") }.map { "\($0)/\(name)" }
        guard let path = candidates.first(where: { FileManager.default.isExecutableFile(atPath: $0) }) else {
            throw .notFound
        }
        return path
    }
}

/// The reason why a program did not run to completion. A failure of the program is not an error here: see
/// `ProgramResult`.
package enum ProgramError: Error, Sendable, Equatable {
    /// There are no arguments.
    case noName
    /// The name has no slash and was not found in the search path.
    case notFound
    /// The system failed to start the program or to create the pipes.
    case cannotRun(errno: Int32)
    /// The program printed more bytes than allowed, and was terminated.
    case tooMuchOutput(limit: Int)
    /// The program ran longer than allowed, and was terminated.
    case timedOut(limit: Duration)
    /// The task was canceled; the program was terminated.
    case cancelled

    /// Text to be printed after the program's name.
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
    /// Standard output; empty if `onOutput` is set.
    package var output: [UInt8]
    /// nil after exit code 0; otherwise, text to be printed after the program's name.
    package var failure: String?
    /// The end of standard error, if kept.
    package var errors: [UInt8] = []
}

extension FileDescriptor {
    /// An in-memory file that contains bytes, positioned at its beginning.
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
