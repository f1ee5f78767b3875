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

    private var isBodyDue = false
    private let reply: ReplyRenderer.Rendered

    init(renderer: ReplyRenderer) {
        var reply = renderer.render(.webServerError(.requestTimeout))
        reply.head.headerFields[.connection] = "close"
        self.reply = reply
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head: isBodyDue = true
        case .body: break
        case .end: isBodyDue = false
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        // `100 Continue` asks for the body; any other answer makes it superfluous.
        if case .head(let head) = unwrapOutboundIn(data), head.status.kind != .informational { isBodyDue = false }
        context.write(data, promise: promise)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case .read? = event as? IdleStateHandler.IdleStateEvent, isBodyDue else {
            context.fireUserInboundEventTriggered(event)
            return
        }
        isBodyDue = false
        reply.send(instead: context)
    }
}
