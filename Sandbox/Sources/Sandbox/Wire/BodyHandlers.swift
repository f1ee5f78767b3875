import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Makes the connection send `100 Continue` now.
///
/// Hummingbird leaves the interim response to the application, and the application must be able to reject a request
/// before it (gighive contract 2.6), so the site triggers this event when it is about to read an announced body.
struct SendContinue: Sendable {}

/// Sets the deadline until which PhotoSync waits for the end of a body (photosync contract 3.4).
struct BodyDeadline: Sendable {
    let seconds: Double
}

/// Monitors a connection between the head of a request and the end of its body, or a response: responds instead of
/// the site and disconnects if the body stalls or ends too early.
final class BodyHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// To a body that stalls, like Apache (gighive contract 2.5, trap T21), after an event of an `IdleStateHandler`.
    private let timeout: ReplyRenderer.Rendered
    /// To a body that ends too early (gighive-d4 contract 4.3); nil sends none.
    private let interruption: ReplyRenderer.Rendered?
    /// To a body that is not complete at its ``BodyDeadline``.
    private let lateness: ReplyRenderer.Rendered
    private var isBodyDue = false

    init(_ dialect: Dialect) {
        let renderer = ReplyRenderer(dialect: dialect)
        timeout = renderer.renderLast(.webServerError(.requestTimeout))
        lateness = renderer.renderLast(.notMultipart)
        interruption = dialect == .d4 ? renderer.renderLast(.webServerError(.badRequest)) : nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head: isBodyDue = true
        case .body: break
        case .end: _ = endWatch()
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        // `100 Continue` requests the body; after any other response it is not needed.
        if case .head(let head) = unwrapOutboundIn(data), head.status.kind != .informational { _ = endWatch() }
        context.write(data, promise: promise)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .read? = event as? IdleStateHandler.IdleStateEvent, endWatch() {
            timeout.send(instead: context)
            return
        }
        context.fireUserInboundEventTriggered(event)
        // No HTTP client closes its side and still listens. Otherwise it would go unnoticed, and a stall would
        // continue, with its lock, for a client that has disconnected.
        guard case .inputClosed? = event as? ChannelEvent else { return }
        if endWatch(), let interruption { interruption.send(instead: context) } else { context.close(promise: nil) }
    }

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        if let deadline = event as? BodyDeadline {
            context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(Int64(deadline.seconds * 1000))) {
                if self.endWatch() { self.lateness.send(instead: context) }
            }
            promise?.succeed()
            return
        }
        guard event is SendContinue else {
            context.triggerUserOutboundEvent(event, promise: promise)
            return
        }
        context.writeAndFlush(wrapOutboundOut(.head(HTTPResponse(status: .continue))), promise: promise)
    }

    /// Returns whether a body was expected.
    private func endWatch() -> Bool {
        defer { isBodyDue = false }
        return isBodyDue
    }
}
