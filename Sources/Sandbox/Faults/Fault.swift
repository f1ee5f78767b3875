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
    enum ListTrouble: Sendable, Equatable {
        /// The cursor of the request comes back.
        case repeatedCursor
        /// The first page for ever, always with a new cursor.
        case endless
        /// No photos, but more to come.
        case emptyPage
        /// The cursor of the request leads nowhere, as if its photo were deleted.
        case expiredCursor
        /// A photo of the page is left out.
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
        case list(ListTrouble)
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
