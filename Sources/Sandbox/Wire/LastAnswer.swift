import HTTPTypes
import NIOCore
import NIOHTTPTypes

extension ChannelDuplexHandler where OutboundOut == HTTPResponsePart {
    /// Answers in place of the site, and closes the connection.
    func hangUp(after reply: ReplyRenderer.Rendered, _ context: ChannelHandlerContext) {
        context.write(wrapOutboundOut(.head(reply.head)), promise: nil)
        context.write(wrapOutboundOut(.body(reply.bytes)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        context.close(promise: nil)
    }
}
