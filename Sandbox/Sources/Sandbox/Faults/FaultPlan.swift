import HTTPTypes
import Synchronization

struct FaultPlan: Sendable {
    var faults: [Fault] = []
    /// Whether the request is for the tus endpoint in PHP.
    var isOfBlockTus = false
    /// Ends the delay of a response.
    var hold = Waits()

    subscript(kind: Fault.Kind) -> Fault? { faults.first { $0.kind == kind } }

    func has(_ kind: Fault.Kind) -> Bool { self[kind] != nil }

    /// Resets and stalls, in order of their position in the body.
    var bodyBreaks: [Break] { breaks { if case .bodyBytes(let offset) = $0 { offset } else { nil } } }

    /// Resets and stalls, in order of their position in the response's body.
    var answerBreaks: [Break] { breaks { if case .responseBytes(let offset) = $0 { offset } else { nil } } }

    /// Resets and stalls at one of the later stages.
    func breaks(at moment: Fault.Moment) -> [Break] { breaks { $0 == moment ? 0 : nil } }

    /// A reset or a stall, and the bytes before it.
    typealias Break = (offset: Int, fault: Fault)

    private func breaks(_ offset: (Fault.Moment) -> Int?) -> [Break] {
        faults.compactMap { fault in
            guard [.reset, .stall].contains(fault.kind) else { return nil }
            return offset(fault.moment).map { ($0, fault) }
        }
        .sorted { $0.offset < $1.offset }
    }
}

/// Pages of PhotoSync's listing that a client must detect as inconsistent (photosync contract 5 and trap 1).
extension FaultPlan {
    /// The cursor that is looked up instead of the requested one.
    func cursor(_ cursor: String?) -> String? {
        if has(.endless) { return nil }
        return has(.expiredCursor) ? cursor.map { _ in "expired" } : cursor
    }

    /// The page that is sent to the client.
    func changed(_ listing: PhotoListing, askedAfter cursor: String?) -> PhotoListing {
        faults.reduce(into: listing) { listing, fault in
            switch fault.kind {
            case .repeatedCursor where cursor != nil: listing.cursor = cursor
            case .endless: listing.cursor = newUUID()
            case .emptyPage:
                listing.photos = []
                listing.cursor = newUUID()
            case .lostPhoto: listing.photos = Array(listing.photos.dropFirst())
            case .total: listing.totalCount = fault.number
            case .hostileNames:
                for index in listing.photos.indices {
                    let name = Self.hostileNames[index % Self.hostileNames.count]
                    listing.photos[index]["originalFilename"] = .string(name)
                }
            default: break
            }
        }
    }

    private static let hostileNames = [
        "../../etc/passwd", "/etc/passwd", "..\\..\\windows.jpg", "..", ".", "", ".gif", "CON.jpg", "a/b.jpg",
        "red\u{1b}[31m.jpg", "line\nbreak.jpg", "null\u{0}.jpg", "right\u{202e}gpj.exe", "-rf.jpg", " .jpg ", "A.jpg",
        "a.jpg", "caf\u{e9}.jpg", "cafe\u{301}.jpg", String(repeating: "\u{e9}", count: 300) + ".jpg",
    ]
}

extension FaultPlan {
    /// The response that is sent before the body is read.
    var earlyReply: Reply? { self[.earlyStatus].map(injectedReply) }

    /// The response that replaces the work, after the whole body.
    var replyInsteadOfWork: Reply? { self[.status].map(injectedReply) }

    /// JSON for the statuses of the application, Apache's page for the others (gighive contract 1).
    private func injectedReply(_ fault: Fault) -> Reply {
        let named: [HTTPResponse.Status] = [.requestEntityTooLarge, .badGateway, .serviceUnavailable, .gatewayTimeout]
        let status = named.first { $0.code == fault.number } ?? HTTPResponse.Status(code: fault.number)
        var reply: Reply
        switch fault.number {
        case _ where fault.place.isPhotoSync: reply = photoSyncError(status, fault.place)
        case _ where fault.place.isCaptures: reply = .captureFault(status)
        case 401: reply = .unauthorized(realm: "GigHive")
        case _ where isOfBlockTus: reply = BlockTusError.saying(fault.number)?.reply ?? .webServerError(status)
        case _ where fault.place.isTus: reply = TusError.saying(fault.number)?.reply ?? .webServerError(status)
        case 500 where fault.place.isGuest: reply = .guestServerError
        case 400, 403, 404, 405, 409, 423, 500:
            reply = applicationError(status, status.reasonPhrase, "Injected by the sandbox")
        default: reply = .webServerError(status)
        }
        if let seconds = fault.retryAfter { reply.headers.append(("Retry-After", String(seconds))) }
        return reply
    }

    /// An error in the format of the requested script: delete responses start with `success`.
    private func applicationError(_ status: HTTPResponse.Status, _ error: String, _ message: String) -> Reply {
        guard faults.first?.place == .delete else { return .failure(status, error, message) }
        return .json(status, ["success": false, "error": .string(error), "message": .string(message)])
    }

    /// The response that is sent after the work was done.
    func changed(_ reply: Reply) -> Reply {
        guard reply.status.kind == .successful else { return reply }
        return faults.reduce(reply) { reply, fault in
            switch fault.kind {
            case .errorAfterStore where fault.place.isPhotoSync: photoSyncError(.internalServerError, fault.place)
            case .errorAfterStore where fault.place.isCaptures: .captureFault(.internalServerError)
            case .errorAfterStore where isOfBlockTus: BlockTusError.exception.reply
            case .errorAfterStore: serverError("SQLSTATE[HY000]: General error: 2006 MySQL server has gone away")
            case .duplicateEntry: serverError(DuplicateEntry.checksum(checksum(in: reply)).message)
            case .redirect:
                Reply(.temporaryRedirect, .photoSync, .empty, [("Location", fault.word)])
            case .contentType: reply.with { $0.headers.append(("Content-Type", fault.word)) }
            case .endlessJSON: Reply(.ok, .photoSync, .endlessJSON(bytes: fault.number))
            case .corruptByte:
                reply.with {
                    guard case .file(var range) = $0.body else { return }
                    range.isCorrupted = true
                    $0.body = .file(range)
                }
            case .noToken, .oddToken, .wrongTypes, .noChecksum, .corrupt: altered(reply, fault.kind)
            case .statusAfter: injectedReply(fault)
            case .html: asPage(reply)
            default: reply
            }
        }
    }

    private func serverError(_ message: String) -> Reply {
        applicationError(.internalServerError, "Server Error", message)
    }

    /// A proxy's page for statuses that only a proxy sends, otherwise the server's own text (photosync contract 0).
    private func photoSyncError(_ status: HTTPResponse.Status, _ place: Fault.Place) -> Reply {
        switch status.code {
        case 401: .photoSyncError(status, "Invalid API key.")
        case 500: place.speaksJSON ? .photoSyncError(status, "Database error.") : .photoSyncDatabaseError
        case 400, 403, 404, 405:
            place.speaksJSON
                ? .photoSyncError(status, "Injected by the sandbox") : .photoSyncText(status, "Injected by the sandbox")
        default: .webServerError(status)
        }
    }

    private func checksum(in reply: Reply) -> String {
        guard case .json(let value) = reply.body else { return "" }
        return value["checksum_sha256"]?.string ?? ""
    }

    private func asPage(_ reply: Reply) -> Reply {
        // Where no JSON is expected, a login page of a proxy.
        guard case .json = reply.body, reply.origin == .application else {
            return Reply(.ok, .webServer, .html(Reply.page("Sign in")))
        }
        return reply.asPage(when: true)
    }

    private func altered(_ reply: Reply, _ kind: Fault.Kind) -> Reply {
        guard case .json(var value) = reply.body, value.members != nil else { return reply }
        // In the capture server's responses, the relevant members are inside the envelope.
        if reply.origin == .captures, let data = value["data"] {
            value["data"] = altered(data, kind)
        } else {
            value = altered(value, kind)
        }
        return reply.with { $0.body = .json(value) }
    }

    private func altered(_ object: JSONValue, _ kind: Fault.Kind) -> JSONValue {
        var object = object
        switch kind {
        case .noToken: object["delete_token"] = nil
        case .oddToken where object["delete_token"] != nil: object["delete_token"] = "not-a-token"
        case .noChecksum: object["checksum_sha256"] = nil
        case .corrupt where object["checksum_sha256"] != nil:
            object["checksum_sha256"] = .string(String(repeating: "0", count: 64))
        case .wrongTypes: return .object((object.members ?? []).map(retyped))
        default: break
        }
        return object
    }

    /// Another type for every field but the token, which a client can still save.
    private func retyped(_ member: JSONValue.Member) -> JSONValue.Member {
        guard member.key != "delete_token" else { return member }
        return switch member.value {
        case .number, .bool: JSONValue.Member(key: member.key, value: "many")
        case .string: JSONValue.Member(key: member.key, value: 0)
        case .null, .array, .object: JSONValue.Member(key: member.key, value: "none")
        }
    }
}

extension Reply {
    func with(_ change: (inout Reply) -> Void) -> Reply {
        var reply = self
        change(&reply)
        return reply
    }
}

/// Delays that can be ended early, all at once: those of `delay-answer` when the faults are cleared, that of a stall
/// when the connection is closed.
final class Waits: Sendable {
    private let state = Mutex<(isOver: Bool, sleeps: [Task<Void, any Error>])>((false, []))

    /// Waits, unless the delay was ended already. Throws `CancellationError`.
    func wait(seconds: Double) async throws {
        let sleep = state.withLock { state -> Task<Void, any Error>? in
            guard !state.isOver else { return nil }
            state.sleeps.append(Task { try await Task.sleep(for: .seconds(seconds)) })
            return state.sleeps.last
        }
        guard let sleep else { return }
        _ = await withTaskCancellationHandler {
            await sleep.result
        } onCancel: {
            sleep.cancel()
        }
        try Task.checkCancellation()
    }

    func end() {
        let sleeps = state.withLock { state in
            state.isOver = true
            return state.sleeps
        }
        for sleep in sleeps { sleep.cancel() }
    }
}
