import HTTPTypes
import Synchronization

/// What will go wrong with one request.
struct FaultPlan: Sendable {
    var faults: [Fault] = []
    /// Whether the request is for the tus endpoint in PHP.
    var isOfBlockTus = false
    /// Ends the wait of an answer that comes late.
    var hold = AnswerHold()

    /// The first non-nil answer of a question put to each fault.
    func first<Answer>(_ question: (Fault) -> Answer?) -> Answer? {
        faults.lazy.compactMap(question).first
    }

    func has(_ effect: Fault.Effect) -> Bool {
        faults.contains { $0.effect == effect }
    }

    /// The largest body that a proxy lets through, in bytes; nil is no limit.
    var bodyLimit: Int? {
        first { if case .limit(let bytes) = $0.effect { bytes } else { nil } }
    }

    /// The largest form that PHP takes, in bytes; nil is no limit.
    var postLimit: Int? {
        first { if case .postLimit(let bytes) = $0.effect { bytes } else { nil } }
    }

    /// The largest file that PHP takes, in bytes; nil is no limit.
    var fileLimit: Int? {
        first { if case .fileLimit(let bytes) = $0.effect { bytes } else { nil } }
    }

    /// The key on which the upload collides.
    var collision: CollidingKey? {
        first { if case .collision(let key) = $0.effect { key } else { nil } }
    }

    /// Resets and stalls, in the order in which the body reaches them.
    var bodyBreaks: [(offset: Int, effect: Fault.Effect)] {
        faults.compactMap { fault in
            switch fault.effect {
            case .reset(.bodyBytes(let offset)), .stall(.bodyBytes(let offset), _): (offset, fault.effect)
            default: nil
            }
        }
        .sorted { $0.offset < $1.offset }
    }

    /// Resets and stalls, in the order in which the answer's body reaches them.
    var answerBreaks: [(offset: Int, effect: Fault.Effect)] {
        faults.compactMap { fault in
            switch fault.effect {
            case .reset(.responseBytes(let offset)), .stall(.responseBytes(let offset), _): (offset, fault.effect)
            default: nil
            }
        }
        .sorted { $0.offset < $1.offset }
    }

    /// Resets and stalls at one of the later moments.
    func breaks(at moment: Fault.Moment) -> [Fault.Effect] {
        faults.map(\.effect).filter { effect in
            switch effect {
            case .reset(moment), .stall(moment, _): true
            default: false
            }
        }
    }
}

/// Pages of PhotoSync's listing that a careful client must notice (photosync contract 5 and trap 1).
extension FaultPlan {
    private var listFaults: [Fault.ListFault] {
        faults.compactMap { if case .list(let fault) = $0.effect { fault } else { nil } }
    }

    /// The cursor that is looked up in place of the one in the request.
    func cursor(_ cursor: String?) -> String? {
        listFaults.reduce(cursor) { cursor, fault in
            switch fault {
            case .endless: nil
            case .expiredCursor: cursor.map { _ in "expired" }
            default: cursor
            }
        }
    }

    /// The page as the client gets it.
    func changed(_ listing: PhotoListing, askedAfter cursor: String?) -> PhotoListing {
        listFaults.reduce(into: listing) { listing, fault in
            switch fault {
            case .repeatedCursor:
                guard let cursor else { return }
                listing.cursor = cursor
                listing.hasMore = true
            case .endless:
                listing.cursor = PhotoCatalog.newID()
                listing.hasMore = true
            case .emptyPage:
                listing.photos = []
                listing.cursor = PhotoCatalog.newID()
                listing.hasMore = true
            case .expiredCursor: break
            case .lostPhoto: listing.photos = Array(listing.photos.dropFirst())
            case .total(let total): listing.totalCount = total
            case .hostileNames:
                for index in listing.photos.indices {
                    let name = Self.hostileNames[index % Self.hostileNames.count]
                    listing.photos[index]["originalFilename"] = .string(name)
                }
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
    /// The answer that comes before the body is read.
    var earlyReply: Reply? {
        first { fault in
            if case .earlyStatus(let code) = fault.effect { injectedReply(code, fault) } else { nil }
        }
    }

    /// The answer that takes the place of the work, after the whole body.
    var replyInsteadOfWork: Reply? {
        first { fault in
            if case .status(let code) = fault.effect { injectedReply(code, fault) } else { nil }
        }
    }

    /// JSON for the statuses that the application makes, Apache's page for the others (gighive contract 1).
    private func injectedReply(_ code: Int, _ fault: Fault) -> Reply {
        let status = code == 413 ? HTTPResponse.Status.requestEntityTooLarge : HTTPResponse.Status(code: code)
        var reply: Reply
        switch code {
        case _ where fault.place.isPhotoSync: reply = photoSyncError(status, fault.place)
        case _ where fault.place.isCaptures: reply = .captureFault(status)
        case 401: reply = .unauthorized(realm: "GigHive")
        case _ where isOfBlockTus: reply = BlockTusError.saying(code)?.reply ?? .webServerError(status)
        case _ where fault.place.isTus: reply = TusError.saying(code)?.reply ?? .webServerError(status)
        case 500 where fault.place.isGuest: reply = .guestServerError
        case 400, 403, 404, 405, 409, 423, 500:
            reply = applicationError(status, error: status.reasonPhrase, message: "Injected by the sandbox")
        default: reply = .webServerError(Self.apacheStatuses.first { $0.code == code } ?? status)
        }
        if let seconds = fault.retryAfter { reply.headers.append(("Retry-After", String(seconds))) }
        return reply
    }

    /// Statuses with the reason that Apache's page shows.
    private static let apacheStatuses: [HTTPResponse.Status] = [
        .badGateway, .serviceUnavailable, .gatewayTimeout,
    ]

    /// An error in the words of the script that was asked: delete answers begin with `success`.
    private func applicationError(_ status: HTTPResponse.Status, error: String, message: String) -> Reply {
        var object: JSONObject = ["error": .string(error), "message": .string(message)]
        if faults.first?.place == .delete {
            object.members.insert(JSONObject.Member(key: "success", value: false), at: 0)
        }
        return .json(status, .object(object))
    }

    /// The answer as the client gets it after the work was done.
    func changed(_ reply: Reply) -> Reply {
        guard reply.status.kind == .successful else { return reply }
        return faults.reduce(reply) { reply, fault in
            switch fault.effect {
            case .errorAfterStore where fault.place.isPhotoSync: photoSyncError(.internalServerError, fault.place)
            case .errorAfterStore where fault.place.isCaptures: .captureFault(.internalServerError)
            case .errorAfterStore where isOfBlockTus: BlockTusError.exception.reply
            case .redirect(let address): redirect(to: address)
            case .contentType(let type): withContentType(reply, type)
            case .endlessJSON(let bytes): Reply(status: .ok, origin: .photoSync, body: .endlessJSON(bytes: bytes))
            case .corruptByte: corrupted(reply)
            case .alter(let alteration): altered(reply, alteration)
            case .errorAfterStore:
                applicationError(
                    .internalServerError,
                    error: "Server Error",
                    message: "SQLSTATE[HY000]: General error: 2006 MySQL server has gone away"
                )
            case .duplicateEntry:
                applicationError(
                    .internalServerError,
                    error: "Server Error",
                    message: DuplicateEntry.checksum(checksum(in: reply)).message
                )
            case .statusAfter(let code): injectedReply(code, fault)
            case .html: asPage(reply)
            default: reply
            }
        }
    }

    /// A proxy's page where it can only be a proxy, else the server's own words (photosync contract 0).
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

    private func redirect(to address: String) -> Reply {
        Reply(status: .temporaryRedirect, origin: .photoSync, body: .empty, headers: [("Location", address)])
    }

    private func withContentType(_ reply: Reply, _ type: String) -> Reply {
        var reply = reply
        reply.headers.append(("Content-Type", type))
        return reply
    }

    private func corrupted(_ reply: Reply) -> Reply {
        guard case .file(var range) = reply.body else { return reply }
        range.isCorrupted = true
        var reply = reply
        reply.body = .file(range)
        return reply
    }

    private func checksum(in reply: Reply) -> String {
        guard case .json(.object(let object)) = reply.body, case .string(let sum)? = object["checksum_sha256"] else {
            return ""
        }
        return sum
    }

    private func asPage(_ reply: Reply) -> Reply {
        // Where no JSON was due, a login page of a proxy.
        guard case .json(let value) = reply.body else {
            return Reply(status: .ok, origin: .webServer, body: .html("<!doctype html>\n<title>Sign in</title>\n"))
        }
        var page = reply
        page.body = .html(HTMLPages.uploadResult(value, succeeded: true))
        return page
    }

    private func altered(_ reply: Reply, _ alteration: Fault.Alteration) -> Reply {
        var reply = reply
        switch reply.body {
        case .json(.object(let object)): reply.body = .json(.object(altered(object, alteration)))
        case .goJSON(.object(let object)): reply.body = .goJSON(.object(altered(object, alteration)))
        case .serdeJSON(.object(var object)):
            // What counts is inside the envelope.
            guard case .object(let data)? = object["data"] else { break }
            object["data"] = .object(altered(data, alteration))
            reply.body = .serdeJSON(.object(object))
        case .prettyJSON(.object(let object)): reply.body = .prettyJSON(.object(altered(object, alteration)))
        default: break
        }
        return reply
    }

    private func altered(_ object: JSONObject, _ alteration: Fault.Alteration) -> JSONObject {
        var object = object
        switch alteration {
        case .noToken: object["delete_token"] = nil
        case .oddToken: if object["delete_token"] != nil { object["delete_token"] = "not-a-token" }
        case .noChecksum: object["checksum_sha256"] = nil
        case .corrupt:
            if object["checksum_sha256"] != nil {
                object["checksum_sha256"] = .string(String(repeating: "0", count: 64))
            }
        case .wrongTypes: object.members = object.members.map(retyped)
        }
        return object
    }

    /// Another type for every field but the token, which a careful client can still save.
    private func retyped(_ member: JSONObject.Member) -> JSONObject.Member {
        guard member.key != "delete_token" else { return member }
        return switch member.value {
        case .int, .decimal, .bool: JSONObject.Member(key: member.key, value: "many")
        case .string: JSONObject.Member(key: member.key, value: 0)
        case .null, .array, .object: JSONObject.Member(key: member.key, value: "none")
        }
    }
}

/// Holds the answers of `delay-answer` back, until their time has come or the faults are cleared.
final class AnswerHold: Sendable {
    private struct State {
        var isReleased = false
        var sleeps: [Int: Task<Void, Never>] = [:]
        var lastKey = 0
    }

    private let state = Mutex(State())

    /// Waits; not at all once it was released. Throws `CancellationError`.
    func wait(seconds: Double) async throws {
        guard let (key, sleep) = begin(seconds) else { return }
        defer { state.withLock { _ = $0.sleeps.removeValue(forKey: key) } }
        await withTaskCancellationHandler {
            await sleep.value
        } onCancel: {
            sleep.cancel()
        }
        try Task.checkCancellation()
    }

    /// Lets all go that wait, and those that come later.
    func release() {
        let sleeps = state.withLock { state in
            state.isReleased = true
            return state.sleeps.values
        }
        for sleep in sleeps { sleep.cancel() }
    }

    private func begin(_ seconds: Double) -> (key: Int, sleep: Task<Void, Never>)? {
        state.withLock { state in
            guard !state.isReleased else { return nil }
            let sleep = Task { _ = try? await Task.sleep(for: .seconds(seconds)) }
            state.lastKey += 1
            state.sleeps[state.lastKey] = sleep
            return (state.lastKey, sleep)
        }
    }
}
