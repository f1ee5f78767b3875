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
                                       trouble with a page (photos-list)
          OPTION after=MOMENT          a number of body bytes (default 0),
                                       body (all of it), response-headers,
                                       response+N (bytes of the answer's body)
                 for=SECONDS           how long a stall lasts
                 retry-after=SECONDS   Retry-After of a status
                 times=N               strike N requests only
                 every=N               strike each Nth request of that place only
                 skip=N                let N requests by before counting
        "tus-patch:status=503,every=100" and "tus-patch:reset,every=100,skip=50"
        make 2 % of trouble.

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
                                       or device takes them away
          DELETE photosync/photos/ID   remove row and file
          POST photosync/purge         remove up to 100 photos without an owner
          POST photosync/settle        rewrite now what waits to be rewritten
          PATCH photosync/users/EMAIL  {"isActive":BOOL, "apiKey":HEX}
        of captures, in JSON; bytes in base64:
          GET captures/records         what is stored, the request's body too
          GET captures/devices         levels, keys, counters
          GET captures/bodies          every body received, refused ones too
        """
}
