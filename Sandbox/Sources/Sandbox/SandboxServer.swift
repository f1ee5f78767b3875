import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import UnixSignals

/// Runs a sandbox until it is stopped.
struct SandboxServer {
    let command: SandboxCommand

    /// Returns after SIGTERM or SIGINT; requests in progress get a second to finish. `onReady` is called once with
    /// the port when connections are accepted.
    func run(_ host: String, _ port: Int, onReady: @escaping @Sendable (_ port: Int) -> Void) async throws {
        let site = try Site(command)
        let logger = Logger(label: "mediactl-sandbox") { _ in SwiftLogNoOpLogHandler() }
        let dialect = command.dialect
        let timeout = command.bodyTimeout ?? (dialect == .d4 ? 60 : nil)
        let http = HTTPServerBuilder.http1(
            configuration: .init(additionalChannelHandlers: Self.channelHandlers(dialect, bodyTimeout: timeout))
        )
        let server = try http.buildServer(
            configuration: ServerConfiguration(address: .hostname(host, port: port)),
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

    private static func channelHandlers(_ dialect: Dialect, bodyTimeout: Double?) -> [any RemovableChannelHandler] {
        let idle = bodyTimeout.map { IdleStateHandler(readTimeout: .milliseconds(Int64($0 * 1000))) }
        return (idle.map { [$0] } ?? []) + [BodyHandler(dialect)]
    }
}
