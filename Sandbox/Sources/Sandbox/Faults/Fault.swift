import Synchronization

/// An injected fault.
struct Fault: Sendable, Equatable {
    enum Place: String, Sendable, CaseIterable {
        case upload, asset, delete, listing, media, health, finalize, token, devices, login
        case tusCreate = "tus-create", tusPatch = "tus-patch", tusHead = "tus-head", tusDelete = "tus-delete"
        case tusOptions = "tus-options", guestStatus = "guest-status", guestDelete = "guest-delete"
        case photosHealth = "photos-health", photosStatus = "photos-status", photosList = "photos-list"
        case photosCheck = "photos-check", photosUpload = "photos-upload", photosDownload = "photos-download"
        case photosThumbnail = "photos-thumbnail", photosClaim = "photos-claim", photosGet = "photos-get"
        case photosDelete = "photos-delete"
        case challenge, register, capture, captureFull = "capture-full", captureRead = "capture-read"
        /// `php`: all requests to PHP (in D4 also those below `/files/`); `tus`: all requests below `/files/`.
        case php, tus

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
        /// Whether PhotoSync sends the errors of this place as JSON, not as plain text (photosync contract 0).
        var sendsJSON: Bool {
            [.photosHealth, .photosCheck, .photosUpload, .photosGet, .photosDelete].contains(self)
        }
    }

    /// ``FaultSyntax/help`` describes each.
    enum Kind: String, Sendable, CaseIterable {
        case reset, stall, slow, status, truncate, html, whitespace, limit, forget, expire, redirect
        case unwritable
        case earlyStatus = "early-status", statusAfter = "status-after", errorAfterStore = "500-after-store"
        case duplicateEntry = "1062", dropResponse = "drop-response", delayResponse = "delay-response"
        case wrongLength = "wrong-length", contentType = "content-type", endlessJSON = "endless-json"
        case fileLimit = "file-limit", postLimit = "post-limit", bodyTimeout = "body-timeout", corruptByte =
            "corrupt-byte", ignoreRange = "ignore-range"
        // Changes to the fields of a 2xx JSON response.
        case noToken = "no-token", oddToken = "odd-token", wrongTypes = "wrong-types", noChecksum = "no-checksum",
            corrupt
        // A page of PhotoSync's listing.
        case repeatedCursor = "repeated-cursor", emptyPage = "empty-page", expiredCursor = "expired-cursor"
        case lostPhoto = "lost-photo", hostileNames = "hostile-names", endless, total

        /// Also reads the names of release 0.1.0.
        init?(name: String) {
            switch name {
            case "drop-answer": self = .dropResponse
            case "delay-answer": self = .delayResponse
            default: self.init(rawValue: name)
            }
        }

        /// The places where this kind applies; nil for all.
        var places: [Place]? {
            switch self {
            case .forget: [.tusPatch, .tusHead, .tusDelete, .finalize]
            case .unwritable: [.finalize]
            case .expire: [.tusPatch, .tusHead, .tusDelete]
            case .corruptByte, .ignoreRange: [.photosDownload]
            case .fileLimit, .postLimit: [.upload]
            case .bodyTimeout: [.photosUpload]
            case .repeatedCursor, .emptyPage, .expiredCursor, .lostPhoto, .hostileNames, .endless, .total: [.photosList]
            default: nil
            }
        }
    }

    enum Moment: Sendable, Equatable {
        /// After this many bytes of the body.
        case bodyBytes(Int)
        /// After the body, before the request is processed.
        case wholeBody
        /// After the request was processed and the response headers were sent.
        case responseHeaders
        /// After this many bytes of the body of the response.
        case responseBytes(Int)
    }

    var place: Place
    var kind: Kind
    /// A status, or a number of bytes or photos.
    var number = 0
    /// The duration; nil for an endless stall.
    var seconds: Double?
    /// An address, or a media type.
    var word = ""
    var moment = Moment.bodyBytes(0)
    /// How many requests fail; nil for all.
    var times: Int?
    /// Only every nth request fails.
    var every = 1
    /// Number of requests before the first one that is counted.
    var skip = 0
    var retryAfter: Int?
}

/// The active faults.
final class FaultBook: Sendable {
    private struct State {
        var faults: [Counter]
        var hold = Waits()
    }

    private struct Counter {
        let fault: Fault
        private var seen = 0
        private var struck = 0

        init(_ fault: Fault) { self.fault = fault }

        var isSpent: Bool { fault.times.map { struck >= $0 } ?? false }

        /// Counts a request, and returns whether the fault applies to it.
        mutating func strikesNext() -> Bool {
            seen += 1
            let isDue = seen > fault.skip && (seen - fault.skip).isMultiple(of: fault.every)
            guard isDue, !isSpent else { return false }
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

    func add(_ more: [Fault]) { state.withLock { $0.faults += more.map(Counter.init) } }

    /// Removes all faults, and sends the delayed responses.
    func clear() {
        let old = state.withLock { state in
            defer { state = State(faults: []) }
            return state.hold
        }
        old.end()
    }

    /// Returns the faults that apply to one request; every fault for its place counts the request.
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
