internal import CCurl
internal import CCurlShims

extension Transfer {
    /// Of all heads of a response, interim ones included, and its trailers. libcurl itself counts the bytes of one head only.
    private static let headerByteLimit = 300 << 10

    /// Fills libcurl's upload buffer from the body.
    fileprivate func readBody(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard let reader else { return 0 }
        if reader.isHeld {
            isPaused = true
            return Int(CURL_READFUNC_PAUSE)
        }
        var window = buffer
        if let sendRate {
            // Small steps keep a limited rate even; libcurl itself sends whole buffers and then waits.
            let step = Int(clamping: max(1024, sendRate / 8))
            window = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(buffer.count, step)])
        }
        do {
            let count = try reader.read(into: window)
            bytesRead += Int64(count)
            return count
        } catch {
            callbackError = TransportError(.bodyUnreadable, underlying: error)
            return Int(CURL_READFUNC_ABORT)
        }
    }

    /// libcurl wants to send the body (again) from the start.
    fileprivate func rewindBody(to offset: Int64) -> CInt {
        guard offset == 0, let reader else { return CInt(CURL_SEEKFUNC_CANTSEEK) }
        if bytesRead > 0 && request.repeatability != .safe {
            callbackError = TransportError(.connectionLost, detail: "the connection closed before the answer")
            bytesSentBeforeRewind = bytesRead
            return CInt(CURL_SEEKFUNC_FAIL)
        }
        do {
            try reader.rewind()
            bytesRead = 0
            return CInt(CURL_SEEKFUNC_OK)
        } catch {
            callbackError = TransportError(.bodyUnreadable, underlying: error)
            return CInt(CURL_SEEKFUNC_FAIL)
        }
    }

    /// Lets a body go on that its reader does not hold back any more, and one that the server has refused: libcurl, which
    /// then stops sending by itself, does not end a transfer that rests.
    func resumeIfReleased() {
        let isRefused = isHeadComplete && (head?.status ?? 0) >= 300
        guard isPaused, isRefused || reader?.isHeld == false else { return }
        isPaused = false
        lastActivity = .now
        curl_easy_pause(handle, CInt(CURLPAUSE_CONT))
    }

    /// One header line, the status line and the closing empty line included. Returns false to abort.
    fileprivate func receiveHeaderLine(_ bytes: UnsafeRawBufferPointer) -> Bool {
        headerBytesReceived += bytes.count
        guard headerBytesReceived <= Self.headerByteLimit else {
            callbackError = TransportError(
                .responseTooLarge,
                detail: "more than \(Self.headerByteLimit) bytes of headers"
            )
            return false
        }
        // Interim responses do not show that a server takes the body.
        if phase != .sending { lastActivity = .now }
        let line = bytes[...].trimmingBlanks()
        if line.starts(with: "HTTP/".utf8) {
            let text = String(decoding: line, as: UTF8.self)
            let status = text.split(separator: " ", maxSplits: 2).dropFirst().first.flatMap { Int($0) } ?? 0
            head = HTTPResponseHead(status: status)
            isHeadComplete = false
        } else if line.isEmpty {
            // 1xx is interim: the real head follows.
            isHeadComplete = (head?.status ?? 0) >= 200
            if head?.status == 417, expectsContinue {
                // Left to itself libcurl would go on asking with the same field for ever.
                callbackError = TransportError(.invalidAnswer, detail: "417 Expectation Failed")
                return false
            }
        } else if !isHeadComplete, let colon = line.firstIndex(of: UInt8(ascii: ":")) {
            head?.headers.append(
                HTTPHeader(
                    String(decoding: line[..<colon].trimmingBlanks(), as: UTF8.self),
                    String(decoding: line[(colon + 1)...].trimmingBlanks(), as: UTF8.self)
                )
            )
        }
        return true
    }

    /// Content bytes. Returns false to abort.
    fileprivate func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
        lastActivity = .now
        bytesReceived += Int64(bytes.count)
        switch request.destination {
        case .memory(let limit):
            guard body.count + bytes.count <= limit else {
                callbackError = TransportError(.responseTooLarge, detail: "more than \(limit) bytes")
                return false
            }
            body.append(contentsOf: bytes)
            return true
        case .receiver(let receiver):
            if head?.status == 401 { refusalBody += bytes.prefix(Self.refusalBytes - refusalBody.count) }
            do {
                try beginReceiver(receiver)
                try receiver.receive(bytes)
                return true
            } catch {
                callbackError = TransportError(.receiverFailed, underlying: error)
                return false
            }
        }
    }

    /// The head goes to the receiver with the first content, or at the end when there is none.
    func beginReceiver(_ receiver: any ResponseReceiver) throws {
        guard !hasBegunReceiver, let head else { return }
        hasBegunReceiver = true
        try receiver.begin(head)
    }
}

extension Slice<UnsafeRawBufferPointer> {
    /// Without leading and trailing blanks and line breaks (RFC 9110 section 5.5).
    fileprivate func trimmingBlanks() -> Self {
        let isBlank: (UInt8) -> Bool = { $0 == 0x20 || (0x09...0x0d).contains($0) }
        guard let start = firstIndex(where: { !isBlank($0) }), let last = lastIndex(where: { !isBlank($0) }) else {
            return self[endIndex...]
        }
        return self[start...last]
    }
}

/// The context of every callback is a `Transfer` that the loop's table keeps alive until its handle is removed, and
/// libcurl calls back only from inside `curl_multi_perform` on the loop's thread.
private func transfer(_ context: UnsafeMutableRawPointer?) -> Transfer? {
    context.map { Unmanaged<Transfer>.fromOpaque($0).takeUnretainedValue() }
}

let readCallback: shim_data_callback = { buffer, size, count, context in
    guard let transfer = transfer(context) else { return Int(CURL_READFUNC_ABORT) }
    return transfer.readBody(into: UnsafeMutableRawBufferPointer(start: buffer, count: size * count))
}

let seekCallback: shim_seek_callback = { context, offset, origin in
    guard let transfer = transfer(context), origin == 0 else { return CInt(CURL_SEEKFUNC_CANTSEEK) }
    return transfer.rewindBody(to: Int64(offset))
}

let headerCallback: shim_data_callback = { buffer, size, count, context in
    let line = UnsafeRawBufferPointer(start: buffer, count: size * count)
    let accepted = transfer(context)?.receiveHeaderLine(line) ?? false
    return accepted ? size * count : size * count &+ 1
}

let writeCallback: shim_data_callback = { buffer, size, count, context in
    let accepted = transfer(context)?.receiveBody(UnsafeRawBufferPointer(start: buffer, count: size * count)) ?? false
    // Any number but the length aborts; 0 would not for an empty write.
    return accepted ? size * count : size * count &+ 1
}
