/// The language of `--fault` and of the control route.
///
///     <where>:<what>[=value][,option=value]…
///
/// See ``help`` for the words.
enum FaultSyntax {
    static func parse(_ text: String) throws(FaultSyntaxError) -> Fault {
        guard let colon = text.firstIndex(of: ":") else { throw FaultSyntaxError(text, "no \":\"") }
        guard let place = Fault.Place(rawValue: String(text[..<colon])) else {
            throw FaultSyntaxError(text, "unknown place \"\(text[..<colon])\"")
        }
        let settings = text[text.index(after: colon)...].split(separator: ",", omittingEmptySubsequences: false)
            .map(FaultSetting.init)
        var options = FaultOptions(text: text)
        for setting in settings.dropFirst() { try options.read(setting) }
        guard let what = settings.first else { throw FaultSyntaxError(text, "no fault named") }
        let effect = try effect(what, options)
        guard isPossible(effect, at: place) else {
            throw FaultSyntaxError(text, "\(what.name) cannot strike \(place.rawValue)")
        }
        return Fault(
            place: place,
            effect: effect,
            times: options.times,
            every: options.every,
            skip: options.skip,
            retryAfter: options.retryAfter
        )
    }

    private static func isPossible(_ effect: Fault.Effect, at place: Fault.Place) -> Bool {
        switch effect {
        case .forget: [.tusPatch, .tusHead, .tusDelete, .finalize].contains(place)
        case .expire: [.tusPatch, .tusHead, .tusDelete].contains(place)
        case .bodyTimeout: place == .photosUpload
        case .corruptByte, .ignoreRange: place == .photosDownload
        case .list: place == .photosList
        case .postLimit, .fileLimit: place == .upload
        case .collision: place == .upload || place == .finalize
        default: true
        }
    }

    private static func effect(_ what: FaultSetting, _ options: FaultOptions) throws(FaultSyntaxError) -> Fault.Effect {
        let text = options.text
        switch what.name {
        case "reset": return .reset(options.moment)
        case "stall": return .stall(options.moment, seconds: options.seconds)
        case "slow": return .slow(bytesPerSecond: try what.count(in: text, atLeast: 1))
        case "slow-answer": return .slowAnswer(bytesPerSecond: try what.count(in: text, atLeast: 1))
        case "early-status": return .earlyStatus(try what.status(in: text))
        case "status": return .status(try what.status(in: text))
        case "drop-answer": return .dropAnswer
        case "delay-answer": return .delayAnswer(seconds: try what.seconds(in: text))
        case "truncate": return .truncate(bytes: try what.count(in: text))
        case "wrong-length": return .wrongLength
        case "html": return .html
        case "whitespace": return .whitespace(bytes: try what.count(in: text))
        case "500-after-store": return .errorAfterStore
        case "1062": return .duplicateEntry
        case "status-after": return .statusAfter(try what.status(in: text))
        case "limit": return .limit(bytes: try what.count(in: text))
        case "post-limit": return .postLimit(bytes: try what.count(in: text))
        case "file-limit": return .fileLimit(bytes: try what.count(in: text))
        case "collision":
            guard let key = CollidingKey(rawValue: what.value) else {
                throw FaultSyntaxError(text, "collision requires event, sequence or checksum")
            }
            return .collision(key)
        case "forget": return .forget
        case "expire": return .expire
        case "body-timeout": return .bodyTimeout(seconds: try what.seconds(in: text))
        case "redirect": return .redirect(try what.word(in: text))
        case "content-type": return .contentType(try what.word(in: text))
        case "endless-json": return .endlessJSON(bytes: try what.count(in: text))
        case "corrupt-byte": return .corruptByte
        case "ignore-range": return .ignoreRange
        default:
            if let fault = try listFault(what, in: text) { return .list(fault) }
            guard let alteration = Fault.Alteration(rawValue: what.name) else {
                throw FaultSyntaxError(text, "unknown fault \"\(what.name)\"")
            }
            return .alter(alteration)
        }
    }
}

extension FaultSyntax {
    private static func listFault(
        _ what: FaultSetting,
        in text: String
    ) throws(FaultSyntaxError) -> Fault.ListFault? {
        switch what.name {
        case "repeated-cursor": .repeatedCursor
        case "endless": .endless
        case "empty-page": .emptyPage
        case "expired-cursor": .expiredCursor
        case "lost-photo": .lostPhoto
        case "total": .total(try what.count(in: text))
        case "hostile-names": .hostileNames
        default: nil
        }
    }
}

/// A fault that cannot be understood.
struct FaultSyntaxError: Error, Equatable, CustomStringConvertible {
    var description: String

    init(_ text: String, _ reason: String) {
        description = "cannot read fault \"\(text)\": \(reason)"
    }
}

extension FaultSyntax {
    /// For `--help`.
    static let help = """
        Faults: WHERE:WHAT[=VALUE][,OPTION]…
          WHERE  upload, asset, delete, listing, media, health,
                 tus-options, tus-create, tus-patch, tus-head, tus-delete, finalize,
                 token, guest-status, guest-delete,
                 php (all of these but tus; d4: tus and media too),
                 tus (all below /files/),
                 photos-health, photos-status, photos-list, photos-check,
                 photos-upload, photos-download, photos-thumbnail,
                 photos-legacy, photos-claim, photos-browse, photos-delete,
                 devices, login,
                 challenge, register, capture, capture-full, capture-read
          WHAT   reset                 TCP reset at MOMENT
                 stall                 silence at MOMENT, for SECONDS or for ever
                 slow=BYTES            read the body at BYTES a second
                 slow-answer=BYTES     send the answer at BYTES a second
                 early-status=CODE     answer before the body is read
                 status=CODE           answer after the whole body, do nothing
                 limit=BYTES           answer 413 to larger bodies, as a proxy does
                 file-limit=BYTES      PHP's 500 for larger files (upload)
                 post-limit=BYTES      PHP's 413 for larger forms (upload)
                 collision=KEY         lose a race: 500 "1062 Duplicate entry"
                                       (upload; finalize up to d3); KEY is
                                       event, sequence (d1, d2) or checksum
                 forget                the upload is gone: 404 (tus, finalize)
                 expire                the upload has expired: 410 (tus); d4: it is
                                       24 h old, and does not count as pending
                 drop-answer           do the work, close without an answer
                 delay-answer=SECONDS  do the work, answer late
                 status-after=CODE     do the work, answer CODE
                 500-after-store       do the work, answer 500
                 1062                  do the work, answer 500 "1062 Duplicate entry"
                 truncate=BYTES        close after BYTES of the answer's body
                 wrong-length          promise more bytes than are sent
                 html                  answer in the HTML page
                 whitespace=BYTES      white space before the JSON
                 no-token, odd-token, wrong-types, corrupt, no-checksum
                                       change the fields of a 2xx answer
                 body-timeout=SECONDS  a body not complete by then: 400, closed
                                       (photos-upload)
                 redirect=URL          answer 307
                 content-type=TYPE     name another type
                 endless-json=BYTES    JSON that does not end
                 corrupt-byte          a wrong byte in a file (photos-download)
                 ignore-range          200 for a range (photos-download)
                 repeated-cursor, endless, empty-page, expired-cursor,
                 lost-photo, total=N, hostile-names
                                       faults of a page (photos-list)
          OPTION after=MOMENT          a number of body bytes (default 0),
                                       body (all of it), response-headers,
                                       response+N (bytes of the answer's body)
                 for=SECONDS           how long a stall lasts
                 retry-after=SECONDS   Retry-After of a status
                 times=N               strike N requests only
                 every=N               strike each Nth request of that place only
                 skip=N                let N requests by before counting
        "tus-patch:status=503,every=100" and "tus-patch:reset,every=100,skip=50"
        cause 2 % of faults.

        Control, from loopback, below /__sandbox/:
          POST faults                  add one fault a line
          DELETE faults                clear them, let delayed answers go
          GET requests                 the requests seen: method, path, schemes
                                       of their credentials, bytes
          DELETE logins                make every login invalid (--auth bearer)
          GET uploads                  the tus uploads
          POST event-links             [TOKEN=]DATE,ORG,TYPE[,DAYS]: an event link
          DELETE event-links/TOKEN     revoke it
          POST guest-jobs/ID/approve   let an upload of a guest be seen
          POST guest-jobs/ID/reject    or not
        of PhotoSync, in JSON:
          GET photosync/photos         all rows
          POST photosync/photos        add a row: {"user":EMAIL, "device":ID,
                                       "uploadedAt":TIME, "dateTaken":TIME,
                                       "originalFilename":NAME, "storedPath":PATH,
                                       "fileHash":HEX, "fileSize":N,
                                       "content":TEXT}, all optional; only a
                                       content makes a file. Or many: {"count":N,
                                       "step":MICROSECONDS} with user, device and
                                       the times of the first
          PATCH photosync/photos/ID    change a row: the same names; "" for user
                                       or device removes it
          DELETE photosync/photos/ID   remove row and file
          POST photosync/photos/ID/file  damage the file, keep the row:
                                       {"action":"remove"}, "empty", "truncate"
                                       with "bytes":N, "swap" with "with":ID,
                                       "replace" with "base64":BYTES
          POST photosync/photos/ID/thumbnail  store its thumbnail:
                                       {"base64":BYTES}
          POST photosync/purge         remove up to 100 photos without an owner
          POST photosync/settle        rewrite now what waits to be rewritten
          POST photosync/outage        the database is down: 500 to every request,
                                       with {"text":TEXT} or {"json":ERROR}
          DELETE photosync/outage      it is up again
          PATCH photosync/users/EMAIL  {"isActive":BOOL, "apiKey":HEX}
        of captures, in JSON; bytes in base64:
          GET captures/records         what is stored, the request's body too
          GET captures/devices         levels, keys, counters
          GET captures/bodies          every body received, refused ones too
        """
}
