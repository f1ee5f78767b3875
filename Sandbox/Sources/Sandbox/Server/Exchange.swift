import Foundation
import HTTPTypes
import HummingbirdCore
import NIOCore

/// One request until its response, with the faults that strike it.
final class Exchange {
    let request: Request
    let channel: any Channel
    let plan: FaultPlan
    /// The signed-in user, if any.
    let user: String?
    private let log: RequestLog
    private let number: Int
    private var bodyBytesRead = 0
    /// Whether the body was read to its end.
    private(set) var isBodyRead = false

    init(
        request: Request,
        channel: any Channel,
        plan: FaultPlan,
        user: String?,
        log: RequestLog,
        number: Int
    ) {
        self.request = request
        self.channel = channel
        self.plan = plan
        self.user = user
        self.log = log
        self.number = number
    }

    var path: String { request.uri.path }
    lazy var query = QueryParameters(request.uri.query ?? "")

    /// The client waits for `100 Continue` before it sends the body (RFC 9110 section 10.1.1).
    var expectsContinue: Bool { request.headers[.expect]?.lowercased() == "100-continue" }

    /// The value of a header, nil when it is missing.
    func header(_ name: String) -> String? {
        HTTPField.Name(name).flatMap { request.headers[$0] }
    }

    /// The token of an event link, nil when there is none (gighive contract 6).
    var uploadToken: String? {
        header("X-Upload-Token").flatMap { $0.isEmpty ? nil : $0 }
    }

    var contentLength: Int? { request.headers[.contentLength].flatMap { Int($0) } }

    /// Whether the request has a body, whatever its length.
    var hasBody: Bool { (contentLength ?? 0) > 0 || request.headers[.transferEncoding] != nil }

    /// Uploads answer in HTML when asked to, and also when HTML is merely acceptable (gighive contract 2.3).
    var wantsHTML: Bool {
        (request.headers[.accept] ?? "").lowercased().contains("text/html") || query["ui"] == "html"
    }

    // MARK: Body

    /// Reads the body to its end, breaking where the faults say; `100 Continue` is sent when it is due.
    ///
    /// Throws ``ConnectionEnded`` when the client hung up before the end.
    func readBody(_ consume: (ByteBuffer) throws -> Void) async throws {
        try await receiveBody(consume)
        try await bodyIsComplete()
    }

    /// As ``readBody(_:)``, without the faults that strike when all of it is there.
    func receiveBody(_ consume: (ByteBuffer) throws -> Void) async throws {
        try await setBodyDeadline()
        var breaks = plan.bodyBreaks
        try await strike(&breaks)
        if hasBody, expectsContinue {
            try await channel.triggerUserOutboundEvent(SendContinue()).get()
        }
        let rate = plan.first { if case .slow(let rate) = $0.effect { rate } else { nil } }
        for try await buffer in request.body {
            var rest = buffer
            while rest.readableBytes > 0 {
                let room = breaks.first.map { $0.offset - bodyBytesRead } ?? Int.max
                guard let piece = rest.readSlice(length: min(rest.readableBytes, room)) else { break }
                note(piece.readableBytes)
                if bodyBytesRead > plan.bodyLimit ?? Int.max { throw BodyTooLarge() }
                try consume(piece)
                try await strike(&breaks)
            }
            if let rate { try await Task.sleep(for: .seconds(Double(buffer.readableBytes) / Double(rate))) }
        }
        if let contentLength, bodyBytesRead < contentLength { throw ConnectionEnded() }
        isBodyRead = true
    }

    private func setBodyDeadline() async throws {
        let limit = plan.first { if case .bodyTimeout(let seconds) = $0.effect { seconds } else { nil } }
        guard let limit else { return }
        var reply = ReplyRenderer(dialect: .d3).render(.notMultipart)
        reply.head.headerFields[.connection] = "close"
        let status = reply.head.status
        let (log, number) = (log, number)
        try await channel.triggerUserOutboundEvent(
            BodyDeadline(seconds: limit, reply: reply) { log.update(number) { $0.status = status.code } }
        )
        .get()
    }

    /// Strikes with what is due after the last byte of the body.
    func bodyIsComplete() async throws {
        for effect in plan.breaks(at: .wholeBody) { try await enact(effect) }
    }

    /// The whole body, when it is small.
    func collectBody(upTo limit: Int) async throws -> ByteBuffer {
        var collected = ByteBuffer()
        try await readBody { piece in
            if collected.readableBytes + piece.readableBytes <= limit { collected.writeImmutableBuffer(piece) }
        }
        return collected
    }

    /// What the faults answer before the body is read; nil when they let it come.
    var answerBeforeBody: Answer? {
        if let reply = plan.earlyReply { return Answer(reply: reply, isEarly: true) }
        guard let limit = plan.bodyLimit, contentLength ?? 0 > limit else { return nil }
        return Answer(reply: .webServerError(.requestEntityTooLarge), isEarly: true)
    }

    /// Refuses a request whose body is not needed. Go's server swallows up to 256 KiB of it, a longer one costs the
    /// connection; Rust's is treated alike.
    func refusal(_ reply: Reply) async throws -> Answer {
        guard hasBody else { return Answer(reply: reply) }
        if expectsContinue || contentLength ?? Int.max > 256 * 1024 { return Answer(reply: reply, isEarly: true) }
        try await readBody { _ in }
        return Answer(reply: reply)
    }

    private func note(_ count: Int) {
        bodyBytesRead += count
        log.update(number) { $0.bodyBytesRead = bodyBytesRead }
    }

    private func strike(_ breaks: inout [(offset: Int, effect: Fault.Effect)]) async throws {
        while let next = breaks.first, next.offset <= bodyBytesRead {
            breaks.removeFirst()
            try await enact(next.effect)
        }
    }

    // MARK: Breaking off

    /// Performs a reset or a stall.
    func enact(_ effect: Fault.Effect) async throws {
        switch effect {
        case .reset: try await reset()
        case .stall(_, let seconds):
            try await stall(seconds.map { .seconds($0) } ?? .seconds(1 << 30))
        default: break
        }
    }

    /// Keeps silent until the time is up. Throws when the client hung up meanwhile, and when the server stops.
    private func stall(_ duration: Duration) async throws {
        let silence = Task { try await Task.sleep(for: duration) }
        channel.closeFuture.whenComplete { _ in silence.cancel() }
        try await withTaskCancellationHandler {
            try await silence.value
        } onCancel: {
            silence.cancel()
        }
    }

    /// Ends the connection with a TCP reset: lingering for no time makes `close` send RST.
    private func reset() async throws {
        if let options = channel as? any SocketOptionProvider {
            try await options.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
        }
        try await channel.close().get()
        throw ConnectionEnded()
    }

    /// Notes the status of the answer that goes out.
    func noteAnswer(_ status: HTTPResponse.Status) {
        log.update(number) { $0.status = status.code }
    }

    /// Notes that nothing more is done for the request, whether it was answered or not.
    func noteEnd() {
        log.update(number) { $0.isOver = true }
    }
}

/// The connection is over; thrown through the server so that it closes the socket.
struct ConnectionEnded: Error {}

/// The body is longer than a proxy lets through, and was sent without a length.
struct BodyTooLarge: Error {}

/// An answer, and whether it was decided before the body was read.
struct Answer {
    var reply: Reply
    var isEarly = false
}

/// The way of one answer onto the wire, with the faults that strike it there.
struct Delivery {
    let exchange: Exchange
    let answer: Answer
    let renderer: ReplyRenderer

    private var plan: FaultPlan { exchange.plan }

    /// Sends the answer. Throws ``ConnectionEnded`` when the connection must not be used again.
    func run(_ writer: consuming ResponseWriter) async throws {
        if plan.has(.dropAnswer) { throw ConnectionEnded() }
        if let delay = plan.first({ if case .delayAnswer(let seconds) = $0.effect { seconds } else { nil } }) {
            try await plan.hold.wait(seconds: delay)
        }
        let rendered = rendered()
        exchange.noteAnswer(rendered.head.status)
        var body = FaultyBodyWriter(try await writer.writeHead(rendered.head), exchange)
        for effect in plan.breaks(at: .responseHeaders) { try await exchange.enact(effect) }
        if exchange.request.method != .head { try await write(rendered, to: &body) }
        try await body.finish(nil)
        if leavesBodyUnread {
            // Half-close: the client reads the answer whole, the server reads and discards the rest.
            try? await exchange.channel.close(mode: .output).get()
        } else if closes {
            throw ConnectionEnded()
        }
    }

    private func rendered() -> ReplyRenderer.Rendered {
        let space = plan.first { if case .whitespace(let count) = $0.effect { count } else { nil } } ?? 0
        var rendered = renderer.render(plan.changed(answer.reply), leadingSpace: space)
        if closes { rendered.head.headerFields[.connection] = "close" }
        if plan.has(.wrongLength) {
            let size = rendered.file?.count ?? rendered.bytes.readableBytes
            rendered.head.headerFields[.contentLength] = String(size + 100)
        }
        return rendered
    }

    private func write(_ rendered: ReplyRenderer.Rendered, to body: inout some ResponseBodyWriter) async throws {
        let limit = plan.first { if case .truncate(let count) = $0.effect { count } else { nil } }
        if var file = rendered.file {
            file.count = min(limit ?? Int.max, file.count)
            try await StoredFileStream(file).write(to: &body)
        } else {
            var bytes = rendered.bytes
            if let shown = bytes.readSlice(length: min(limit ?? Int.max, bytes.readableBytes)) {
                try await body.write(shown)
            }
            try await pad(rendered.padding, &body)
        }
        if limit != nil || plan.has(.wrongLength) { throw ConnectionEnded() }
    }

    /// The same letter again and again.
    private func pad(_ count: Int, _ body: inout some ResponseBodyWriter) async throws {
        let piece = ByteBuffer(repeating: UInt8(ascii: "x"), count: 64 * 1024)
        var sent = 0
        while sent < count {
            try await body.write(piece)
            sent += piece.readableBytes
        }
    }

    private var leavesBodyUnread: Bool { answer.isEarly && exchange.hasBody }

    /// Apache drops the connection after these (recorded as `Connection: close`), and when it left a body unread.
    private var closes: Bool {
        leavesBodyUnread
            || (answer.reply.origin == .application && [400, 413, 500].contains(answer.reply.status.code))
    }
}

/// Writes the body of an answer as slowly as the faults say, and breaks where they say.
struct FaultyBodyWriter<Base: ResponseBodyWriter>: ResponseBodyWriter {
    private var base: Base
    private let exchange: Exchange
    /// Resets and stalls, in the order in which the body reaches them.
    private var breaks: [(offset: Int, effect: Fault.Effect)]
    /// Bytes a second.
    private let rate: Int?
    private var sent = 0

    init(_ base: Base, _ exchange: Exchange) {
        self.base = base
        self.exchange = exchange
        breaks = exchange.plan.answerBreaks
        rate = exchange.plan.first { if case .slowAnswer(let rate) = $0.effect { rate } else { nil } }
    }

    mutating func write(_ buffer: ByteBuffer) async throws {
        var rest = buffer
        while rest.readableBytes > 0 {
            let room = min(breaks.first.map { $0.offset - sent } ?? Int.max, rate.map { max(1, $0 / 20) } ?? Int.max)
            if let piece = rest.readSlice(length: min(rest.readableBytes, room)) {
                try await base.write(piece)
                sent += piece.readableBytes
                if let rate { try await Task.sleep(for: .seconds(Double(piece.readableBytes) / Double(rate))) }
            }
            while let next = breaks.first, next.offset <= sent {
                breaks.removeFirst()
                try await exchange.enact(next.effect)
            }
        }
    }

    consuming func finish(_ trailingHeaders: HTTPFields?) async throws {
        try await base.finish(trailingHeaders)
    }
}

/// One range of a `Range` header (RFC 9110 section 14.1.2).
struct ByteRange: Equatable {
    /// Nil when no byte of the file is in it.
    var bytes: Range<Int>?

    /// Nil when the header is none that this server serves: other units, several ranges, bad syntax.
    init?(_ header: String, size: Int) {
        guard let match = header.wholeMatch(of: /bytes=([0-9]*)-([0-9]*)/) else { return nil }
        switch (Int(match.1), Int(match.2)) {
        case (nil, nil): return nil
        case (nil, let suffix?): bytes = suffix == 0 || size == 0 ? nil : max(0, size - suffix)..<size
        case (let first?, nil): bytes = first < size ? first..<size : nil
        case (let first?, let last?):
            guard first <= last else { return nil }
            bytes = first < size ? first..<min(last, size - 1) + 1 : nil
        }
    }
}

/// The parameters of a URL's query, decoded as PHP does; the last of a name wins.
struct QueryParameters: Sendable {
    private(set) var all: [String: String] = [:]

    init(_ query: String) {
        for pair in query.split(separator: "&") {
            let pieces = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            all[Self.decoded(pieces[0])] = pieces.count > 1 ? Self.decoded(pieces[1]) : ""
        }
    }

    subscript(name: String) -> String? { all[name] }

    private static func decoded(_ text: Substring) -> String {
        let spaced = text.replacingOccurrences(of: "+", with: " ")
        return spaced.removingPercentEncoding ?? spaced
    }
}
