/// The syntax of `--fault` and of the control route; ``help`` describes it.
enum FaultSyntax {
    static func parse(_ text: String) throws(FaultSyntaxError) -> Fault {
        guard let colon = text.firstIndex(of: ":") else { throw FaultSyntaxError(text, "no \":\"") }
        guard let place = Fault.Place(rawValue: String(text[..<colon])) else {
            throw FaultSyntaxError(text, "unknown place \"\(text[..<colon])\"")
        }
        let settings = text[text.index(after: colon)...].split(separator: ",", omittingEmptySubsequences: false)
            .map { Setting($0, of: text) }
        guard let what = settings.first, let kind = Fault.Kind(name: what.name) else {
            throw FaultSyntaxError(text, "unknown fault \"\(settings.first?.name ?? "")\"")
        }
        guard kind.places?.contains(place) ?? true else {
            throw FaultSyntaxError(text, "\(what.name) does not apply to \(place.rawValue)")
        }
        var fault = Fault(place: place, kind: kind)
        try what.read(into: &fault)
        for option in settings.dropFirst() { try option.readOption(into: &fault) }
        return fault
    }

    private struct Setting {
        let name: String
        let value: String
        let text: String

        init(_ setting: Substring, of text: String) {
            let pieces = setting.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            name = pieces.first ?? ""
            value = pieces.count > 1 ? pieces[1] : ""
            self.text = text
        }

        /// The value of the fault.
        func read(into fault: inout Fault) throws(FaultSyntaxError) {
            switch fault.kind {
            case .slow: fault.number = try count(atLeast: 1)
            case .truncate, .whitespace, .limit, .fileLimit, .postLimit, .endlessJSON, .total:
                fault.number = try count()
            case .delayResponse, .bodyTimeout: fault.seconds = try seconds()
            case .status, .earlyStatus, .statusAfter:
                guard let code = Int(value), (200...599).contains(code) else { throw error("a status from 200 to 599") }
                fault.number = code
            case .redirect, .contentType:
                guard !value.isEmpty else { throw error("a value") }
                fault.word = value
            default: break
            }
        }

        func readOption(into fault: inout Fault) throws(FaultSyntaxError) {
            switch name {
            case "times": fault.times = try count(atLeast: 1)
            case "every": fault.every = try count(atLeast: 1)
            case "skip": fault.skip = try count()
            case "for": fault.seconds = try seconds()
            case "retry-after": fault.retryAfter = try count()
            case "after": fault.moment = try moment()
            default: throw FaultSyntaxError(text, "unknown option \"\(name)\"")
            }
        }

        private func moment() throws(FaultSyntaxError) -> Fault.Moment {
            switch value {
            case "body": return .wholeBody
            case "response-headers": return .responseHeaders
            case _ where value.hasPrefix("response+"):
                guard let count = Int(value.dropFirst("response+".count)), count > 0 else {
                    throw error("a number, 1 or more")
                }
                return .responseBytes(count)
            default: return .bodyBytes(try count())
            }
        }

        private func count(atLeast minimum: Int = 0) throws(FaultSyntaxError) -> Int {
            guard let number = Int(value), number >= minimum else { throw error("a whole number") }
            return number
        }

        private func seconds() throws(FaultSyntaxError) -> Double {
            guard let number = Double(value), number.isFinite, number >= 0 else { throw error("a number of seconds") }
            return number
        }

        private func error(_ need: String) -> FaultSyntaxError { FaultSyntaxError(text, "\(name) requires \(need)") }
    }
}

struct FaultSyntaxError: Error, Equatable, CustomStringConvertible {
    var description: String

    init(_ text: String, _ reason: String) { description = "cannot read fault \"\(text)\": \(reason)" }
}

extension FaultSyntax {
    static let help = """
        Faults: WHERE:WHAT[=VALUE][,OPTION]…
          WHERE  upload, asset, delete, listing, media, health, finalize, token,
                 guest-status, guest-delete, devices, login, challenge, register,
                 capture, capture-full, capture-read,
                 tus-options, tus-create, tus-patch, tus-head, tus-delete, tus (all),
                 photos-health, -status, -list, -check, -upload, -download,
                 -thumbnail, -claim, -get, -delete,
                 php (GigHive without tus; d4: tus and media too)
          WHAT   reset, stall          TCP reset, or an endless stall, at MOMENT
                 slow=BYTES            read the body at BYTES per second
                 early-status=CODE     respond before the body is read
                 status=CODE           respond after the body, without processing
                 limit=BYTES           respond with 413 to larger bodies, as a proxy
                 file-limit=BYTES      PHP's 500 for larger files (upload)
                 post-limit=BYTES      PHP's 413 for larger forms (upload)
                 forget                the upload was removed: 404 (tus, finalize)
                 unwritable            the media cannot be stored: 500 (finalize without d4)
                 expire                the upload has expired: 410 (tus); d4: it is
                                       24 h old, and does not count as pending
                 drop-response           process, close without a response
                 delay-response=SECONDS  process, respond late
                 status-after=CODE, 500-after-store, 1062
                                       process, respond with CODE, 500, or 500
                                       "1062 Duplicate entry"
                 truncate=BYTES        close after BYTES of the response body
                 wrong-length          a Content-Length that is too large
                 html                  respond in HTML
                 whitespace=BYTES      white space before the JSON
                 no-token, odd-token, wrong-types, corrupt, no-checksum
                                       change the fields of a 2xx response
                 body-timeout=SECONDS  400 and close if the body is incomplete by then
                                       (photos-upload)
                 redirect=URL, content-type=TYPE, endless-json=BYTES
                                       307, another type, endless JSON
                 corrupt-byte, ignore-range
                                       a wrong byte, 200 for a range (photos-download)
                 repeated-cursor, endless, empty-page, expired-cursor,
                 lost-photo, total=N, hostile-names
                                       faults of a page (photos-list)
          OPTION after=MOMENT          a number of body bytes (default 0), body,
                                       response-headers, response+N (bytes)
                 for=SECONDS           duration of a stall
                 retry-after=SECONDS   Retry-After of a status
                 times=N, every=N, skip=N
                                       fail only N requests, every Nth, or none of
                                       the first N

        Control, from loopback, below /__sandbox/:
          POST faults                  add faults, one per line
          DELETE faults                clear them, send delayed responses
          GET requests                 the requests seen: method, path, schemes
                                       of their credentials, bytes
          DELETE logins                make every login invalid (--auth bearer)
          POST event-links             [TOKEN=]DATE,ORG,TYPE[,DAYS]: an event link
          DELETE event-links/TOKEN     revoke it
          POST guest-jobs/ID/approve   approve the upload of a guest
          POST guest-jobs/ID/reject    reject it
        For PhotoSync, in JSON:
          GET photosync/photos         all rows
          POST photosync/photos        add a row: {"user":EMAIL, "device":ID,
                                       "uploadedAt":TIME, "dateTaken":TIME,
                                       "originalFilename":NAME, "storedPath":PATH,
                                       "fileHash":HEX, "fileSize":N,
                                       "content":TEXT}, all optional; a file is
                                       created only with content. Or many rows:
                                       {"count":N, "step":MICROSECONDS} with user,
                                       device and the times of the first
          PATCH photosync/photos/ID    change a row: the same keys; "" for user
                                       or device removes it
          DELETE photosync/photos/ID   remove row and file
          POST photosync/photos/ID/file  damage the file, keep the row:
                                       {"action":"remove"}, "empty", "truncate"
                                       with "bytes":N, "swap" with "with":ID,
                                       "replace" with "base64":BYTES
          POST photosync/photos/ID/thumbnail  store its thumbnail:
                                       {"base64":BYTES}
          POST photosync/rewrite       rewrite pending photos now
          POST photosync/outage        a database outage: 500 to every request,
                                       with {"text":TEXT} or {"json":ERROR}
          DELETE photosync/outage      end it
          PATCH photosync/users/EMAIL  {"isActive":BOOL, "apiKey":HEX}
        For captures, in JSON, with bytes in base64:
          GET captures/records         stored captures, with the request body
          GET captures/devices         levels, keys, counters
          GET captures/bodies          all received bodies
        """
}
