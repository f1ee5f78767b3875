import HTTPTypes
import HummingbirdCore
import NIOCore

/// The sandbox's own routes: no login, but only from this machine.
struct ControlEndpoint {
    static let prefix = "/__sandbox/"

    let faults: FaultBook
    let log: RequestLog

    func reply(to request: Request, from channel: any Channel) async throws -> Reply {
        guard channel.remoteAddress.map(Self.isLoopback) ?? false else { return .webServerError(.forbidden) }
        switch (request.method, request.uri.path.dropFirst(Self.prefix.count)) {
        case (.post, "faults"): return try await addFaults(request)
        case (.delete, "faults"):
            faults.clear()
            return .json(.ok, ["added": 0])
        case (.get, "requests"): return .json(.ok, .array(log.all.map(Self.json)))
        default: return .webServerError(.notFound)
        }
    }

    private func addFaults(_ request: Request) async throws -> Reply {
        let text = String(buffer: try await request.body.collect(upTo: 1 << 20))
        do {
            let added = try text.split(whereSeparator: \.isNewline).map { try FaultSyntax.parse(String($0)) }
            faults.add(added)
            return .json(.ok, ["added": .int(added.count)])
        } catch let error as FaultSyntaxError {
            return .json(.badRequest, ["error": .string(error.description)])
        }
    }

    private static func json(_ entry: RequestLog.Entry) -> JSONValue {
        [
            "method": .string(entry.method),
            "path": .string(entry.path),
            "status": JSONValue(entry.status),
            "body_bytes_read": .int(entry.bodyBytesRead),
        ]
    }

    private static func isLoopback(_ address: SocketAddress) -> Bool {
        guard let host = address.ipAddress else { return false }
        return host.hasPrefix("127.") || host == "::1"
    }
}
