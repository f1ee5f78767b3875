/// One thing that goes wrong on purpose: where, what, and how often.
struct Fault: Sendable, Equatable {
    /// Which requests a fault strikes.
    enum Place: String, Sendable, CaseIterable {
        /// `POST` to the three upload paths.
        case upload
        /// `GET /api/uploads/<id>`.
        case asset
        case delete
        case listing
        /// `/video/…` and `/audio/…`.
        case media
        case health
        case tusCreate = "tus-create"
        case tusPatch = "tus-patch"
        case tusHead = "tus-head"
        case tusDelete = "tus-delete"
        case tusOptions = "tus-options"
        case finalize
        /// `GET /api/upload-token.php`.
        case token
        case guestStatus = "guest-status"
        case guestDelete = "guest-delete"

        var isTus: Bool { rawValue.hasPrefix("tus-") }
        var isGuest: Bool { rawValue.hasPrefix("guest-") || self == .token }
    }

    /// A moment in the life of a request.
    enum Moment: Sendable, Equatable {
        /// This many body bytes were read.
        case bodyBytes(Int)
        /// The whole body was read, nothing was done with it.
        case wholeBody
        /// Status line and headers of the answer were sent; the work is done.
        case responseHeaders
    }

    /// A change to the fields of a 2xx JSON answer.
    enum Alteration: String, Sendable, CaseIterable {
        case noToken = "no-token"
        case oddToken = "odd-token"
        case wrongTypes = "wrong-types"
        case corrupt
        case noChecksum = "no-checksum"
    }

    /// What happens.
    enum Effect: Sendable, Equatable {
        /// TCP reset.
        case reset(Moment)
        /// Silence; nil is for ever.
        case stall(Moment, seconds: Double?)
        /// The body is read at this many bytes a second.
        case slow(bytesPerSecond: Int)
        /// Answered before the body is read.
        case earlyStatus(Int)
        /// Answered after the whole body; nothing is done.
        case status(Int)
        /// The work is done, then the connection closes without an answer.
        case dropAnswer
        /// The work is done, the answer comes this much later.
        case delayAnswer(seconds: Double)
        /// The connection closes after this many bytes of the answer's body.
        case truncate(bytes: Int)
        /// `Content-Length` promises more than comes.
        case wrongLength
        /// The answer comes as the HTML page.
        case html
        case alter(Alteration)
        /// This much white space stands before the JSON.
        case whitespace(bytes: Int)
        /// The work is done, then 500.
        case errorAfterStore
        /// The work is done, then the 500 of the loser of a race (trap T19).
        case duplicateEntry
        /// The work is done, then this status.
        case statusAfter(Int)
        /// 413 of a proxy for bodies above this size.
        case limit(bytes: Int)
        /// The server loses the upload: 404.
        case forget
        /// The upload runs out of time: 410.
        case expire
    }

    var place: Place
    var effect: Effect
    /// How many requests it strikes; nil is all.
    var times: Int?
    /// It strikes only every so many requests.
    var every = 1
    /// So many requests go by before the first is counted.
    var skip = 0
    /// `Retry-After` of a status, in seconds.
    var retryAfter: Int?
}
