import HTTPTypes
import HummingbirdCore
import NIOCore

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
