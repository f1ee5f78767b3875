import NIOCore

/// Closes the connection when the client has closed its side: no client of HTTP does that and still listens.
///
/// Without it nobody would notice, and a stall would go on, with the lock it holds, for a client that is long gone.
final class HangUpHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        context.fireUserInboundEventTriggered(event)
        if case .inputClosed? = event as? ChannelEvent { context.close(promise: nil) }
    }
}
