internal import MediaTransport

/// The meaning of a response to an upload, or of its absence (gighive contract 2.5 and section 3).
enum UploadVerdict: Sendable {
    /// On the server now, as the reply says.
    case stored(UploadReply)
    /// The server refused the bytes because it has them: to be confirmed.
    case duplicate(UploadReply)
    /// The database refused a row because another upload wrote the same key first (trap T19): the server has finished, and
    /// has the file or not.
    case collided(GigHiveError)
    /// Known not to be on the server.
    case refused(GigHiveError, mayRepeat: Bool)
    /// It may or may not be on the server: ask.
    ///
    /// `isSettled`: the server has finished working on it, so that a few looks tell.
    case unknown(GigHiveError, isSettled: Bool)

    /// Whether the response confirms the upload.
    var isStored: Bool { if case .stored = self { true } else { false } }

    /// The 4xx statuses with which a server refuses an upload or a finalize request, except 409 (gighive contract 2.5,
    /// 4.3 and section 8). Any other 4xx may come from a proxy while the application is still processing the request.
    static let refusals: Set<Int> = [400, 401, 403, 404, 413, 415]

    /// Judges an answer.
    ///
    /// - Parameters:
    ///   - reply: The answer's content.
    ///   - head: Its status and header fields.
    ///   - bodyComplete: Whether the whole body was handed to the network. If not, the server cannot have stored it.
    /// - Returns: The verdict.
    static func of(_ reply: UploadReply, head: HTTPResponseHead, bodyComplete: Bool) -> UploadVerdict {
        let isJSON = reply.form == .json
        let error = GigHiveError.answered(head, message: reply.message ?? reply.error, isJSON: isJSON)
        if reply.deleteToken != nil, bodyComplete, !(200..<300).contains(head.status), head.status != 409 {
            // The status denies what the token says: the server has finished, and is queried.
            return .unknown(error, isSettled: true)
        }
        switch head.status {
        case 200..<300:
            return success(reply, bodyComplete: bodyComplete)
        case 300..<400:
            // Redirects are not followed. A web form stores its file before it redirects, so the server is queried.
            return bodyComplete ? .unknown(error, isSettled: true) : .refused(error, mayRepeat: false)
        case 409:
            return .duplicate(reply)
        case 400 where !isJSON && !bodyComplete:
            // From a web server or proxy that did not receive the whole request; the application responds in JSON.
            return .refused(error, mayRepeat: true)
        case 400..<500 where !refusals.contains(head.status):
            // A proxy may send it while the application goes on with a body that it has whole.
            return bodyComplete ? .unknown(error, isSettled: false) : .refused(error, mayRepeat: error.isRetryable)
        case 500 where error.code == .serverRace && bodyComplete:
            return .collided(error)
        case 500 where error.code == .payloadTooLarge:
            return .refused(error, mayRepeat: false)
        case 501:
            return .refused(error, mayRepeat: false)
        case 503:
            // The web server responds for an application that is not running: nothing was processed (trap T24).
            return .refused(error, mayRepeat: true)
        case 500...:
            guard bodyComplete else {
                return .refused(error, mayRepeat: head.status != 500)
            }
            // A 500 comes from a script that has ended, perhaps after storing the file (trap T7). Other codes come
            // from a proxy, behind which the script may go on.
            return .unknown(error, isSettled: head.status == 500)
        default:
            return .refused(error, mayRepeat: false)
        }
    }

    private static func success(_ reply: UploadReply, bodyComplete: Bool) -> UploadVerdict {
        if reply.saysStored {
            return .stored(reply)
        }
        let error = reply.asHollowSuccess
        return bodyComplete ? .unknown(error, isSettled: true) : .refused(error, mayRepeat: false)
    }

    /// Judges a missing or cut answer.
    ///
    /// - Parameters:
    ///   - failure: Why there is no whole answer.
    ///   - reply: What had arrived of one.
    /// - Returns: The verdict.
    static func of(_ failure: TransportError, reply: UploadReply?) -> UploadVerdict {
        let bodyComplete = failure.metrics.bodyComplete
        if let reply, let head = failure.head {
            // The status is there and decides; only a success needs its body.
            let verdict = of(reply, head: head, bodyComplete: bodyComplete)
            if case .unknown(_, let isSettled) = verdict {
                return .unknown(.transport(failure), isSettled: isSettled)
            }
            return verdict
        }
        let error = GigHiveError.transport(failure)
        return bodyComplete
            ? .unknown(error, isSettled: false)
            : .refused(error, mayRepeat: error.isRetryable)
    }
}
