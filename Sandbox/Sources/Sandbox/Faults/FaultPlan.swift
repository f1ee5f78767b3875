import HTTPTypes
import Synchronization

struct FaultPlan: Sendable {
    var faults: [Fault] = []
    /// Whether the request is for the tus endpoint in PHP.
    var isOfBlockTus = false
    /// Ends the delay of responses.
    var hold = Waits()

    subscript(kind: Fault.Kind) -> Fault? { faults.first { $0.kind == kind } }

    func has(_ kind: Fault.Kind) -> Bool { self[kind] != nil }

    /// Resets and stalls in the body, in order.
    var bodyBreaks: [Break] { breaks { if case .bodyBytes(let offset) = $0 { offset } else { nil } } }

    /// Resets and stalls in the body of the response, in order.
    var responseBreaks: [Break] { breaks { if case .responseBytes(let offset) = $0 { offset } else { nil } } }

    func breaks(at moment: Fault.Moment) -> [Break] { breaks { $0 == moment ? 0 : nil } }

    typealias Break = (offset: Int, fault: Fault)

    private func breaks(_ offset: (Fault.Moment) -> Int?) -> [Break] {
        faults.compactMap { fault in
            guard [.reset, .stall].contains(fault.kind) else { return nil }
            return offset(fault.moment).map { ($0, fault) }
        }
        .sorted { $0.offset < $1.offset }
    }
}

/// Faulty pages of PhotoSync's listing (photosync contract 5 and trap 1).
extension FaultPlan {
    /// Replaces the cursor of the request.
    func cursor(_ cursor: String?) -> String? {
        if has(.endless) { return nil }
        return has(.expiredCursor) ? cursor.map { _ in "expired" } : cursor
    }

    func changed(_ listing: PhotoListing, requestedAfter cursor: String?) -> PhotoListing {
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
    /// The injected response that is sent before the body is read.
    var earlyResponse: Response? { self[.earlyStatus].map(injectedResponse) }

    /// The injected response that is sent after the body, without processing the request.
    var responseInsteadOfWork: Response? { self[.status].map(injectedResponse) }

    /// JSON for the application's statuses, Apache's page for others (gighive contract 1).
    private func injectedResponse(_ fault: Fault) -> Response {
        let named: [HTTPResponse.Status] = [.requestEntityTooLarge, .badGateway, .serviceUnavailable, .gatewayTimeout]
        let status = named.first { $0.code == fault.number } ?? HTTPResponse.Status(code: fault.number)
        var response: Response
        switch fault.number {
        case _ where fault.place.isPhotoSync: response = photoSyncError(status, fault.place)
        case _ where fault.place.isCaptures: response = .captureFault(status)
        case 401: response = .unauthorized(realm: "GigHive")
        case _ where isOfBlockTus: response = BlockTusError.forStatus(fault.number)?.response ?? .webServerError(status)
        case _ where fault.place.isTus: response = TusError.forStatus(fault.number)?.response ?? .webServerError(status)
        case 500 where fault.place.isGuest: response = .guestServerError
        case 400, 403, 404, 405, 409, 423, 500:
            response = applicationError(status, status.reasonPhrase, "Injected by the sandbox")
        default: response = .webServerError(status)
        }
        if let seconds = fault.retryAfter { response.headers.append(("Retry-After", String(seconds))) }
        return response
    }

    /// Responses to deletions begin with `success`.
    private func applicationError(_ status: HTTPResponse.Status, _ error: String, _ message: String) -> Response {
        guard faults.first?.place == .delete else { return .failure(status, error, message) }
        return .json(status, ["success": false, "error": .string(error), "message": .string(message)])
    }

    /// Changes the response to a processed request.
    func changed(_ response: Response) -> Response {
        guard response.status.kind == .successful else { return response }
        return faults.reduce(response) { response, fault in
            switch fault.kind {
            case .errorAfterStore where fault.place.isPhotoSync: photoSyncError(.internalServerError, fault.place)
            case .errorAfterStore where fault.place.isCaptures: .captureFault(.internalServerError)
            case .errorAfterStore where isOfBlockTus: BlockTusError.exception.response
            case .errorAfterStore: serverError("SQLSTATE[HY000]: General error: 2006 MySQL server has gone away")
            case .duplicateEntry: serverError(DuplicateEntry.checksum(checksum(in: response)).message)
            case .redirect:
                Response(.temporaryRedirect, .photoSync, .empty, [("Location", fault.word)])
            case .contentType: response.with { $0.headers.append(("Content-Type", fault.word)) }
            case .endlessJSON: Response(.ok, .photoSync, .endlessJSON(bytes: fault.number))
            case .corruptByte:
                response.with {
                    guard case .file(var range) = $0.body else { return }
                    range.isCorrupted = true
                    $0.body = .file(range)
                }
            case .noToken, .oddToken, .wrongTypes, .noChecksum, .corrupt: altered(response, fault.kind)
            case .statusAfter: injectedResponse(fault)
            case .html: asPage(response)
            default: response
            }
        }
    }

    private func serverError(_ message: String) -> Response {
        applicationError(.internalServerError, "Server Error", message)
    }

    /// The server's error, or a proxy's page for statuses that it does not use (photosync contract 0).
    private func photoSyncError(_ status: HTTPResponse.Status, _ place: Fault.Place) -> Response {
        switch status.code {
        case 401: .photoSyncError(status, "Invalid API key.")
        case 500: place.sendsJSON ? .photoSyncError(status, "Database error.") : .photoSyncDatabaseError
        case 400, 403, 404, 405:
            place.sendsJSON
                ? .photoSyncError(status, "Injected by the sandbox") : .photoSyncText(status, "Injected by the sandbox")
        default: .webServerError(status)
        }
    }

    private func checksum(in response: Response) -> String {
        guard case .json(let value) = response.body else { return "" }
        return value["checksum_sha256"]?.string ?? ""
    }

    private func asPage(_ response: Response) -> Response {
        // A proxy's login page replaces a file or a page.
        guard case .json = response.body, response.origin == .application else {
            return Response(.ok, .webServer, .html(Response.page("Sign in")))
        }
        return response.asPage(when: true)
    }

    private func altered(_ response: Response, _ kind: Fault.Kind) -> Response {
        guard case .json(var value) = response.body, value.members != nil else { return response }
        // The fields of the capture server are inside the envelope.
        if response.origin == .captures, let data = value["data"] {
            value["data"] = altered(data, kind)
        } else {
            value = altered(value, kind)
        }
        return response.with { $0.body = .json(value) }
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

    /// Changes the type of every field except the token, which a client can still store.
    private func retyped(_ member: JSONValue.Member) -> JSONValue.Member {
        guard member.key != "delete_token" else { return member }
        return switch member.value {
        case .number, .bool: JSONValue.Member(key: member.key, value: "many")
        case .string: JSONValue.Member(key: member.key, value: 0)
        case .null, .array, .object: JSONValue.Member(key: member.key, value: "none")
        }
    }
}

/// Waits that can end early: those of `delay-response` when the faults are cleared, and those of stalls when the
/// connection closes.
final class Waits: Sendable {
    private let state = Mutex<(isOver: Bool, sleeps: [Task<Void, any Error>])>((false, []))

    /// Returns immediately once the waits have ended. Throws `CancellationError`.
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
