import Foundation
import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import UnixSignals

/// Runs a sandbox until it is told to stop.
struct SandboxServer {
    let configuration: SandboxConfiguration
    /// Called once with the port when connections are accepted.
    let onReady: @Sendable (_ port: Int) -> Void

    /// Returns after SIGTERM or SIGINT; requests under way get a second to finish.
    func run() async throws {
        let site = try Site(configuration: configuration)
        let logger = Logger(label: "mediactl-sandbox") { _ in SwiftLogNoOpLogHandler() }
        let configuration = configuration
        let http = HTTPServerBuilder.http1(
            configuration: .init(additionalChannelHandlers: Self.channelHandlers(configuration))
        )
        let onReady = onReady
        let server = try http.buildServer(
            configuration: ServerConfiguration(
                address: .hostname(configuration.host, port: configuration.port)
            ),
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
            logger: logger,
            responder: { request, writer, channel in
                try await site.respond(to: request, writer: writer, channel: channel)
            },
            onServerRunning: { channel in
                if let port = channel.localAddress?.port { onReady(port) }
            }
        )
        var group = ServiceGroupConfiguration(
            services: [server],
            gracefulShutdownSignals: [.sigterm, .sigint],
            logger: logger
        )
        group.maximumGracefulShutdownDuration = .seconds(1)
        try await ServiceGroup(configuration: group).run()
    }

    private static func channelHandlers(_ configuration: SandboxConfiguration) -> [any RemovableChannelHandler] {
        let renderer = ReplyRenderer(dialect: configuration.dialect)
        let hangUp = HangUpHandler(
            reply: configuration.dialect == .d4 ? .webServerError(.badRequest) : nil,
            renderer: renderer
        )
        let always: [any RemovableChannelHandler] = [hangUp, ContinueHandler(), BodyDeadlineHandler()]
        guard let seconds = configuration.bodyTimeout else { return always }
        return [
            IdleStateHandler(readTimeout: .milliseconds(Int64(seconds * 1000))), BodyTimeoutHandler(renderer: renderer),
        ] + always
    }
}
