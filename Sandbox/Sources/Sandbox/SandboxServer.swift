import ArgumentParser
import Foundation
import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import UnixSignals

/// Runs a sandbox until it is stopped.
struct SandboxServer {
    let configuration: SandboxConfiguration
    /// Called once with the port when connections are accepted.
    let onReady: @Sendable (_ port: Int) -> Void

    /// Returns after SIGTERM or SIGINT; requests in progress get a second to finish.
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

/// The options of a sandbox.
struct SandboxConfiguration: Sendable {
    var host: String
    /// 0 takes any free port.
    var port: Int
    var dataPath: String
    var accounts: [Account]
    /// nil when users authenticate by Basic.
    var logins: LoginSettings?
    var dialect: Dialect
    var faults: [Fault]
    /// Largest request body in bytes; Apache's limit (gighive contract 2.6).
    var maxBody: Int
    /// Seconds for which a body may stop coming; nil is for ever.
    var bodyTimeout: Double?
    /// Seconds between look-up and insert of an upload; nil keeps uploads from colliding.
    var raceWindow: Double?
    var tus: TusSettings
    var finalize: FinalizeSettings
    var eventLinks: [EventLinkRequest]
    var photoSync: PhotoSyncSettings
    var captures: CaptureSettings
}

/// The four eras of the GigHive wire, oldest first (gighive contract 0, gighive-d4 contract 9).
enum Dialect: String, Sendable, CaseIterable, Comparable, ExpressibleByArgument {
    case d1
    case d2
    case d3
    /// D3 with tus in PHP.
    case d4

    static func < (left: Dialect, right: Dialect) -> Bool { left.rawValue < right.rawValue }

    /// D3 and D4 speak of assets, the others of files.
    private var noun: String { self >= .d3 ? "asset" : "file" }

    /// `file_id` or `asset_id`: how delete requests and results name an id.
    var idKey: String { noun + "_id" }
    /// `file_ids` or `asset_ids`: an administrator's list.
    var idListKey: String { noun + "_ids" }
    /// `existing_file_id` or `existing_asset_id`: the key in a 409.
    var existingIDKey: String { "existing_" + idKey }
}
