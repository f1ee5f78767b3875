import Foundation
import HTTPTypes
import HummingbirdCore
import NIOCore

/// One request, up to its response, and the faults that apply to it.
final class Exchange {
    let request: Request
    let channel: any Channel
    let plan: FaultPlan
    let user: String?
    private let log: RequestLog
    private let number: Int
    private(set) var bodyBytesRead = 0
    private(set) var isBodyRead = false

    init(request: Request, channel: any Channel, plan: FaultPlan, user: String?, log: RequestLog) {
        self.request = request
        self.channel = channel
        self.plan = plan
        self.user = user
        self.log = log
        number = log.begin(request)
    }

    var path: String { request.uri.path }
    lazy var query = QueryParameters(request.uri.query ?? "")

    /// Whether the client waits for `100 Continue` before it sends the body (RFC 9110 section 10.1.1).
    var expectsContinue: Bool { request.headers[.expect]?.lowercased() == "100-continue" }

    func header(_ name: String) -> String? { HTTPField.Name(name).flatMap { request.headers[$0] } }

    /// The token of an event link, nil if there is none (gighive contract 6).
    var uploadToken: String? { header("X-Upload-Token").flatMap { $0.isEmpty ? nil : $0 } }

    /// A header with a non-negative number.
    func count(_ header: String) -> Int? { self.header(header).flatMap { Int($0) }.flatMap { $0 >= 0 ? $0 : nil } }

    var contentLength: Int? { request.headers[.contentLength].flatMap { Int($0) } }
    var contentType: HeaderParameters { HeaderParameters(request.headers[.contentType] ?? "") }

    var hasBody: Bool { (contentLength ?? 0) > 0 || request.headers[.transferEncoding] != nil }

    /// Responses to uploads are HTML on request, and even if `Accept` merely includes it (gighive contract 2.3).
    var wantsHTML: Bool { (request.headers[.accept] ?? "").lowercased().contains("text/html") || query["ui"] == "html" }

    /// The server's origin, as addressed by the client.
    var origin: String { "http://" + (request.head.authority ?? "localhost") }

    // MARK: Body

    /// Sends `100 Continue` if expected, reads the body, and applies the faults. Throws ``ConnectionEnded`` if the
    /// client disconnects.
    func readBody(_ consume: (ByteBuffer) throws -> Void = { _ in }) async throws {
        try await receiveBody(consume)
        try await bodyIsComplete()
    }

    /// Like ``readBody(_:)``, without the faults after the last byte.
    func receiveBody(_ consume: (ByteBuffer) throws -> Void) async throws {
        var breaks = plan.bodyBreaks
        try await strike(&breaks, bodyBytesRead)
        if hasBody, expectsContinue {
            try await channel.triggerUserOutboundEvent(SendContinue()).get()
        }
        for try await buffer in request.body {
            var rest = buffer
            while rest.readableBytes > 0 {
                let room = breaks.first.map { $0.offset - bodyBytesRead } ?? Int.max
                guard let piece = rest.readSlice(length: min(rest.readableBytes, room)) else { break }
                bodyBytesRead += piece.readableBytes
                log.update(number) { $0.bodyBytesRead = bodyBytesRead }
                if bodyBytesRead > plan[.limit]?.number ?? Int.max { throw BodyTooLarge() }
                try consume(piece)
                try await strike(&breaks, bodyBytesRead)
            }
            if let rate = plan[.slow]?.number {
                try await Task.sleep(for: .seconds(Double(buffer.readableBytes) / Double(rate)))
            }
        }
        if let contentLength, bodyBytesRead < contentLength { throw ConnectionEnded() }
        isBodyRead = true
    }

    /// Applies the faults after the last byte of the body.
    func bodyIsComplete() async throws {
        for stop in plan.breaks(at: .wholeBody) { try await enact(stop.fault) }
    }

    /// The body, up to a limit.
    func collectBody(upTo limit: Int = 1 << 20) async throws -> ByteBuffer {
        var collected = ByteBuffer()
        try await readBody { piece in
            if collected.readableBytes + piece.readableBytes <= limit { collected.writeImmutableBuffer(piece) }
        }
        return collected
    }

    /// The response of a fault before the body is read; nil if the body is to be read.
    var responseBeforeBody: Response? {
        if let response = plan.earlyResponse { return response.early }
        guard let limit = plan[.limit]?.number, contentLength ?? 0 > limit else { return nil }
        return .webServerError(.requestEntityTooLarge).early
    }

    /// Refuses a request whose body is not needed. Go's server reads up to 256 KiB of it and closes the connection after a
    /// longer one; Rust's behaves the same way.
    func refusal(_ response: Response) async throws -> Response {
        guard hasBody else { return response }
        if expectsContinue || contentLength ?? Int.max > 256 * 1024 { return response.early }
        try await readBody()
        return response
    }

    /// Applies the faults after this many bytes.
    func strike(_ breaks: inout [FaultPlan.Break], _ count: Int) async throws {
        while let next = breaks.first, next.offset <= count {
            breaks.removeFirst()
            try await enact(next.fault)
        }
    }

    // MARK: Interruptions

    /// Performs a reset or a stall. Throws if the client disconnects or the server stops.
    func enact(_ fault: Fault) async throws {
        if fault.kind == .reset { return try await reset() }
        let silence = Waits()
        channel.closeFuture.whenComplete { _ in silence.end() }
        try await silence.wait(seconds: fault.seconds ?? Double(1 << 30))
        guard channel.isActive else { throw ConnectionEnded() }
    }

    /// Sends RST, as `close` does with a linger time of zero.
    private func reset() async throws {
        if let options = channel as? any SocketOptionProvider {
            try await options.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
        }
        try await channel.close().get()
        throw ConnectionEnded()
    }

    func noteResponse(_ status: HTTPResponse.Status) { log.update(number) { $0.status = status.code } }

    func noteEnd() { log.update(number) { $0.isOver = true } }
}

/// Makes the server close the socket.
struct ConnectionEnded: Error {}

/// The body exceeds the limit of a proxy, and was sent without a length.
struct BodyTooLarge: Error {}

/// Sends one response, with its faults.
struct Delivery {
    let exchange: Exchange
    let response: Response
    let renderer: ResponseRenderer

    private var plan: FaultPlan { exchange.plan }

    /// Throws ``ConnectionEnded`` if the connection must not be reused.
    func run(_ writer: consuming ResponseWriter) async throws {
        if plan.has(.dropResponse) { throw ConnectionEnded() }
        if let delay = plan[.delayResponse]?.seconds { try await plan.hold.wait(seconds: delay) }
        let rendered = rendered()
        exchange.noteResponse(rendered.head.status)
        var body = FaultyBodyWriter(try await writer.writeHead(rendered.head), exchange)
        for stop in plan.breaks(at: .responseHeaders) { try await exchange.enact(stop.fault) }
        if exchange.request.method != .head { try await write(rendered, to: &body) }
        try await body.finish(nil)
        if leavesBodyUnread {
            // Half-close: the client reads the whole response, and the server discards the rest of the body.
            try? await exchange.channel.close(mode: .output).get()
        } else if closes {
            throw ConnectionEnded()
        }
    }

    private func rendered() -> ResponseRenderer.Rendered {
        var rendered = renderer.render(plan.changed(response), leadingSpace: plan[.whitespace]?.number ?? 0)
        if closes { rendered.head.headerFields[.connection] = "close" }
        if plan.has(.wrongLength) {
            let size = rendered.file?.count ?? rendered.bytes.readableBytes
            rendered.head.headerFields[.contentLength] = String(size + 100)
        }
        return rendered
    }

    private func write(_ rendered: ResponseRenderer.Rendered, to body: inout some ResponseBodyWriter) async throws {
        let limit = plan[.truncate]?.number
        if var file = rendered.file {
            file.count = min(limit ?? Int.max, file.count)
            try await file.write(to: &body)
        } else {
            var bytes = rendered.bytes
            if let shown = bytes.readSlice(length: min(limit ?? Int.max, bytes.readableBytes)) {
                try await body.write(shown)
            }
            let piece = ByteBuffer(repeating: UInt8(ascii: "x"), count: 64 * 1024)
            for _ in stride(from: 0, to: rendered.padding, by: piece.readableBytes) { try await body.write(piece) }
        }
        if limit != nil || plan.has(.wrongLength) { throw ConnectionEnded() }
    }

    private var leavesBodyUnread: Bool { response.isEarly && exchange.hasBody }

    /// Whether Apache closes the connection: after these statuses (recorded as `Connection: close`), and after an
    /// unread body.
    private var closes: Bool {
        leavesBodyUnread
            || (response.origin == .application && [400, 413, 500].contains(response.status.code))
    }
}

/// Writes the body of a response, with its faults.
struct FaultyBodyWriter<Base: ResponseBodyWriter>: ResponseBodyWriter {
    private var base: Base
    private let exchange: Exchange
    private var breaks: [FaultPlan.Break]
    private var sent = 0

    init(_ base: Base, _ exchange: Exchange) {
        self.base = base
        self.exchange = exchange
        breaks = exchange.plan.responseBreaks
    }

    mutating func write(_ buffer: ByteBuffer) async throws {
        var rest = buffer
        while rest.readableBytes > 0 {
            let room = breaks.first.map { $0.offset - sent } ?? Int.max
            if let piece = rest.readSlice(length: min(rest.readableBytes, room)) {
                try await base.write(piece)
                sent += piece.readableBytes
            }
            try await exchange.strike(&breaks, sent)
        }
    }

    consuming func finish(_ trailingHeaders: HTTPFields?) async throws { try await base.finish(trailingHeaders) }
}

/// The parameters of a URL's query, decoded as PHP does; if a name is repeated, its last value counts.
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
        let spaced = text.replacing("+", with: " ")
        return spaced.removingPercentEncoding ?? String(spaced)
    }
}

/// One range of a `Range` header (RFC 9110 section 14.1.2).
struct ByteRange: Equatable {
    /// Nil if the range is outside the file.
    var bytes: Range<Int>?

    /// Nil for other units, several ranges and invalid syntax.
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

extension Response {
    /// A whole file or the requested range of it; `refusal` is the response to a range outside the file.
    func serving(_ file: StoredRange, _ range: String?, refusal: Response) -> Response {
        var response = with { $0.body = .file(file) }
        guard let range = range.flatMap({ ByteRange($0, size: file.count) }) else { return response }
        guard let bytes = range.bytes else {
            return refusal.with { $0.headers.append(("Content-Range", "bytes */\(file.count)")) }
        }
        var part = file
        (part.offset, part.count) = (bytes.lowerBound, bytes.count)
        (response.status, response.body) = (.partialContent, .file(part))
        response.headers.append(("Content-Range", "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/\(file.count)"))
        return response
    }
}
