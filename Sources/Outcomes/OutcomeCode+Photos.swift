/// Codes of PhotoSync and of tapes with their albums.
extension OutcomeCode {
    static let photoCodes: [OutcomeCode] = [
        .notLoggedIn, .noDevice, .invalidDevice, .keyNotRotated, .invalidDate, .unknownPhoto, .neverSynchronized,
        .bodyTooSlow, .setupRequired, .stubServer, .listingIncomplete, .repeatedCursor, .ownershipDefect, .notOwned,
        .notConfirmed, .changedSinceUpload, .photoNotDeleted, .wrongPhoto, .unverifiedPhoto, .undeliverable,
        .thumbnailUnavailable,
    ]

    /// No API key is stored for the server, or it rejected the email address and password.
    public static let notLoggedIn = OutcomeCode("not_logged_in", exit: 4)
        .message("not logged in")
        .hint("run mediactl login, or set a key with --api-key-file FILE or MEDIACTL_API_KEY")
    /// This machine is not registered with the photo server.
    public static let noDevice = OutcomeCode("no_device", exit: 4)
        .message("this machine is not registered with the server")
        .hint("register it with: mediactl login")
    /// This machine is not a registered device of this user.
    public static let invalidDevice = OutcomeCode("invalid_device", exit: 4)
        .message("this machine is not a registered device of this user{status}{detail}")
        .hint("it may have been removed on the server; register it again with: mediactl login")
    /// The server could not save a new key at a login with a password; the old key still works.
    public static let keyNotRotated = OutcomeCode("key_not_rotated", exit: 7)
        .message("the server could not issue a new key for this user{status}{detail}")
        .hint("the old key still works: log in with it, without --email")
    /// The server does not accept the date.
    public static let invalidDate = OutcomeCode("invalid_date", exit: 2)
    /// The index has no photo with this ID.
    public static let unknownPhoto = OutcomeCode("unknown_photo", exit: 5)
        .message("{id} is not in the index")
        .hint("mediactl sync list shows the IDs; mediactl sync --full updates the index")
    /// No complete index for this server yet.
    public static let neverSynchronized = OutcomeCode("never_synchronized", exit: 5)
        .message("no index for this server yet")
        .hint("create it with: mediactl sync")
    /// The server timed out reading the request body: it waits at most 30 seconds.
    public static let bodyTooSlow = OutcomeCode("body_too_slow", exit: 6, isRetryable: true)
        .message("the server timed out reading the request body{status}")
        .hint("it waits at most 30 seconds; use --jobs 1, raise --limit-rate, or use a faster connection")
    /// The server has not been set up yet.
    public static let setupRequired = OutcomeCode("setup_required", exit: 7)
        .message("the server has not been set up yet{status}")
    /// The server lists only one page of photos.
    public static let stubServer = OutcomeCode("stub_server", exit: 7)
        .message("this server cannot list its photos page by page{detail}")
        .hint("it runs without PostgreSQL; its operator must configure a database")
    /// Incomplete listing: fewer photos than the server reports; nothing was recorded as complete.
    public static let listingIncomplete = OutcomeCode("listing_incomplete", exit: 7)
        .message("incomplete listing: fewer photos than the server reports{detail}")
        .hint("nothing was recorded as complete; run mediactl sync again later")
    /// Pagination loop: the server repeated a cursor.
    public static let repeatedCursor = OutcomeCode("repeated_cursor", exit: 7)
        .message("pagination loop: the server repeated a cursor{detail}")
        .hint("nothing was recorded as complete; contact its operator")
    /// The server stores uploads without an owner, and deletes such photos on its own.
    public static let ownershipDefect = OutcomeCode("ownership_defect", exit: 7)
        .message("this server does not record the owner of uploaded photos, and deletes photos without an owner")
        .hint("do not delete any local original; ask its operator for a PhotoSync server without this defect")
    /// The server has the photo, but does not list it as owned by this account.
    public static let notOwned = OutcomeCode("not_owned", exit: 10)
        .message("the server has {file}, but does not list it as yours{detail}")
        .hint("keep the local original; the photo on the server has another owner, or none")
    /// A photo was uploaded, but is not listed as owned by this account.
    public static let notConfirmed = OutcomeCode("not_confirmed", exit: 6)
        .message("the server does not list the photo yet{detail}")

    /// A file changed since it was uploaded or downloaded; it was not uploaded as a new photo.
    public static let changedSinceUpload = OutcomeCode("changed_since_upload", exit: 13)
        .message("{file} changed since upload: edited or damaged?")
        .hint("compare it with the photo on the server; --changed uploads it as a new photo")
    /// The photo is on the server, so there is no deletion to accept.
    public static let photoNotDeleted = OutcomeCode("photo_not_deleted", exit: 10)
        .message("{value} was not deleted on the server")
        .hint("mediactl sync --full updates the index")
    /// A downloaded file contains the ID of a different photo.
    public static let wrongPhoto = OutcomeCode("wrong_photo", exit: 8)
        .message("the server sent a different photo instead of {id}{detail}")
        .hint("nothing was stored; to check all photos on the server: mediactl sync verify --server-content")
    /// A downloaded file could not be verified; it is stored under a name that ends in .unverified.
    public static let unverifiedPhoto = OutcomeCode("unverified_photo", exit: 8)
        .message("{id} cannot be verified{detail}; stored as {file}")
        .hint("keep any other copy; to check all photos on the server: mediactl sync verify --server-content")
    /// The server lists the photo, but does not have its file.
    public static let undeliverable = OutcomeCode("photo_undeliverable", exit: 5)
        .message("the server lists {id}, but does not have its file{detail}")
        .hint("keep any local copy; to upload it again from a local original: mediactl sync repair")
    /// The server has no thumbnail for a photo that was specified by its ID.
    public static let thumbnailUnavailable = OutcomeCode("thumbnail_unavailable", exit: 5)
        .message("the server has no thumbnail of {id}")
        .hint("download the photo itself: omit --thumbnails")

    static let tapeCodes: [OutcomeCode] = [
        .tapeNotFound, .tapeAmbiguous, .clipNotFound, .titleEmpty, .trimTooLong, .notForThisKind, .outOfRange,
        .albumNotFound, .albumsOff, .libraryUnusable, .albumTaken, .quotaExceeded, .nothingToExport, .programMissing,
        .renderFailed, .clipUndecodable,
    ]

    /// No tape has this title or ID.
    public static let tapeNotFound = OutcomeCode("tape_not_found", exit: 5)
        .message("no such tape: {value}")
        .hint("list the tapes with: mediactl tapes list")
    /// Several tapes match.
    public static let tapeAmbiguous = OutcomeCode("tape_ambiguous", exit: 2)
    /// The tape has no such clip, or several match.
    public static let clipNotFound = OutcomeCode("clip_not_found", exit: 5)
        .message("no such clip in the tape: {value}{detail}")
        .hint("mediactl tapes show TAPE lists its clips; #1 is the first")
    /// The title is empty.
    public static let titleEmpty = OutcomeCode("title_empty", exit: 2)
        .message("a title must contain a visible character")
    /// The trim range exceeds the clip's length.
    public static let trimTooLong = OutcomeCode("trim_too_long", exit: 2)
        .message("the trim range exceeds the clip's length{detail}")
    /// The setting is for clips of a different kind.
    public static let notForThisKind = OutcomeCode("not_for_this_kind", exit: 2)
        .message("not applicable to a clip of this kind{detail}")
    /// The value is out of range.
    public static let outOfRange = OutcomeCode("out_of_range", exit: 2)
        .message("{value} is out of range{detail}")
    /// The library has no album with this ID.
    public static let albumNotFound = OutcomeCode("album_not_found", exit: 5)
        .message("no such album in the library: {value}{detail}")
    /// Albums are disabled.
    public static let albumsOff = OutcomeCode("albums_off", exit: 2)
        .message("albums are disabled")
        .hint("set albums.enabled: true")
    /// The library does not allow the album to be read or changed.
    public static let libraryUnusable = OutcomeCode("library_unusable", exit: 4)
        .message("the library cannot be used{detail}")
        .hint("mediactl tapes library status shows what is missing")
    /// The album belongs to another tape.
    public static let albumTaken = OutcomeCode("album_taken", exit: 10)
        .message("the album {value} belongs to another tape{detail}")
        .hint("unlink it there first: mediactl tapes album unlink TAPE")
    /// The library's account is full.
    public static let quotaExceeded = OutcomeCode("quota_exceeded", exit: 1)
        .message("the account is full{detail}")
    /// No clip of the tape has a file, or nothing is left after trimming.
    public static let nothingToExport = OutcomeCode("nothing_to_export", exit: 2)
        .message("the tape is empty")
        .hint("mediactl tapes add TAPE FILE adds clips")
    /// The program ffmpeg or ffprobe is not installed.
    public static let programMissing = OutcomeCode("program_missing", exit: 2)
        .message("ffmpeg is required to render a tape and is not installed{detail}")
        .hint("install ffmpeg and ffprobe, or omit --render: playlists and timelines do not need them")
    /// The program ffmpeg failed.
    public static let renderFailed = OutcomeCode("render_failed", exit: 1)
        .message("ffmpeg could not render the tape{detail}")
    /// The installed ffmpeg cannot decode a clip of the tape; nothing was rendered.
    public static let clipUndecodable = OutcomeCode("clip_undecodable", exit: 2)
        .message("ffmpeg cannot decode {file}{detail}")
        .hint("convert the file to a format that ffmpeg can decode, or remove the clip")
}
