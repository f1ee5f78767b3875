internal import CCurl
internal import CCurlShims

/// One try of one request: an easy handle and everything it points at. Lives on the loop's thread only.
final class Transfer {
    let handle: UnsafeMutableRawPointer
    let control: TransferControl
    let request: HTTPRequest
    let complete: Completion

    let submission: Submission
    let sockets: OpenSockets
    let loginRequirements: LoginRequirements
    var socket: curl_socket_t?
    let started = ContinuousClock.now
    var headerList: UnsafeMutablePointer<curl_slist>?
    let errorBuffer = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

    // Request body.
    let bodyByteCount: Int64
    let reader: (any RequestBodyReader)?
    var bytesRead: Int64 = 0
    /// What was out when libcurl wanted to start again, or made a connection anew: its own count begins at 0 then.
    var bytesSentBeforeRewind: Int64 = 0
    /// Whether libcurl waits for the reader to let go of the next byte.
    var isPaused = false
    var sendRate: Int64?

    // Answer.
    var head: HTTPResponseHead?
    var isHeadComplete = false
    var hasBegunReceiver = false
    var body: [UInt8] = []
    /// The beginning of the content of a 401 that goes to a receiver.
    var refusalBody: [UInt8] = []
    var bytesReceived: Int64 = 0
    /// Of all heads and trailers together.
    var headerBytesReceived = 0

    /// What a callback ran into; it outranks libcurl's code, which only says "aborted by callback".
    var callbackError: TransportError?

    // Progress and watchdogs.
    var phase = TransferProgress.Phase.connecting
    var bytesAcknowledged: Int64 = 0
    var lastActivity = ContinuousClock.now
    /// When the whole request was out, or the final head had arrived.
    var requestEnd: ContinuousClock.Instant?
    var lastLook = ContinuousClock.now - .seconds(1)
    var lastReport = ContinuousClock.now
    var reported: TransferProgress?
    /// Set by a gentle stop after the last byte.
    var answerDeadline: ContinuousClock.Instant?

    /// The loop's table key.
    var key: OpaquePointer { OpaquePointer(handle) }

    /// Whether libcurl has taken every body byte: from here on the server may have the whole request.
    var isBodyComplete: Bool { bytesRead == bodyByteCount && (bytesRead > 0 || isRequestOut) }

    init(
        _ submission: Submission,
        complete: @escaping Completion,
        configuration: HTTPClientConfiguration,
        sockets: OpenSockets
    ) throws(TransportError) {
        guard let handle = curl_easy_init() else {
            throw TransportError(.unusable, detail: "out of memory")
        }
        self.handle = handle
        self.submission = submission
        self.complete = complete
        self.sockets = sockets
        loginRequirements = configuration.loginRequirements
        request = submission.request
        control = submission.control
        bodyByteCount = request.body?.byteCount ?? 0
        errorBuffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        do {
            reader = try request.body?.makeReader()
        } catch {
            reader = nil
            throw TransportError(.bodyUnreadable, underlying: error)
        }
        try configure(configuration)
        sockets.follow(handle)
    }

    deinit {
        curl_easy_cleanup(handle)
        curl_slist_free_all(headerList)
        errorBuffer.deallocate()
    }

    /// Sends at most this many bytes a second from now on.
    func limitSendRate(to bytesPerSecond: Int64) {
        sendRate = bytesPerSecond
        _ = shim_setopt_off(handle, CURLOPT_MAX_SEND_SPEED_LARGE, bytesPerSecond)
    }
}
