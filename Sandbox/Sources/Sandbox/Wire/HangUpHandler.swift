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

/// Asks the connection to send `100 Continue` now.
///
/// Hummingbird leaves the interim answer to the application, and the application must be able to refuse before it
/// (gighive contract 2.6), so the site triggers this event when it is about to read a body that was announced.
struct SendContinue: Sendable {}

/// Turns ``SendContinue`` into the interim answer on the wire.
final class ContinueHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        guard event is SendContinue else {
            context.triggerUserOutboundEvent(event, promise: promise)
            return
        }
        context.writeAndFlush(wrapOutboundOut(.head(HTTPResponse(status: .continue))), promise: promise)
    }
}
