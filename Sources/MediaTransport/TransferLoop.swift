internal import CCurl
internal import CCurlShims
internal import Glibc
internal import MediaSystem
internal import Synchronization

struct Submission: Sendable {
    var request: HTTPRequest
    var attempt: Int
    var expectsContinue: Bool
    /// Whether the server has accepted a body, and no transfer to it has failed since.
    var isFamiliar: Bool
    var control: TransferControl
    var progress: (@Sendable (TransferProgress) -> Void)?
}

typealias Completion = @Sendable (Result<HTTPResponse, TransportError>) -> Void

/// The thread that owns libcurl. Other threads only append to the inbox and wake it; easy handles, header lists and
/// buffers are created, used and freed on it.
final class TransferLoop: Sendable {
    private struct Inbox {
        var submissions: [(Submission, Completion)] = []
        var isRunning = false
        /// Set when the client, which every request retains, is deallocated.
        var isShutDown = false
    }

    private let multi: MultiHandle
    private let inbox = Mutex(Inbox())
    private let configuration: HTTPClientConfiguration

    init(configuration: HTTPClientConfiguration) throws(TransportError) {
        guard Self.globalSetup == CURLE_OK, let handle = curl_multi_init() else {
            throw TransportError(.unusable, detail: "libcurl cannot be initialized")
        }
        multi = MultiHandle(raw: handle, sockets: OpenSockets())
        // libcurl keeps four connections per running transfer by default, which is too few between two files in a
        // batch.
        _ = shim_multi_setopt_long(handle, CURLMOPT_MAXCONNECTS, Self.keptConnections)
        self.configuration = configuration
    }

    deinit {
        // Only reached if the thread never ran or has returned: it retains the loop while it runs.
        curl_multi_cleanup(multi.raw)
    }

    /// `curl_global_init` is not thread-safe with itself; a static runs it once.
    private static let globalSetup = curl_global_init(Int(CURL_GLOBAL_DEFAULT))

    /// Hands a request to the loop, starting its thread if necessary, and waits for the result. Canceling the task abandons
    /// the request, or stops one that may be sent only once.
    func send(_ submission: Submission) async -> Result<HTTPResponse, TransportError> {
        enum Action { case start, wake, wait }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let action = inbox.withLock { inbox -> Action in
                    // Called exactly once, on the loop's thread.
                    inbox.submissions.append((submission, { continuation.resume(returning: $0) }))
                    defer { inbox.isRunning = true }
                    guard inbox.isRunning else { return .start }
                    // The caller that submitted the first request wakes the loop, which takes all of them.
                    return inbox.submissions.count == 1 ? .wake : .wait
                }
                switch action {
                case .start: start()
                case .wake: wake()
                case .wait: break
                }
            }
        } onCancel: {
            switch submission.request.repeatability {
            case .safe, .resumable: submission.control.abandon()
            case .atMostOnce: submission.control.stop()
            }
        }
    }

    /// If the system does not provide a thread, the waiting requests fail, and the next request tries to start one.
    private func start() {
        let code = DedicatedThread.start { self.run() }
        guard code != 0 else { return }
        let waiting = inbox.withLock { inbox in
            inbox.isRunning = false
            return exchange(&inbox.submissions, with: [])
        }
        let error = TransportError(.unusable, detail: "cannot start a thread: \(SystemError.words(code))")
        for (_, complete) in waiting { complete(.failure(error)) }
    }

    /// Stops the thread, after the last request.
    func shutdown() {
        inbox.withLock { $0.isShutDown = true }
        wake()
    }

    /// Wakes the thread. Safe from any thread while the loop exists: the multi handle is freed with it.
    ///
    /// A system without free buffers may briefly refuse to wake it. A thread that is not woken would sleep for a
    /// minute.
    func wake() {
        for _ in 0..<Self.wakeAttempts {
            guard curl_multi_wakeup(multi.raw) != CURLM_OK else { return }
            usleep(1000)
        }
    }

    // MARK: On the loop's thread

    private func run() {
        var transfers: [OpaquePointer: Transfer] = [:]
        while let timeout = step(&transfers) { curl_multi_poll(multi.raw, nil, 0, timeout, nil) }
    }

    /// Does all pending work. Returns how long to wait for more, in milliseconds; nil after the shutdown.
    ///
    /// Not inlined, so nothing from a finished request, such as its file, stays open while the thread waits.
    @inline(never) private func step(_ transfers: inout [OpaquePointer: Transfer]) -> CInt? {
        let (arrived, isShutDown) = inbox.withLock { inbox in
            (exchange(&inbox.submissions, with: []), inbox.isShutDown)
        }
        for (submission, complete) in arrived {
            add(submission, complete, to: &transfers)
        }
        stopWhereRequested(&transfers, isWaiting: false)

        var running: CInt = 0
        curl_multi_perform(multi.raw, &running)
        finishCompleted(&transfers)
        // A response that has arrived counts, even if this thread did not run for a while and its limit has passed.
        stopWhereRequested(&transfers, isWaiting: true)
        if transfers.isEmpty && isShutDown { return nil }
        transfers.values.forEach { $0.resumeIfReleased() }
        watch(&transfers)
        return transfers.isEmpty ? Self.idlePollMilliseconds : Self.tickMilliseconds
    }

    /// Progress and watchdogs run ten times a second; sockets and wakeups wake the loop immediately.
    private static let tickMilliseconds: CInt = 100
    private static let keptConnections = 32
    private static let idlePollMilliseconds: CInt = 60_000
    private static let wakeAttempts = 100

    private func add(
        _ submission: Submission,
        _ complete: @escaping Completion,
        to transfers: inout [OpaquePointer: Transfer]
    ) {
        do throws(TransportError) {
            let transfer = try Transfer(
                submission,
                complete: complete,
                configuration: configuration,
                sockets: multi.sockets
            )
            transfers[transfer.key] = transfer
            shareSendRate(among: transfers)
            let code = curl_multi_add_handle(multi.raw, transfer.handle)
            guard code == CURLM_OK else {
                transfers[transfer.key] = nil
                throw TransportError(.unusable, detail: String(cString: curl_multi_strerror(code)))
            }
            submission.control.attach { self.wake() }
            transfer.reader?.onRelease { self.wake() }
        } catch {
            complete(.failure(error))
        }
    }

    /// Ends the transfers whose stop is due: with `isWaiting`, those that wait for the responses to requests that may
    /// be sent only once; otherwise, all others.
    private func stopWhereRequested(_ transfers: inout [OpaquePointer: Transfer], isWaiting: Bool) {
        for transfer in transfers.values where transfer.isAwaitingOnlyResponse == isWaiting && transfer.isStopDue() {
            end(transfer, of: &transfers) { $0.ended(.cancelled) }
        }
    }

    private func finishCompleted(_ transfers: inout [OpaquePointer: Transfer]) {
        var finished: UnsafeMutableRawPointer?
        var code = CURLE_OK
        while shim_multi_next_done(multi.raw, &finished, &code) {
            guard let finished, let transfer = transfers[OpaquePointer(finished)] else { continue }
            end(transfer, of: &transfers) { $0.finished(with: code) }
        }
    }

    private func watch(_ transfers: inout [OpaquePointer: Transfer]) {
        let now = ContinuousClock.now
        for transfer in transfers.values {
            transfer.observeProgress(at: now)
            if let kind = transfer.overdue(at: now) {
                end(transfer, of: &transfers) { $0.ended(kind) }
            }
        }
    }

    /// Removes a transfer from libcurl, then reports its result.
    private func end(
        _ transfer: Transfer,
        of transfers: inout [OpaquePointer: Transfer],
        _ result: (Transfer) -> Result<HTTPResponse, TransportError>
    ) {
        transfer.control.attach(nil)
        let outcome = result(transfer)
        curl_multi_remove_handle(multi.raw, transfer.handle)
        transfers[transfer.key] = nil
        shareSendRate(among: transfers)
        transfer.complete(outcome)
    }

    private func shareSendRate(among transfers: [OpaquePointer: Transfer]) {
        guard let rate = configuration.maximumSendRate, !transfers.isEmpty else { return }
        let share = max(1, rate / Int64(transfers.count))
        transfers.values.forEach { $0.limitSendRate(to: share) }
    }
}

/// The multi handle and the sockets under it.
///
/// `@unchecked Sendable`: the loop's thread alone uses both; other threads only pass the handle to `curl_multi_wakeup`,
/// which libcurl documents as safe to call from any thread, and `TransferLoop` frees the handle only in `deinit`, when
/// no other thread can use it.
private struct MultiHandle: @unchecked Sendable {
    let raw: UnsafeMutableRawPointer
    let sockets: OpenSockets
}
