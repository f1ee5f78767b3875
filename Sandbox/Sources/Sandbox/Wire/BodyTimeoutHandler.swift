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

/// Whether a connection is between the head and the end of a request that has no response yet.
struct BodyWatch {
    private var isBodyDue = false

    mutating func received(_ part: HTTPRequestPart) {
        switch part {
        case .head: isBodyDue = true
        case .body: break
        case .end: isBodyDue = false
        }
    }

    mutating func sends(_ part: HTTPResponsePart) {
        // `100 Continue` asks for the body; any other answer makes it superfluous.
        if case .head(let head) = part, head.status.kind != .informational { isBodyDue = false }
    }

    /// Ends the watch.
    /// - Returns: Whether a body was due.
    mutating func end() -> Bool {
        defer { isBodyDue = false }
        return isBodyDue
    }
}
