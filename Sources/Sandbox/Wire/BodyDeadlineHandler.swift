import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Asks the connection to give the body of this request so much time and no more (photosync contract 3.4).
struct BodyDeadline: Sendable {
    var seconds: Double
    /// What is answered when the time is up.
    var reply: ReplyRenderer.Rendered
    /// Called before that answer.
    var onExpiry: @Sendable () -> Void
}

/// Answers in place of the site and hangs up when a body is not there by its ``BodyDeadline``.
final class BodyDeadlineHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private var isBodyDue = false
    private var alarm: Scheduled<Void>?

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head: isBodyDue = true
        case .body: break
        case .end: bodyIsSettled()
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .head(let head) = unwrapOutboundIn(data), head.status.kind != .informational { bodyIsSettled() }
        context.write(data, promise: promise)
    }

    func channelInactive(context: ChannelHandlerContext) {
        bodyIsSettled()
        context.fireChannelInactive()
    }

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        guard let deadline = event as? BodyDeadline else {
            context.triggerUserOutboundEvent(event, promise: promise)
            return
        }
        let channel = context.channel
        if isBodyDue {
            let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
            let boundContext = NIOLoopBound(context, eventLoop: context.eventLoop)
            alarm = channel.eventLoop.scheduleTask(in: .milliseconds(Int64(deadline.seconds * 1000))) {
                bound.value.expire(deadline, boundContext.value)
            }
        }
        promise?.succeed()
    }

    private func bodyIsSettled() {
        isBodyDue = false
        alarm?.cancel()
        alarm = nil
    }

    private func expire(_ deadline: BodyDeadline, _ context: ChannelHandlerContext) {
        guard isBodyDue else { return }
        isBodyDue = false
        deadline.onExpiry()
        deadline.reply.send(instead: context)
    }
}
