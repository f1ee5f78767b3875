import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Sends `100 Continue`. Hummingbird leaves that to the application, which may refuse the request first (gighive
/// contract 2.6).
struct SendContinue: Sendable {}

/// How long PhotoSync waits for the end of a body (photosync contract 3.4).
struct BodyDeadline: Sendable {
    let seconds: Double
}

/// Sends a response in place of the site's, and disconnects, if the body of a request stalls or ends too early.
final class BodyHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    /// The response to a stalled body, like Apache's (gighive contract 2.5, trap T21), after an event of an
    /// `IdleStateHandler`.
    private let timeout: ResponseRenderer.Rendered
    /// The response to a body that ends too early (gighive-d4 contract 4.3); nil for none.
    private let interruption: ResponseRenderer.Rendered?
    /// The response to a body that is incomplete at its ``BodyDeadline``.
    private let lateness: ResponseRenderer.Rendered
    private var isBodyDue = false

    init(_ dialect: Dialect) {
        let renderer = ResponseRenderer(dialect: dialect)
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
        // After a response other than `100 Continue`, the body is no longer required.
        if case .head(let head) = unwrapOutboundIn(data), head.status.kind != .informational { _ = endWatch() }
        context.write(data, promise: promise)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .read? = event as? IdleStateHandler.IdleStateEvent, endWatch() {
            timeout.send(instead: context)
            return
        }
        context.fireUserInboundEventTriggered(event)
        // A client that closes its side is treated as disconnected: otherwise, a stall would continue and keep its
        // lock.
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

    /// Returns whether a body was due.
    private func endWatch() -> Bool {
        defer { isBodyDue = false }
        return isBodyDue
    }
}
