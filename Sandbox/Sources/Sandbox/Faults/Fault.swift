import Synchronization

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
        /// PhotoSync's health, version, info and setup status.
        case photosHealth = "photos-health"
        case photosStatus = "photos-status"
        /// `POST /api/sync/photos`.
        case photosList = "photos-list"
        case photosCheck = "photos-check"
        case photosUpload = "photos-upload"
        case photosDownload = "photos-download"
        case photosThumbnail = "photos-thumbnail"
        case photosLegacy = "photos-legacy"
        case photosClaim = "photos-claim"
        /// `GET /api/photos` and `GET /api/photos/<id>`.
        case photosBrowse = "photos-browse"
        case photosDelete = "photos-delete"
        case devices
        case login
        /// All requests handled by PHP; in D4 those below `/files/` too.
        case php
        /// All requests below `/files/`.
        case tus
        /// `GET /api/v1/devices/challenge`.
        case challenge
        /// `POST /api/v1/devices/register`.
        case register
        /// `POST /api/v1/captures/hash-only`.
        case capture
        /// `POST /api/v1/captures`.
        case captureFull = "capture-full"
        /// Captures by id and by hash, the public page's data, the check of a file.
        case captureRead = "capture-read"

        /// Whether a fault of this place applies to a request of that one.
        func covers(_ place: Place, in dialect: Dialect) -> Bool {
            switch self {
            case .php:
                [.upload, .asset, .delete, .listing, .health, .finalize].contains(place) || place.isGuest
                    || (dialect == .d4 && (place.isTus || place == .media))
            case .tus: place.isTus
            default: self == place
            }
        }

        var isTus: Bool { rawValue.hasPrefix("tus-") }
        var isGuest: Bool { rawValue.hasPrefix("guest-") || self == .token }
        var isPhotoSync: Bool { rawValue.hasPrefix("photos-") || self == .devices || self == .login }
        var isCaptures: Bool { rawValue.hasPrefix("capture") || self == .challenge || self == .register }
        /// Whether PhotoSync's errors are JSON there and not bare sentences (photosync contract 0).
        var speaksJSON: Bool {
            [.photosHealth, .photosCheck, .photosUpload, .photosBrowse, .photosDelete].contains(self)
        }
    }

    /// A moment in the life of a request.
    enum Moment: Sendable, Equatable {
        /// This many body bytes were read.
        case bodyBytes(Int)
        /// The whole body was read, nothing was done with it.
        case wholeBody
        /// Status line and headers of the answer were sent; the work is done.
        case responseHeaders
        /// This many bytes of the answer's body were sent as well.
        case responseBytes(Int)
    }

    /// A change to the fields of a 2xx JSON answer.
    enum Alteration: String, Sendable, CaseIterable {
        case noToken = "no-token"
        case oddToken = "odd-token"
        case wrongTypes = "wrong-types"
        case corrupt
        case noChecksum = "no-checksum"
    }

    /// Something wrong with a page of PhotoSync's listing.
    enum ListFault: Sendable, Equatable {
        /// The cursor of the request comes back.
        case repeatedCursor
        /// The first page for ever, always with a new cursor.
        case endless
        /// No photos, but more to come.
        case emptyPage
        /// The cursor of the request leads nowhere, as if its photo were deleted.
        case expiredCursor
        /// A photo of the page is missing.
        case lostPhoto
        /// This is the total.
        case total(Int)
        /// File names that mean harm.
        case hostileNames
    }

    /// What happens.
    enum Effect: Sendable, Equatable {
        /// TCP reset.
        case reset(Moment)
        /// Silence; nil is for ever.
        case stall(Moment, seconds: Double?)
        /// The body is read at this many bytes a second.
        case slow(bytesPerSecond: Int)
        /// The answer's body is sent at this many bytes a second.
        case slowAnswer(bytesPerSecond: Int)
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
        /// This much white space precedes the JSON.
        case whitespace(bytes: Int)
        /// The work is done, then 500.
        case errorAfterStore
        /// The work is done, then the 500 of the loser of a race (trap T19).
        case duplicateEntry
        /// The work is done, then this status.
        case statusAfter(Int)
        /// 413 of a proxy for bodies above this size.
        case limit(bytes: Int)
        /// 413 of PHP for bodies above this size, its `post_max_size`.
        case postLimit(bytes: Int)
        /// 500 of PHP for files above this size, its `upload_max_filesize`.
        case fileLimit(bytes: Int)
        /// The upload loses a race.
        case collision(CollidingKey)
        /// The server loses the upload: 404.
        case forget
        /// The upload runs out of time: 410.
        case expire
        /// The body must be there after so many seconds, or 400 and the end of the connection.
        case bodyTimeout(seconds: Double)
        /// 307 to this address.
        case redirect(String)
        /// Another `Content-Type` than the body's.
        case contentType(String)
        /// JSON that goes on for so many bytes.
        case endlessJSON(bytes: Int)
        /// The first byte of a file goes out wrong.
        case corruptByte
        /// 200 with the whole file for a request of a part.
        case ignoreRange
        case list(ListFault)
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

    /// Why it cannot strike a server of this dialect; nil when it can.
    func refusal(in dialect: Dialect) -> String? {
        guard case .collision(let key) = effect else { return nil }
        if dialect >= .d3, key == .sequence { return "collision=sequence needs --dialect d1 or d2" }
        return dialect == .d4 && place == .finalize ? "finalize:collision needs --dialect d1, d2 or d3" : nil
    }
}

/// The faults in force, counted down as they strike.
final class FaultBook: Sendable {
    private struct State {
        var faults: [Counter]
        /// Of the requests that these faults strike.
        var hold = AnswerHold()
    }

    /// A fault with what it has seen so far.
    private struct Counter {
        let fault: Fault
        /// Requests of its place.
        private var seen = 0
        private var struck = 0

        init(_ fault: Fault) { self.fault = fault }

        var isSpent: Bool { fault.times.map { struck >= $0 } ?? false }

        /// Counts a request of its place; whether the fault strikes it.
        mutating func strikesNext() -> Bool {
            seen += 1
            // The last of every so many, once those to be skipped are by.
            let isItsTurn = seen > fault.skip && (seen - fault.skip).isMultiple(of: fault.every)
            guard isItsTurn, !isSpent else { return false }
            struck += 1
            return true
        }
    }

    private let state: Mutex<State>
    private let dialect: Dialect

    init(_ faults: [Fault], _ dialect: Dialect) {
        self.dialect = dialect
        state = Mutex(State(faults: faults.map(Counter.init)))
    }

    func add(_ more: [Fault]) {
        state.withLock { $0.faults += more.map(Counter.init) }
    }

    /// Removes all and lets the answers go that they hold back.
    func clear() {
        let old = state.withLock { state in
            defer { state = State(faults: []) }
            return state.hold
        }
        old.release()
    }

    /// The faults that strike one request; each counts it.
    func take(for place: Fault.Place) -> FaultPlan {
        state.withLock { state in
            var striking: [Fault] = []
            for index in state.faults.indices where state.faults[index].fault.place.covers(place, in: dialect) {
                if state.faults[index].strikesNext() { striking.append(state.faults[index].fault) }
            }
            state.faults.removeAll(where: \.isSpent)
            return FaultPlan(faults: striking, isOfBlockTus: dialect == .d4 && place.isTus, hold: state.hold)
        }
    }
}

/// `name` or `name=value`.
struct FaultSetting {
    var name: String
    var value: String

    init(_ text: Substring) {
        let pieces = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        name = pieces.first ?? ""
        value = pieces.count > 1 ? pieces[1] : ""
    }

    func count(in text: String, atLeast minimum: Int = 0) throws(FaultSyntaxError) -> Int {
        guard let number = Int(value), number >= minimum else {
            throw FaultSyntaxError(text, "\(name) needs a whole number")
        }
        return number
    }

    func seconds(in text: String) throws(FaultSyntaxError) -> Double {
        guard let number = Double(value), number.isFinite, number >= 0 else {
            throw FaultSyntaxError(text, "\(name) needs a number of seconds")
        }
        return number
    }

    func word(in text: String) throws(FaultSyntaxError) -> String {
        guard !value.isEmpty else { throw FaultSyntaxError(text, "\(name) needs a value") }
        return value
    }

    func status(in text: String) throws(FaultSyntaxError) -> Int {
        guard let code = Int(value), (200...599).contains(code) else {
            throw FaultSyntaxError(text, "\(name) needs a status from 200 to 599")
        }
        return code
    }
}

/// What may follow the fault's name.
struct FaultOptions {
    let text: String
    var times: Int?
    var moment = Fault.Moment.bodyBytes(0)
    var seconds: Double?
    var every = 1
    var skip = 0
    var retryAfter: Int?

    init(text: String) {
        self.text = text
    }

    mutating func read(_ setting: FaultSetting) throws(FaultSyntaxError) {
        switch setting.name {
        case "times": times = try setting.count(in: text, atLeast: 1)
        case "every": every = try setting.count(in: text, atLeast: 1)
        case "skip": skip = try setting.count(in: text)
        case "for": seconds = try setting.seconds(in: text)
        case "retry-after": retryAfter = try setting.count(in: text)
        case "after":
            switch setting.value {
            case "body": moment = .wholeBody
            case "response-headers": moment = .responseHeaders
            case let value where value.hasPrefix("response+"):
                guard let count = Int(value.dropFirst("response+".count)), count > 0 else {
                    throw FaultSyntaxError(text, "response+ needs a number from 1 on")
                }
                moment = .responseBytes(count)
            default: moment = .bodyBytes(try setting.count(in: text))
            }
        default: throw FaultSyntaxError(text, "unknown option \"\(setting.name)\"")
        }
    }
}
