internal import Foundation
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

    /// Prepares a run.
    ///
    /// - Parameters:
    ///   - arguments: Program and arguments.
    ///   - searchPath: `PATH`: where a program without a slash is looked for.
    ///   - outputLimit: More bytes of output end the program.
    package init(_ arguments: [String], searchPath: String, outputLimit: Int = 64 << 10) {
        self.arguments = arguments
        self.searchPath = searchPath
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
            await withCheckedContinuation { continuation in
                // Waiting for the program must not hold one of the few threads of Swift's pool.
                let code = DedicatedThread.start {
                    continuation.resume(
                        returning: Result { () throws(ProgramError) in
                            let process = try ProgramProcess(path, self, input: input)
                            return try process.run(stop: stop)
                        }
                    )
                }
                if code != 0 { continuation.resume(returning: .failure(.cannotRun(errno: code))) }
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
