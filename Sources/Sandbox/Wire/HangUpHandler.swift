import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Closes the connection when the client has closed its side: no client of HTTP does that and still listens.
///
/// Without it nobody would notice, and a stall would go on, with the lock it holds, for a client that is long gone.
final class HangUpHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private var watch = BodyWatch()
    /// The response to a body that ends too early (gighive-d4 contract 4.3); nil sends none.
    private let reply: ReplyRenderer.Rendered?

    init(reply: Reply?, renderer: ReplyRenderer) {
        self.reply = reply.map { reply in
            var rendered = renderer.render(reply)
            rendered.head.headerFields[.connection] = "close"
            return rendered
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        watch.received(unwrapInboundIn(data))
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        watch.sends(unwrapOutboundIn(data))
        context.write(data, promise: promise)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        context.fireUserInboundEventTriggered(event)
        guard case .inputClosed? = event as? ChannelEvent else { return }
        if watch.end(), let reply {
            reply.send(instead: context)
        } else {
            context.close(promise: nil)
        }
    }
}
