/// Files, uploads and their tokens.
// The meaning in a row is its documentation.
// swift-format-ignore: AllPublicDeclarationsHaveDocumentation
extension OutcomeCode {
    static let fileCodes: [OutcomeCode] = [
        .fileNotFound, .fileUnreadable, .isDirectory, .notRegularFile, .emptyFile, .fileTooLarge, .unknownExtension,
        .unknownMediaType, .sourceChanged, .checksumMismatch, .lengthMismatch, .targetUnusable, .targetExists,
        .diskFull, .storeUnusable,
    ]

    public static let fileNotFound = OutcomeCode(
        "file_not_found",
        2,
        "no such file",
        "cannot read {file}: no such file",
        hint: "check the spelling of the path"
    )
    public static let fileUnreadable = OutcomeCode(
        "file_unreadable",
        2,
        "the file cannot be opened or read",
        "cannot read {file}{said}"
    )
    public static let isDirectory = OutcomeCode(
        "is_directory",
        2,
        "it is a directory; only files are uploaded",
        "cannot upload {file}: it is a directory",
        hint: "specify the files in it, or add --recursive"
    )
    public static let notRegularFile = OutcomeCode(
        "not_regular_file",
        2,
        "it is a FIFO, a socket or a device",
        "cannot {use} {file}: it is not a regular file"
    )
    public static let emptyFile = OutcomeCode(
        "empty_file",
        2,
        "the file has no bytes",
        "cannot {use} {file}: it is empty"
    )
    public static let fileTooLarge = OutcomeCode(
        "file_too_large",
        2,
        "the file is larger than the limit",
        "cannot {use} {file}: it is larger than the limit"
    )
    public static let unknownExtension = OutcomeCode(
        "unknown_extension",
        2,
        "the server does not list the extension",
        "cannot {use} {file}: the server does not accept this file extension"
    )
    public static let unknownMediaType = OutcomeCode(
        "unknown_media_type",
        2,
        "neither a photo nor a video, or not of the specified type",
        "{file} is neither a photo nor a video{said}"
    )
    public static let sourceChanged = OutcomeCode(
        "source_changed",
        13,
        "the file was modified during the upload, or since its upload started",
        "{file} changed while it was being sent",
        hint: "send it again when no program is writing to it"
    )
    public static let checksumMismatch = OutcomeCode(
        "checksum_mismatch",
        8,
        "the SHA-256 of the stored copy differs from that of the source",
        "the hashes differ{said}"
    )
    public static let lengthMismatch = OutcomeCode(
        "length_mismatch",
        8,
        "more or fewer bytes than announced",
        "{file} has the wrong length{said}"
    )
    public static let targetUnusable = OutcomeCode(
        "target_unusable",
        2,
        "a file cannot be written there",
        "cannot write to {file}{said}"
    )
    public static let targetExists = OutcomeCode(
        "target_exists",
        10,
        "a file with that name already exists; it was not changed",
        "{file} already exists; it was not changed",
        hint: "choose another name"
    )
    public static let diskFull = OutcomeCode(
        "disk_full",
        12,
        "no space left for the vault, a download or an export",
        "no space left for {file}",
        hint: "free some space and run the same command again"
    )
    public static let storeUnusable = OutcomeCode(
        "store_unusable",
        12,
        "the local store cannot be used",
        "the local store cannot be used{said}",
        hint: "use another with --data-dir DIR"
    )

    static let uploadCodes: [OutcomeCode] = [
        .invalidDetail, .uploadInProgress, .tokenLost, .tokenNotStored, .invalidDeleteToken, .noDeleteToken, .idReused,
        .notDeleted, .otherFilesDeleted, .refusedDuplicate, .inOtherEvent, .notListed, .filterUnavailable,
        .alreadyHidden, .adminUnverified, .tusUnavailable, .uploadExpired, .notResumable, .invalidEventLink,
        .termsNotAccepted,
    ]

    public static let invalidDetail = OutcomeCode(
        "invalid_detail",
        2,
        "a detail violates a rule of the server",
        "cannot use {value}{said}"
    )
    public static let uploadInProgress = OutcomeCode(
        "upload_in_progress",
        10,
        "another process is uploading the same file",
        "{file} is being uploaded by another mediactl",
        hint: "wait for it to finish; check with: mediactl uploads status"
    )
    public static let tokenLost = OutcomeCode(
        "token_lost",
        11,
        "the file is on the server, but its delete token is lost",
        "the file is on the server, but its delete token is lost{said}",
        hint: "to have it deleted, contact the operator of the server"
    )
    public static let tokenNotStored = OutcomeCode(
        "token_not_stored",
        12,
        "the file is on the server, but its delete token is stored only in a rescue file",
        "the file is on the server, but its delete token could not be stored{said}"
    )
    public static let invalidDeleteToken = OutcomeCode(
        "invalid_delete_token",
        11,
        "the server rejects the delete token although it still has the file",
        "the server rejects the delete token of {id}",
        hint: "the local entry was kept; remove it with --on-invalid-token remove"
    )
    public static let noDeleteToken = OutcomeCode(
        "no_delete_token",
        11,
        "no delete token is stored for this ID and host",
        "no stored delete token for {id}",
        hint: "list the stored tokens with: mediactl uploads list"
    )
    public static let idReused = OutcomeCode(
        "id_reused",
        11,
        "the server now has another file under this ID; nothing was deleted",
        "the server has another file with the ID {id}; nothing was deleted{said}",
        hint: "remove all local entries of the server with: mediactl uploads clear --server URL"
    )
    public static let notDeleted = OutcomeCode(
        "not_deleted",
        7,
        "the server did not confirm the deletion",
        "the server did not delete {id}{said}",
        hint: "retry, or contact its operator"
    )
    public static let otherFilesDeleted = OutcomeCode(
        "other_files_deleted",
        7,
        "the server reports that it deleted other files than the requested one",
        "the server reports that it deleted other files than {id}{said}",
        hint: "mediactl media list shows what is still on the server"
    )
    public static let refusedDuplicate = OutcomeCode(
        "refused_duplicate",
        10,
        "the server has these bytes in another event and refused to add them to this one",
        "the server has the same bytes in another event and refused the file{said}"
    )
    public static let inOtherEvent = OutcomeCode(
        "in_other_event",
        10,
        "a file that was selected by its event, and that another event has as well"
    )
    public static let notListed = OutcomeCode(
        "not_listed",
        3,
        "the server does not list a file that an upload reported as stored",
        "the server does not list the file in its event"
    )
    public static let filterUnavailable = OutcomeCode(
        "filter_unavailable",
        2,
        "a filter by a value that this server does not report",
        "cannot filter by this{said}"
    )
    public static let alreadyHidden = OutcomeCode("already_hidden", 10, "the guest upload is already hidden")
    public static let adminUnverified = OutcomeCode(
        "admin_unverified",
        1,
        "a deletion without a token, and the file on the server cannot be verified; nothing was deleted",
        "cannot verify that {id} is still the same file; nothing was deleted{said}",
        hint: "delete it by its token, without --as-admin"
    )
    public static let tusUnavailable = OutcomeCode(
        "tus_unavailable",
        5,
        "the server does not support resumable uploads",
        "the server does not support resumable uploads{said}",
        hint: "use --transport multipart; an event link cannot be used there"
    )
    public static let uploadExpired = OutcomeCode(
        "upload_expired",
        5,
        "the resumable upload has expired on the server",
        "the resumable upload of {file} has expired on the server{said}",
        hint: "upload it again with: mediactl upload FILE",
        isRetryable: true
    )
    public static let notResumable = OutcomeCode(
        "not_resumable",
        10,
        "the upload is finished, belongs to another host, or its file no longer exists",
        "cannot resume {file}{said}"
    )
    public static let invalidEventLink = OutcomeCode(
        "invalid_event_link",
        4,
        "the event link is malformed, expired, revoked, or for another server",
        "the event link is not valid{said}",
        hint: "ask the organizer for a new one; links expire and can be revoked"
    )
    public static let termsNotAccepted = OutcomeCode(
        "terms_not_accepted",
        2,
        "the organizer requires the terms to be accepted",
        "the organizer's terms are not accepted",
        hint: "read them on the page of the event link, then add --accept-terms"
    )
}
