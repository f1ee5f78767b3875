import Foundation
import HTTPTypes
import HummingbirdCore
import NIOCore

/// The sandbox's own routes: no login, but only from this machine.
struct ControlEndpoint {
    static let prefix = "/__sandbox/"

    let faults: FaultBook
    let log: RequestLog
    let uploads: any TusService
    let guests: GuestBook
    let photos: PhotoControl
    let captures: CaptureControl
    let logins: LoginBook?

    func reply(to request: Request, from channel: any Channel) async throws -> Reply {
        guard channel.remoteAddress.map(Self.isLoopback) ?? false else { return .webServerError(.forbidden) }
        switch (request.method, request.uri.path.dropFirst(Self.prefix.count)) {
        case (.post, "faults"): return try await addFaults(request)
        case (.delete, "faults"):
            faults.clear()
            return .json(.ok, ["added": 0])
        case (.delete, "logins"): return .json(.ok, ["changed": .int(logins?.revokeAll() ?? 0)])
        case (.get, "requests"): return .json(.ok, .array(log.all.map(Self.json)))
        case (.get, "uploads"): return .json(.ok, .array(try uploads.summaries().map(Self.json)))
        case (.post, "event-links"): return try await addEventLink(request)
        case (let method, let path) where path.hasPrefix(PhotoControl.prefix):
            return try await photos.reply(method, path.split(separator: "/").dropFirst().map(String.init), request)
        case (let method, let path) where path.hasPrefix(CaptureControl.prefix):
            return try captures.reply(method, path.split(separator: "/").dropFirst().map(String.init))
        case (let method, let path): return try reply(method, path.split(separator: "/").map(String.init))
        }
    }

    /// `DELETE event-links/TOKEN`, `POST guest-jobs/ID/approve` and `…/reject`.
    private func reply(_ method: HTTPRequest.Method, _ path: [String]) throws -> Reply {
        let isDone: Bool
        switch (method, path.first, path.count) {
        case (.delete, "event-links", 2): isDone = try guests.revoke(path[1])
        case (.post, "guest-jobs", 3):
            guard let id = Int(path[1]),
                let state = ["approve": .approved, "reject": .rejected][path[2]] as GuestJob.State?
            else { return .webServerError(.notFound) }
            isDone = try guests.judge(id, state)
        default: return .webServerError(.notFound)
        }
        return isDone ? .json(.ok, ["changed": 1]) : .webServerError(.notFound)
    }

    private func addEventLink(_ request: Request) async throws -> Reply {
        let text = String(buffer: try await request.body.collect(upTo: 1 << 16))
        guard let link = EventLinkRequest(argument: text.trimmingCharacters(in: .whitespacesAndNewlines)) else {
            return .json(.badRequest, ["error": "expected [TOKEN=]DATE,ORG,TYPE[,DAYS]"])
        }
        do {
            try guests.add(link)
        } catch let refusal as UploadFields.Refusal {
            return .json(.badRequest, ["error": .string(String(describing: refusal))])
        }
        return .json(.ok, ["token": .string(link.token)])
    }

    private static func json(_ upload: TusSummary) -> JSONValue {
        [
            "id": .string(upload.id),
            "offset": JSONValue(upload.offset),
            "length": JSONValue(upload.length),
            "is_finished": .bool(upload.isFinished),
        ]
    }

    private func addFaults(_ request: Request) async throws -> Reply {
        let text = String(buffer: try await request.body.collect(upTo: 1 << 20))
        do {
            let added = try text.split(whereSeparator: \.isNewline).map { try FaultSyntax.parse(String($0)) }
            if let reason = added.lazy.compactMap({ $0.refusal(in: guests.catalog.dialect) }).first {
                return .json(.badRequest, ["error": .string(reason)])
            }
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
            "credentials": .array(entry.credentials.map { .string($0) }),
            "status": JSONValue(entry.status),
            "body_bytes_read": .int(entry.bodyBytesRead),
            "is_over": .bool(entry.isOver),
        ]
    }

    private static func isLoopback(_ address: SocketAddress) -> Bool {
        guard let host = address.ipAddress else { return false }
        return host.hasPrefix("127.") || host == "::1"
    }
}
