/// Codes of hash-only captures and of local failures.
extension OutcomeCode {
    static let captureCodes: [OutcomeCode] = [
        .depthMapInvalid, .depthRequired, .timeZoneUnknown, .videoMembersMissing, .settingsUnusable,
        .privacyModeOn, .imageLibrariesMissing, .signingFailed, .keyUnusable, .tpmUnusable, .counterExhausted,
        .counterOutdated, .notRegistered, .alreadyRegistered, .enrolmentImpossible, .clockWrong, .assertionRefused,
        .requestSignatureRefused, .deviceUnknown, .deviceUnverified, .captureNotFound, .duplicate, .captureUnknown,
        .localOnly, .notSigned, .recordUnusable, .vaultUnusable, .mediaDamaged, .mediaMissing,
    ]

    /// The depth map cannot be read, or does not fit the capture.
    public static let depthMapInvalid = OutcomeCode("depth_map_invalid", exit: 2)
        .message("cannot use {file} as a depth map{detail}")
        .hint("raw depth maps require --depth-size WxH; PNG depth maps require --depth-scale METERS")
    /// A depth map or --no-depth is required.
    public static let depthRequired = OutcomeCode("depth_required", exit: 2)
        .message("no depth map was specified; nothing was sent")
        .hint("add --depth FILE, or --no-depth to submit without one")
    /// The exact time was requested, but the file's time has no time zone.
    public static let timeZoneUnknown = OutcomeCode("time_zone_unknown", exit: 2)
        .message("not submitted: the time of {file} has no time zone")
        .hint("add --utc-offset +02:00 or --captured-at TIME, or submit only the day with --timestamp-level day-only")
    /// The hash chain, frame count or duration of a video is missing.
    public static let videoMembersMissing = OutcomeCode("video_members_missing", exit: 2)
        .message("a video requires --hash-chain, --frame-count and --duration-ms{detail}")
        .hint("specify --hash-chain HEX:LENGTH, --frame-count N and --duration-ms N")
    /// The privacy settings file cannot be read.
    public static let settingsUnusable = OutcomeCode("settings_unusable", exit: 2)
        .message("the privacy settings {file} cannot be used{detail}")
        .hint("nothing is sent until they can be read; repair the file, or delete it to use the defaults")
    /// --send-media was specified, but the privacy settings forbid it.
    public static let privacyModeOn = OutcomeCode("privacy_mode_on", exit: 2)
        .message("privacy mode is on: media must not be sent")
        .hint("send only its hash, without --send-media; or: mediactl hash-only settings set privacy-mode off")
    /// The depth map is in PNG, which a build without the trait ImageLibraries cannot read.
    public static let imageLibrariesMissing = OutcomeCode("image_libraries_missing", exit: 2)
        .message("this build of mediactl cannot read PNG{detail}")
        .hint("convert the depth map to NPY or PFM, or build with the trait ImageLibraries")
    /// The key or the signing program did not produce a valid signature.
    public static let signingFailed = OutcomeCode("signing_failed", exit: 1)
        .message("signing failed{detail}")
        .hint("nothing is sent unsigned; check the key, or the program that signs")
    /// The key cannot be read, or is not the registered one.
    public static let keyUnusable = OutcomeCode("key_unusable", exit: 2)
        .message("the key cannot be used{path}{detail}")
        .hint(
            """
            a key file is P-256 in PKCS#8, without a passphrase and with mode 0600; see mediactl hash-only \
            register --help
            """
        )
    /// The TPM or tpm2-tools do not support an operation that the registration requires.
    public static let tpmUnusable = OutcomeCode("tpm_unusable", exit: 2)
        .message("the TPM cannot be used{detail}")
        .hint(
            """
            install tpm2-tools and tpm2-openssl; /dev/tpmrm0 requires the group tss; TPM2TOOLS_TCTI and \
            TPM2OPENSSL_TCTI select another TPM
            """
        )
    /// The signature counter of the device has no next value.
    public static let counterExhausted = OutcomeCode("counter_exhausted", exit: 1)
        .message("this device has no signature counter left{detail}")
        .hint("register a new device with: mediactl hash-only register --replace")
    /// The signature counter is behind: the data directory was restored from a backup or copied to another machine.
    public static let counterOutdated = OutcomeCode("counter_outdated", exit: 4)
        .message(
            "the signature counter of this device was already used: it was restored from a backup, or copied{status}{detail}"
        )
        .hint("continue as a new device: mediactl hash-only register --replace, then mediactl hash-only retry --all")
    /// This machine is not registered with the capture server.
    public static let notRegistered = OutcomeCode("not_registered", exit: 4)
        .message("this machine is not registered")
        .hint("run mediactl hash-only register")
    /// This machine, or its key, is already registered.
    public static let alreadyRegistered = OutcomeCode("already_registered", exit: 10)
        .message("this machine or its key is already registered{detail}")
        .hint("--replace registers a new device with a new key; existing captures are not changed")
    /// The server does not accept devices of this platform or with this evidence.
    public static let enrolmentImpossible = OutcomeCode("enrolment_impossible", exit: 2)
        .message("this machine cannot be registered with the server{detail}")
        .hint(
            """
            servers with the profile mediactl-1 accept Linux; to use a key that was enrolled elsewhere, add \
            --device-id UUID
            """
        )
    /// Clock skew: the server rejected the timestamp of the request.
    public static let clockWrong = OutcomeCode("clock_wrong", exit: 4)
        .message("clock skew: the server rejected the timestamp{status}{detail}")
    /// The server does not accept the signature of the capture.
    public static let assertionRefused = OutcomeCode("assertion_refused", exit: 4)
        .message("the server refuses the signature of the capture{status}{detail}")
        .hint("check the key and the RP ID with mediactl hash-only register --dry-run; the server gives no reason")
    /// The server does not accept the signature of the request.
    public static let requestSignatureRefused = OutcomeCode("request_signature_refused", exit: 4)
        .message("the server refuses the signature of the request{status}{detail}")
        .hint("another program may be using the same device and signature counter")
    /// The device is not registered with the server.
    public static let deviceUnknown = OutcomeCode("device_unknown", exit: 5)
        .message("this device is not registered with the server{status}{detail}")
        .hint("register again with: mediactl hash-only register --replace")
    /// The server does not accept captures from a device of this level.
    public static let deviceUnverified = OutcomeCode("device_unverified", exit: 4)
        .message("the server does not accept captures from a device of this level{status}{detail}")
        .hint("ask its operator which levels it accepts")
    /// The server has no such capture.
    public static let captureNotFound = OutcomeCode("capture_not_found", exit: 5)
        .message("the server does not have this capture{status}{detail}")
        .hint("list the stored captures with: mediactl hash-only list")
    /// The server already has this hash, from another device or as a different capture.
    public static let duplicate = OutcomeCode("duplicate", exit: 10)
        .message("the server already has this media{status}{detail}")
        .hint("a server stores one capture per file: the first that was submitted, with or without the media")
    /// No stored capture has this ID or hash.
    public static let captureUnknown = OutcomeCode("capture_unknown", exit: 5)
        .message("no unique capture matches {value}{detail}")
        .hint("mediactl hash-only list shows the IDs; a unique prefix is enough")
    /// The capture is submitted only on explicit request: it was made before modes existed, or is an upload of the media.
    public static let localOnly = OutcomeCode("local_only", exit: 2)
        .message("capture {value} is not submitted by retry{detail}")
        .hint("add --as-hash-only to submit its hash")
    /// The capture is not signed yet.
    public static let notSigned = OutcomeCode("not_signed", exit: 10)
        .message("the capture is not signed yet{detail}")
    /// The stored record is damaged.
    public static let recordUnusable = OutcomeCode("record_unusable", exit: 12)
    /// The vault or its key cannot be used; nothing in it was changed.
    public static let vaultUnusable = OutcomeCode("vault_unusable", exit: 12)
        .message("the vault cannot be used{path}{detail}")
        .hint("check its permissions, and its key; nothing in it was changed")
    /// A file in the vault was modified.
    public static let mediaDamaged = OutcomeCode("media_damaged", exit: 8)
        .message("the copy in the vault is damaged{path}{detail}")
        .hint("it was modified, or belongs to another capture; the record itself is intact")
    /// The vault does not have the copy.
    public static let mediaMissing = OutcomeCode("media_missing", exit: 12)
        .message("the vault does not have the copy{path}{detail}")
        .hint("restore it from a backup of the data directory; the record itself is intact")

    static let localCodes: [OutcomeCode] = [
        .busy, .cancelled, .internalError, .resourcesExhausted, .usage, .invalidSetting, .invalidServer, .noServer,
        .noCredentials, .invalidManifest, .reportFailed, .cannotWatch, .unknownUpload, .outputFailed, .outputUnusable,
        .invalidImport, .interrupted, .unknownResponse, .noTokenFound, .tokenInUse, .tokenRemoved,
    ]

    /// Another process is using the index, the directory or the counter.
    public static let busy = OutcomeCode("busy", exit: 10, isRetryable: true)
        .message("another mediactl process is using it{detail}")
        .hint("retry when it has finished")
    /// Canceled.
    public static let cancelled = OutcomeCode("cancelled", exit: 130)
        .message("canceled")
    /// A bug in mediactl.
    public static let internalError = OutcomeCode("internal_error", exit: 1)
        .message("internal error{detail}")
    /// Not enough threads or file descriptors to run.
    public static let resourcesExhausted = OutcomeCode("resources_exhausted", exit: 1)
    /// Usage error.
    public static let usage = OutcomeCode("usage", exit: 2)
    /// A setting is unknown, or has an invalid value.
    public static let invalidSetting = OutcomeCode("invalid_setting", exit: 2)
    /// The server's address cannot be used.
    public static let invalidServer = OutcomeCode("invalid_server", exit: 2)
        .message("the server's address cannot be used")
    /// No server is configured.
    public static let noServer = OutcomeCode("no_server", exit: 2)
    /// No user, password or key is configured.
    public static let noCredentials = OutcomeCode("no_credentials", exit: 4)
        .message("no user, password or key is configured")
    /// The manifest has errors.
    public static let invalidManifest = OutcomeCode("invalid_manifest", exit: 2)
    /// The report cannot be written.
    public static let reportFailed = OutcomeCode("report_failed", exit: 2)
    /// The directory cannot be watched.
    public static let cannotWatch = OutcomeCode("cannot_watch", exit: 2)
    /// No upload has this ID.
    public static let unknownUpload = OutcomeCode("unknown_upload", exit: 5)
    /// Standard output cannot be written.
    public static let outputFailed = OutcomeCode("output_failed", exit: 1)
    /// An output file cannot be created.
    public static let outputUnusable = OutcomeCode("output_unusable", exit: 2)
    /// The import cannot be read.
    public static let invalidImport = OutcomeCode("invalid_import", exit: 2)
    /// Stopped by a signal.
    public static let interrupted = OutcomeCode("interrupted", exit: 130)
    /// No kept response has this ID.
    public static let unknownResponse = OutcomeCode("unknown_response", exit: 5)
    /// The response does not contain a delete token, or contains more than one.
    public static let noTokenFound = OutcomeCode("no_token_found", exit: 11)
    /// Another file on the same host has this delete token.
    public static let tokenInUse = OutcomeCode("token_in_use", exit: 10)
    /// The entry with this delete token was removed on this machine.
    public static let tokenRemoved = OutcomeCode("token_removed", exit: 10)
}
