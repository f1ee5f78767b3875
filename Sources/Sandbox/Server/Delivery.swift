import HTTPTypes
import HummingbirdCore
import NIOCore

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
            // Half-close: the client reads the answer whole, the server swallows what is still under way.
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
