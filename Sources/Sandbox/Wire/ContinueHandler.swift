import HTTPTypes
import NIOCore
import NIOHTTPTypes

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
