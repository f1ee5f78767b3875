internal import Foundation
internal import Synchronization

/// A child process with its output collected as it arrives.
///
/// Tests start children from many threads concurrently, with signals blocked in some of them. Every child gets an
/// empty signal mask, the default action for the signals that terminate a program, and no descriptor but its standard
/// streams. It is killed when the last reference is released.
public final class ChildProcess: Sendable {
    /// The process ID. Another process may get it once the child has exited; ``signal(_:)`` checks that.
    public let processID: Int32

    private let monitor: ChildMonitor
    /// Our end of standard input, closed when the last reference is released; -1 if there is none.
    private let input: Int32
    private let home: TemporaryDirectory?
    /// Set only if the program is the built `mediactl`.
    private let secrets: SecretWatch?
    private let arguments: [String]

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - executable: A path, or a name to be found in `PATH`.
    ///   - arguments: Without the program's name; they need not be UTF-8.
    ///   - environment: All variables; those of the tests if nil.
    ///   - streams: The standard streams.
    ///   - home: A directory that must not be removed before the child has exited.
    /// - Throws: ``ChildError/cannotStart(_:)``.
    public init(
        _ executable: String,
        rawArguments arguments: [[UInt8]],
        environment: [String: String]? = nil,
        streams: ChildStreams = .captured,
        home: TemporaryDirectory? = nil
    ) throws {
        self.home = home
        var environment = environment ?? ProcessInfo.processInfo.environment
        self.arguments = arguments.map { String(decoding: $0, as: UTF8.self) }
        secrets = SecretWatch([executable] + self.arguments, environment: environment)
        // The leak detector traces the process, which fails while strace does.
        if ([executable] + self.arguments).contains(where: { $0.hasSuffix("strace") }) {
            environment["ASAN_OPTIONS"] = "detect_leaks=0"
        }
        let descriptors = try ChildDescriptors(streams)
        processID = try descriptors.spawn(executable, arguments, environment)
        input = descriptors.input
        monitor = ChildMonitor(processID, output: descriptors.output, errors: descriptors.errors)
        if let secrets {
            ArgumentSampler.shared.add(processID, secrets)
        }
    }

    /// Starts a program with arguments that are text.
    ///
    /// - Throws: ``ChildError/cannotStart(_:)``.
    public convenience init(
        _ executable: String,
        _ arguments: [String],
        environment: [String: String]? = nil,
        streams: ChildStreams = .captured,
        home: TemporaryDirectory? = nil
    ) throws {
        try self.init(
            executable,
            rawArguments: arguments.map { Array($0.utf8) },
            environment: environment,
            streams: streams,
            home: home
        )
    }

    deinit {
        killNow()
        ArgumentSampler.shared.remove(processID)
        secrets?.finish(result)
        if input >= 0 {
            close(input)
        }
    }

    /// Whether the child is still running.
    public var isRunning: Bool { monitor.state.withLock { $0.status == nil } }

    /// The child's output so far.
    public var result: ChildResult { monitor.state.withLock { $0.result } }

    // MARK: Actions

    /// Sends a signal again, late enough to count as a repeat (`Interruption.repeatAfter`). Call this once the child
    /// has printed its reaction to the first one.
    public func repeatSignal(_ number: Int32) async throws {
        try await Task.sleep(for: number == SIGINT ? .milliseconds(100) : .seconds(1))
        signal(number)
    }

    /// Sends a signal to the child only; does nothing if it has exited.
    public func signal(_ number: Int32) {
        monitor.state.withLock { state in
            // The child is reaped under the same lock, so the number still belongs to it.
            if state.status == nil {
                kill(processID, number)
            }
        }
    }

    /// Kills the child and waits until it has exited; its output may still be pending.
    public func killNow() {
        signal(SIGKILL)
        _ = monitor.block(until: { $0.status != nil }, deadline: .seconds(60))
    }

    /// Writes to standard input, or types on the terminal. A child that does not read is not an error.
    public func write(_ text: String) {
        secrets?.add(input: text, of: arguments)
        var rest = Array(text.utf8)[...]
        while input >= 0, !rest.isEmpty {
            // MSG_NOSIGNAL works for sockets only; the input is one, so a child that has exited raises no
            // SIGPIPE.
            let count = rest.withUnsafeBytes { buffer in
                let sent = send(input, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL))
                return sent < 0 && errno == ENOTSOCK ? Foundation.write(input, buffer.baseAddress, buffer.count) : sent
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    /// Closes standard input. Does nothing on a terminal.
    public func closeInput() {
        if input >= 0 {
            shutdown(input, Int32(SHUT_WR))
        }
    }

    // MARK: Waiting

    /// Waits until a text has been written to standard output or standard error.
    ///
    /// - Throws: ``ChildError/neverPrinted(_:soFar:)``, including when the child exits without printing it.
    public func wait(for text: String, deadline: Duration = .seconds(120)) async throws {
        _ = await monitor.wait(until: { $0.hasPrinted(text) || $0.hasEnded }, deadline: deadline)
        guard monitor.state.withLock({ $0.hasPrinted(text) }) else {
            throw ChildError.neverPrinted(text, soFar: result.output + result.errors)
        }
    }

    /// Waits until a text has been written, and sends a signal.
    ///
    /// - Throws: ``ChildError/neverPrinted(_:soFar:)``, including when the child exits without printing it.
    public func signal(_ number: Int32, after text: String) async throws {
        try await wait(for: text)
        signal(number)
    }

    /// Waits for a prompt, and types a response.
    ///
    /// - Throws: ``ChildError/neverPrinted(_:soFar:)``, including when the child exits without printing the prompt.
    public func respond(to prompt: String, with text: String) async throws {
        try await wait(for: prompt)
        write(text)
    }

    /// Waits for the next line of standard output.
    ///
    /// - Returns: The line without its line break; nil if the output has ended.
    /// - Throws: ``ChildError/neverPrinted(_:soFar:)``.
    @available(*, noasync) public func nextLine(deadline: Duration = .seconds(120)) throws -> String? {
        try takeLine(monitor.block(until: \.hasLineOrEnd, deadline: deadline))
    }

    /// Waits for the next line of standard output without blocking a thread.
    public func nextLine(deadline: Duration = .seconds(120)) async throws -> String? {
        try takeLine(await monitor.wait(until: \.hasLineOrEnd, deadline: deadline))
    }

    /// Whether another line, or the end of standard output, is available.
    public var hasLineOrEnd: Bool { monitor.state.withLock { $0.hasLineOrEnd } }

    private func takeLine(_ isThere: Bool) throws -> String? {
        guard isThere else { throw ChildError.neverPrinted("\n", soFar: result.output + result.errors) }
        return monitor.state.withLock { $0.takeLine() }
    }

    /// Waits until the child has exited and its output is complete.
    ///
    /// - Returns: Its output and exit status.
    /// - Throws: ``ChildError/neverEnded(soFar:)``; the child has then been killed.
    @available(*, noasync) public func finish(deadline: Duration = .seconds(120)) throws -> ChildResult {
        try ending(monitor.block(until: \.hasEnded, deadline: deadline))
    }

    /// Waits, without blocking a thread, until the child has exited and its output is complete.
    public func finish(deadline: Duration = .seconds(120)) async throws -> ChildResult {
        try ending(await monitor.wait(until: \.hasEnded, deadline: deadline))
    }

    private func ending(_ hasEnded: Bool) throws -> ChildResult {
        guard hasEnded else {
            signal(SIGKILL)
            throw ChildError.neverEnded(soFar: result.output + result.errors)
        }
        ArgumentSampler.shared.remove(processID)
        secrets?.finish(result)
        return result
    }

    // MARK: Running to completion

    /// Runs a program to completion, without standard input.
    ///
    /// - Returns: Its output and exit status.
    /// - Throws: ``ChildError``.
    @available(*, noasync) public static func run(
        _ executable: String,
        _ arguments: [String] = [],
        environment: [String: String]? = nil
    ) throws -> ChildResult {
        try ChildProcess(executable, arguments, environment: environment).finish()
    }

    /// Runs a program to completion, without standard input and without blocking a thread.
    public static func run(
        _ executable: String,
        _ arguments: [String] = [],
        environment: [String: String]? = nil
    ) async throws -> ChildResult {
        try await ChildProcess(executable, arguments, environment: environment).finish()
    }
}

/// A child's output and exit status.
public struct ChildResult: Sendable {
    /// Standard output; for a terminal, everything shown.
    public var output: String
    /// Standard error; empty if it was a terminal.
    public var errors: String
    /// The exit code; nil if a signal terminated it, or if it is still running.
    public var exitCode: Int32?
    /// The signal that terminated the child.
    public var signal: Int32?

    /// The exit code, or minus the signal.
    public var status: Int32 { exitCode ?? -(signal ?? 0) }

    /// The lines of standard output that are not empty; a terminal ends them with CR and LF.
    public var lines: [String] {
        let bytes = Array(output.utf8)
        let hasOtherNewlines = ["\u{b}", "\u{c}", "\r", "\u{85}", "\u{2028}", "\u{2029}"].contains {
            bytes.offset(of: Array($0.utf8)) != nil
        }
        if hasOtherNewlines { return output.split(whereSeparator: \.isNewline).map(String.init) }
        return bytes.split(separator: 0x0a).map { String(decoding: $0, as: UTF8.self) }
    }
}

/// The reason why a child could not be run.
public enum ChildError: Error, Sendable, Equatable {
    /// The system could not start the program; contains `errno`.
    case cannotStart(Int32)
    /// The text did not appear in time; contains the output so far.
    case neverPrinted(String, soFar: String)
    /// The deadline passed before the child exited; it was killed.
    case neverEnded(soFar: String)
}
