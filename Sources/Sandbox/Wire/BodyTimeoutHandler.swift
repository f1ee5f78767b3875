import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Answers 408 and hangs up when a body stops coming, as Apache does (gighive contract 2.5, trap T21).
///
/// It acts on the `IdleStateHandler` before it, and only between the head and the end of an unanswered request.
final class BodyTimeoutHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private var watch = BodyWatch()
    private let reply: ReplyRenderer.Rendered

    init(renderer: ReplyRenderer) {
        var reply = renderer.render(.webServerError(.requestTimeout))
        reply.head.headerFields[.connection] = "close"
        self.reply = reply
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
        guard case .read? = event as? IdleStateHandler.IdleStateEvent, watch.end() else {
            context.fireUserInboundEventTriggered(event)
            return
        }
        reply.send(instead: context)
    }
}
