/// PhotoSync, and lists of clips with their albums.
extension OutcomeTable {
    static let photoCodes: [OutcomeCode] = [
        OutcomeCode(
            "not_logged_in",
            4,
            "no key is known for the server, or it refused e-mail address and password",
            "not logged in",
            hint: "run mediactl login, or give a key with --api-key-file FILE or MEDIACTL_API_KEY"
        ),
        OutcomeCode(
            "no_device",
            4,
            "this machine is not registered with the photo server",
            "this machine is no device of the server yet",
            hint: "run mediactl login, which makes it one"
        ),
        OutcomeCode(
            "invalid_device",
            4,
            "the server does not know this machine as a device of this user",
            "the server does not know this machine as a device of this user{status}{said}",
            hint: "it may have been removed there; run mediactl login again"
        ),
        OutcomeCode(
            "key_not_rotated",
            7,
            "a login by password could not save the new key; the old one still works",
            "the server could not give this user a new key{status}{said}",
            hint: "the old key goes on working: log in with it, without --email"
        ),
        OutcomeCode(
            "invalid_date",
            2,
            "a date that the server does not take",
            "{value} is no date that the server takes{said}"
        ),
        OutcomeCode("unknown_photo", 5, "the index has no photo with this id", "there is no such photo in the index"),
        OutcomeCode(
            "never_synchronized",
            5,
            "no complete index for this server yet",
            "nothing is known of this server's photos yet",
            hint: "run mediactl sync first"
        ),
        OutcomeCode(
            "body_too_slow",
            6,
            "the server stopped waiting for the body: it takes 30 seconds at most",
            "the server gave up waiting for the body{status}",
            hint: "it takes 30 seconds at most; use --jobs 1, raise --limit-rate, or a faster line",
            isRetryable: true
        ),
        OutcomeCode(
            "setup_required",
            7,
            "the server has not been set up yet",
            "the server has not been set up yet{status}"
        ),
        OutcomeCode(
            "stub_server",
            7,
            "the server lists no more than one page",
            "this server cannot list its photos page by page{said}",
            hint: "it runs without PostgreSQL; its operator must configure that"
        ),
        OutcomeCode(
            "listing_incomplete",
            7,
            "the listing breaks off or does not add up; nothing was recorded as complete",
            "the server's listing does not add up{said}",
            hint: "nothing was recorded as complete; run mediactl sync again later"
        ),
        OutcomeCode(
            "repeated_cursor",
            7,
            "the listing came back to a cursor it had given before",
            "the server's listing goes round in circles{said}",
            hint: "nothing was recorded as complete; ask its operator"
        ),
        OutcomeCode(
            "ownership_defect",
            7,
            "the server stores uploads without an owner, and deletes such photos by itself",
            """
            this server does not record who sends a photo: what was sent is not yours there, and it deletes such \
            photos on its own
            """,
            hint: "do not delete any local original; ask its operator for a PhotoSync server without this defect"
        ),
        OutcomeCode(
            "not_owned",
            10,
            "the server has the bytes and does not list them as this account's",
            "the server has {file}, but not as yours{said}",
            hint: "keep the local original; another user, or nobody, owns the photo there"
        ),
        OutcomeCode(
            "not_confirmed",
            6,
            "a photo was sent, and is not listed as the user's own",
            "the server does not list the photo yet{said}"
        ),
    ]

    static let tapeCodes: [OutcomeCode] = [
        OutcomeCode(
            "tape_not_found",
            5,
            "no tape has this title or id",
            "there is no tape {value}",
            hint: "mediactl tapes list shows them all"
        ),
        OutcomeCode("tape_ambiguous", 2, "several tapes may be meant", "{value} may be any of several tapes"),
        OutcomeCode(
            "clip_not_found",
            5,
            "the tape has no such clip, or several may be meant",
            "there is no clip {value} in the tape{said}",
            hint: "mediactl tapes show TAPE lists its clips; #1 is the first"
        ),
        OutcomeCode("title_empty", 2, "nothing is left of the title", "a title needs a character that can be seen"),
        OutcomeCode(
            "trim_too_long",
            2,
            "the trims leave nothing of the clip",
            "the trims leave nothing of the clip{said}"
        ),
        OutcomeCode(
            "not_for_this_kind",
            2,
            "the setting is for clips of another kind",
            "that is not for a clip of this kind{said}"
        ),
        OutcomeCode("out_of_range", 2, "a value outside its range", "{value} is out of range{said}"),
        OutcomeCode(
            "album_not_found",
            5,
            "the library has no album with this id",
            "there is no album {value} in the library{said}"
        ),
        OutcomeCode("albums_off", 2, "albums are switched off", hint: "set albums.enabled: true"),
        OutcomeCode(
            "library_unusable",
            4,
            "the library does not let the album be read or changed",
            "the library cannot be used{said}",
            hint: "mediactl tapes library status says what is missing"
        ),
        OutcomeCode(
            "album_taken",
            10,
            "the album belongs to another tape",
            "the album {value} belongs to another tape{said}",
            hint: "unlink it there first: mediactl tapes album unlink TAPE"
        ),
        OutcomeCode("quota_exceeded", 1, "the account of the library is full", "the account is full{said}"),
        OutcomeCode(
            "nothing_to_export",
            2,
            "no clip of the tape has a file, or the trims leave no picture",
            "there is nothing in the tape to export",
            hint: "mediactl tapes add TAPE FILE adds clips"
        ),
        OutcomeCode(
            "program_missing",
            2,
            "ffmpeg or ffprobe is not installed",
            "ffmpeg is needed to render a tape and is not installed{said}",
            hint: "install ffmpeg with ffprobe, or leave --render out: playlists and timelines need no program"
        ),
        OutcomeCode("render_failed", 1, "ffmpeg failed", "ffmpeg could not render the tape{said}"),
    ]
}
