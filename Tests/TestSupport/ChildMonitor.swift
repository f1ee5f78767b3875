internal import Foundation

/// Reads a child's output and waits for the child to exit, on separate threads, and notifies the waiting tasks.
///
/// The threads reference the monitor, not the ``ChildProcess``, which kills the child when its last reference is
/// released.
final class ChildMonitor: Sendable {
    /// Once true, it stays true, so it may be checked again after the wait.
    typealias Condition = @Sendable (State) -> Bool

    enum Stream: Sendable { case output, errors }

    struct State: Sendable {
        fileprivate(set) var output: [UInt8] = []
        fileprivate(set) var errors: [UInt8] = []
        /// As returned by `waitpid`; nil until the child has exited.
        fileprivate(set) var status: Int32?
        fileprivate var openStreams: Set<Stream> = []
        fileprivate var lineStart = 0
        fileprivate var waiters: [Int: Waiter] = [:]
        fileprivate var lastWaiter = 0
    }

    fileprivate struct Waiter: Sendable {
        var condition: Condition
        var wake: @Sendable () -> Void
    }

    let state = Locked(State())

    /// Takes ownership of the read ends of the output pipes; nil for an output that is not collected.
    init(_ child: Int32, output: Int32?, errors: Int32?) {
        collect(output, .output)
        collect(errors, .errors)
        Thread.detachNewThread { [self] in
            var information = siginfo_t()
            while waitid(P_PID, id_t(child), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
            change { state in
                var status: Int32 = 0
                waitpid(child, &status, 0)
                state.status = status
            }
        }
    }

    // MARK: Waiting

    /// `MEDIACTL_TEST_PATIENCE` multiplies deadlines: a sanitizer slows programs down, but does not change their
    /// behavior.
    static func dispatchTimeout(_ deadline: Duration) -> DispatchTimeInterval {
        let factor = ProcessInfo.processInfo.environment["MEDIACTL_TEST_PATIENCE"].flatMap { Int($0) } ?? 1
        return .seconds(Int(deadline.components.seconds) * max(1, factor))
    }

    /// Blocks until a condition is true; returns false if the deadline passes first.
    func block(until condition: @escaping Condition, deadline: Duration) -> Bool {
        let woken = DispatchSemaphore(value: 0)
        if let key = register(condition, { woken.signal() }) {
            _ = woken.wait(timeout: .now() + Self.dispatchTimeout(deadline))
            state.withLock { _ = $0.waiters.removeValue(forKey: key) }
        }
        return state.withLock { condition($0) }
    }

    /// Waits until a condition is true; returns false if the deadline passes first.
    func wait(until condition: @escaping Condition, deadline: Duration) async -> Bool {
        await withCheckedContinuation { continuation in
            guard let key = register(condition, { continuation.resume() }) else { return continuation.resume() }
            DispatchQueue.global().asyncAfter(deadline: .now() + Self.dispatchTimeout(deadline)) { [self] in
                state.withLock { $0.waiters.removeValue(forKey: key) }?.wake()
            }
        }
        return state.withLock { condition($0) }
    }

    /// Nil if the condition is already true; `wake` is then not called.
    private func register(_ condition: @escaping Condition, _ wake: @escaping @Sendable () -> Void) -> Int? {
        state.withLock { state in
            if condition(state) { return nil }
            state.lastWaiter += 1
            state.waiters[state.lastWaiter] = Waiter(condition: condition, wake: wake)
            return state.lastWaiter
        }
    }

    private func change(_ body: (inout State) -> Void) {
        let ready = state.withLock { state in
            body(&state)
            let keys = state.waiters.filter { $0.value.condition(state) }.map(\.key)
            return keys.compactMap { state.waiters.removeValue(forKey: $0) }
        }
        for waiter in ready {
            waiter.wake()
        }
    }

    // MARK: Reading

    private func collect(_ descriptor: Int32?, _ stream: Stream) {
        guard let descriptor else { return }
        state.withLock { _ = $0.openStreams.insert(stream) }
        Thread.detachNewThread { [self] in
            var buffer = [UInt8](repeating: 0, count: 64 << 10)
            while true {
                let count = read(descriptor, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                // Reading a terminal that its last user has closed fails with EIO.
                guard count > 0 else { break }
                change { $0.append(buffer[..<count], to: stream) }
            }
            close(descriptor)
            change { $0.openStreams.remove(stream) }
        }
    }
}

extension ChildMonitor.State {
    /// Whether the child has exited and its output is complete.
    var hasEnded: Bool { status != nil && openStreams.isEmpty }

    /// Whether another line of standard output, or its end, is available.
    var hasLineOrEnd: Bool { !openStreams.contains(.output) || output.offset(of: [0x0a], from: lineStart) != nil }

    /// Removes and returns the next line of standard output; the last one may lack its line break.
    mutating func takeLine() -> String? {
        guard lineStart < output.count else { return nil }
        let end = output.offset(of: [0x0a], from: lineStart) ?? output.count
        defer { lineStart = min(end + 1, output.count) }
        return String(decoding: output[lineStart..<end], as: UTF8.self)
    }

    /// Whether one of the outputs contains a text.
    func hasPrinted(_ text: String) -> Bool {
        [output, errors].contains { $0.offset(of: Array(text.utf8)) != nil }
    }

    var result: ChildResult {
        let isExit = status.map { $0 & 0x7f == 0 }
        return ChildResult(
            output: String(decoding: output, as: UTF8.self),
            errors: String(decoding: errors, as: UTF8.self),
            exitCode: isExit == true ? status.map { ($0 >> 8) & 0xff } : nil,
            signal: isExit == false ? status.map { $0 & 0x7f } : nil
        )
    }

    fileprivate mutating func append(_ bytes: ArraySlice<UInt8>, to stream: ChildMonitor.Stream) {
        switch stream {
        case .output: output += bytes
        case .errors: errors += bytes
        }
    }
}
