import HTTPTypes

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
            case .contentType(let type): labelled(reply, type)
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

    private func labelled(_ reply: Reply, _ type: String) -> Reply {
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
        // Where no JSON was due, a login page of somebody between client and server.
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
