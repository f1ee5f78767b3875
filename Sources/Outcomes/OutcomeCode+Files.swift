/// Files, uploads and their tokens.
extension OutcomeCode {
    static let fileCodes: [OutcomeCode] = [
        .fileNotFound, .fileUnreadable, .isDirectory, .notRegularFile, .emptyFile, .fileTooLarge, .unknownExtension,
        .unknownMediaType, .sourceChanged, .checksumMismatch, .lengthMismatch, .targetUnusable, .targetExists,
        .diskFull, .storeUnusable,
    ]

    /// No such file.
    public static let fileNotFound = OutcomeCode("file_not_found", exit: 2)
        .message("cannot read {file}: no such file")
        .hint("check the spelling of the path")
    /// The file cannot be opened or read.
    public static let fileUnreadable = OutcomeCode("file_unreadable", exit: 2)
        .message("cannot read {file}{reason}")
    /// The path is a directory; only files are uploaded.
    public static let isDirectory = OutcomeCode("is_directory", exit: 2)
        .message("cannot upload {file}: it is a directory")
        .hint("specify the files in it, or add --recursive")
    /// The path is a FIFO, a socket or a device.
    public static let notRegularFile = OutcomeCode("not_regular_file", exit: 2)
        .message("cannot {use} {file}: it is not a regular file")
    /// The file has no bytes.
    public static let emptyFile = OutcomeCode("empty_file", exit: 2)
        .message("cannot {use} {file}: it is empty")
    /// The file is larger than the limit.
    public static let fileTooLarge = OutcomeCode("file_too_large", exit: 2)
        .message("cannot {use} {file}: it is larger than the limit")
    /// The server does not list the extension.
    public static let unknownExtension = OutcomeCode("unknown_extension", exit: 2)
        .message("cannot {use} {file}: the server does not accept this file extension")
    /// Neither a photo nor a video, or not of the specified type.
    public static let unknownMediaType = OutcomeCode("unknown_media_type", exit: 2)
        .message("{file} is neither a photo nor a video{detail}")
    /// The file was modified during the upload, or since its upload started.
    public static let sourceChanged = OutcomeCode("source_changed", exit: 13)
        .message("{file} changed while it was being sent")
        .hint("send it again when no program is writing to it")
    /// The SHA-256 of the stored copy differs from that of the source.
    public static let checksumMismatch = OutcomeCode("checksum_mismatch", exit: 8)
        .message("the hashes differ{detail}")
    /// The content has more or fewer bytes than announced.
    public static let lengthMismatch = OutcomeCode("length_mismatch", exit: 8)
        .message("{file} has the wrong length{detail}")
    /// The target cannot be written to.
    public static let targetUnusable = OutcomeCode("target_unusable", exit: 2)
        .message("cannot write to {file}{detail}")
    /// A file with that name already exists; it was not changed.
    public static let targetExists = OutcomeCode("target_exists", exit: 10)
        .message("{file} already exists; it was not changed")
        .hint("choose another name")
    /// No space left for the vault, a download or an export.
    public static let diskFull = OutcomeCode("disk_full", exit: 12)
        .message("no space left for {file}")
        .hint("free some space and run the same command again")
    /// The local store cannot be used.
    public static let storeUnusable = OutcomeCode("store_unusable", exit: 12)
        .message("the local store cannot be used{detail}")
        .hint("use a different one with --data-dir DIR")

    static let uploadCodes: [OutcomeCode] = [
        .invalidDetail, .uploadInProgress, .tokenLost, .tokenNotStored, .invalidDeleteToken, .noDeleteToken, .idReused,
        .notDeleted, .otherFilesDeleted, .refusedDuplicate, .inOtherEvent, .notListed, .filterUnavailable,
        .alreadyHidden, .adminUnverified, .tusUnavailable, .uploadExpired, .notResumable, .invalidEventLink,
        .termsNotAccepted,
    ]

    /// A detail violates one of the server's rules.
    public static let invalidDetail = OutcomeCode("invalid_detail", exit: 2)
    /// Another process is uploading the same file.
    public static let uploadInProgress = OutcomeCode("upload_in_progress", exit: 10)
        .message("{file} is being uploaded by another mediactl process")
        .hint("wait for it to finish; check with: mediactl uploads status")
    /// The file is on the server, but its delete token is lost.
    public static let tokenLost = OutcomeCode("token_lost", exit: 11)
    /// The file is on the server, but its delete token is stored only in a rescue file.
    public static let tokenNotStored = OutcomeCode("token_not_stored", exit: 12)
        .message("the file is on the server, but its delete token could not be stored{detail}")
    /// The server rejects the delete token although it still has the file.
    public static let invalidDeleteToken = OutcomeCode("invalid_delete_token", exit: 11)
        .message("the server rejects the delete token of {id}")
        .hint("the local entry was kept; remove it with --on-invalid-token remove")
    /// No delete token is stored for this ID and host.
    public static let noDeleteToken = OutcomeCode("no_delete_token", exit: 11)
        .message("no stored delete token for {id}")
        .hint("list the stored tokens with: mediactl uploads list")
    /// The server now has a different file under this ID; nothing was deleted.
    public static let idReused = OutcomeCode("id_reused", exit: 11)
        .message("the server has a different file with the ID {id}; nothing was deleted{detail}")
        .hint("remove all local entries of the server with: mediactl uploads clear --server URL")
    /// The server did not confirm the deletion.
    public static let notDeleted = OutcomeCode("not_deleted", exit: 7)
        .message("the server did not delete {id}{detail}")
        .hint("retry, or contact its operator")
    /// The server reports that it deleted files other than the requested one.
    public static let otherFilesDeleted = OutcomeCode("other_files_deleted", exit: 7)
        .message("the server reports that it deleted files other than {id}{detail}")
        .hint("mediactl media list shows what is still on the server")
    /// The server has these bytes, but not in this event, and refused to add them to it.
    public static let refusedDuplicate = OutcomeCode("refused_duplicate", exit: 10)
    /// The file was selected by its event, but is also in another event.
    public static let inOtherEvent = OutcomeCode("in_other_event", exit: 10)
    /// The server does not list a file that an upload reported as stored.
    public static let notListed = OutcomeCode("not_listed", exit: 3)
    /// The filter uses a value that this server does not report.
    public static let filterUnavailable = OutcomeCode("filter_unavailable", exit: 2)
    /// The guest upload is already hidden.
    public static let alreadyHidden = OutcomeCode("already_hidden", exit: 10)
    /// The file on the server cannot be verified before a deletion without a token; nothing was deleted.
    public static let adminUnverified = OutcomeCode("admin_unverified", exit: 1)
        .message("cannot verify that {id} is still the same file; nothing was deleted{detail}")
        .hint("delete it with its token, without --as-admin")
    /// The server does not support resumable uploads.
    public static let tusUnavailable = OutcomeCode("tus_unavailable", exit: 5)
        .message("the server does not support resumable uploads{detail}")
        .hint("use --transport multipart, which does not support event links")
    /// The resumable upload has expired on the server.
    public static let uploadExpired = OutcomeCode("upload_expired", exit: 5, isRetryable: true)
        .message("the resumable upload of {file} has expired on the server{detail}")
        .hint("upload it again with: mediactl upload FILE")
    /// The upload is finished or discarded, belongs to a different host, or its file no longer exists.
    public static let notResumable = OutcomeCode("not_resumable", exit: 10)
    /// The event link is unknown to the server, expired, revoked, or for a different server.
    public static let invalidEventLink = OutcomeCode("invalid_event_link", exit: 4)
        .message("the event link is not valid{detail}")
        .hint("ask the organizer for a new one; links expire and can be revoked")
    /// The organizer requires the terms to be accepted.
    public static let termsNotAccepted = OutcomeCode("terms_not_accepted", exit: 2)
        .message("the organizer's terms are not accepted")
        .hint("read them on the page of the event link, then add --accept-terms")
}
