import Foundation
import HTTPTypes
import HummingbirdCore
import NIOCore

/// The control routes, which do not require a login but accept only clients on loopback; see ``FaultSyntax/help``.
struct ControlEndpoint {
    static let prefix = "/__sandbox/"

    let faults: FaultBook
    let log: RequestLog
    let guests: GuestBook
    let photos: PhotoControl
    let captures: CaptureControl
    let logins: LoginBook?
    let tus: any TusService

    func response(to request: Request, from channel: any Channel) async throws -> Response {
        let host = channel.remoteAddress?.ipAddress ?? ""
        guard host.hasPrefix("127.") || host == "::1" else { return .webServerError(.forbidden) }
        let path = request.uri.path.dropFirst(Self.prefix.count).split(separator: "/").map(String.init)
        if path.first == "photosync" {
            return try await photos.response(request.method, Array(path.dropFirst()), request)
        }
        if path.first == "captures" { return try captures.response(request.method, Array(path.dropFirst())) }
        switch (request.method, path.first, path.count) {
        case (.post, "faults", 1): return try await addFaults(request)
        case (.delete, "faults", 1):
            faults.clear()
            return .json(.ok, ["added": 0])
        case (.delete, "logins", 1): return .json(.ok, ["changed": .int(logins?.revokeAll() ?? 0)])
        case (.get, "requests", 1): return .json(.ok, .array(log.all.map(Self.json)))
        case (.get, "uploads", 1): return .json(.ok, .array(try tus.uploads()))
        case (.post, "event-links", 1): return try await addEventLink(request)
        case (.delete, "event-links", 2): return .changed(try guests.revoke(path[1]))
        case (.post, "guest-jobs", 3):
            let states: [String: GuestJob.State] = ["approve": .approved, "reject": .rejected]
            guard let id = Int(path[1]), let state = states[path[2]] else { return .webServerError(.notFound) }
            return .changed(try guests.judge(id, state))
        default: return .webServerError(.notFound)
        }
    }

    private func addEventLink(_ request: Request) async throws -> Response {
        let text = String(buffer: try await request.body.collect(upTo: 1 << 16))
        guard let link = EventLinkRequest(argument: text.trimmingCharacters(in: .whitespacesAndNewlines)) else {
            return .json(.badRequest, ["error": "expected [TOKEN=]DATE,ORG,TYPE[,DAYS]"])
        }
        do {
            try guests.add(link)
        } catch let refusal as UploadFields.Refusal {
            return refusal.response.with { $0.status = .badRequest }
        }
        return .json(.ok, ["token": .string(link.token)])
    }

    private func addFaults(_ request: Request) async throws -> Response {
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
            "method": .string(entry.method), "path": .string(entry.path),
            "credentials": .array(entry.credentials.map { .string($0) }), "status": JSONValue(entry.status),
            "body_bytes_read": .int(entry.bodyBytesRead), "is_over": .bool(entry.isOver),
        ]
    }
}

extension Response {
    /// 404 if nothing was changed.
    static func changed(_ isDone: Bool) -> Response { isDone ? .json(.ok, ["changed": 1]) : .webServerError(.notFound) }
}
