/// Hash-only captures, and what goes wrong on this machine.
extension OutcomeTable {
    static let captureCodes: [OutcomeCode] = [
        OutcomeCode(
            "depth_map_invalid",
            2,
            "the depth map cannot be read, or does not fit the capture",
            "cannot use {file} as a depth map{said}",
            hint: "raw maps need --depth-size WxH, maps in PNG need --depth-scale METRES"
        ),
        OutcomeCode(
            "depth_required",
            2,
            "there is no depth map, and --no-depth was not given",
            "without a depth map the server would record this capture as suspicious",
            hint: "add --depth FILE, or --no-depth if that is meant"
        ),
        OutcomeCode(
            "video_members_missing",
            2,
            "hash chain, frame count or duration of a video is missing",
            "a video needs what only its camera knows{said}",
            hint: "give --hash-chain HEX:LENGTH, --frame-count N and --duration-ms N"
        ),
        OutcomeCode(
            "settings_unusable",
            2,
            "the file of the privacy settings cannot be read",
            "the privacy settings {file} cannot be used{said}",
            hint: "nothing is sent before they are readable; repair the file, or delete it for the defaults"
        ),
        OutcomeCode(
            "privacy_mode_on",
            2,
            "the media was to be sent, and the privacy settings forbid that",
            "privacy mode is on, so that no media is sent",
            hint: "send only its hash, without --send-media; or: mediactl hash-only settings set privacy-mode off"
        ),
        OutcomeCode(
            "image_libraries_missing",
            2,
            "a depth map in PNG, in a build without the trait ImageLibraries",
            "this build of mediactl reads no PNG{said}",
            hint: "convert the depth map to NPY or PFM, or build with the trait ImageLibraries"
        ),
        OutcomeCode(
            "signing_failed",
            1,
            "the key or the signing program made no valid signature",
            "signing failed{said}",
            hint: "nothing is sent unsigned; check the key, or the program that signs"
        ),
        OutcomeCode(
            "key_unusable",
            2,
            "the key cannot be read, or is not the registered one",
            "the key cannot be used{said}",
            hint: """
                a key file is P-256 in PKCS#8, without a passphrase and with mode 0600; see mediactl hash-only \
                register --help
                """
        ),
        OutcomeCode(
            "counter_exhausted",
            1,
            "the signature counter of the device has no next value",
            "this device has no signature counter left{said}",
            hint: "mediactl hash-only register --replace makes a new device"
        ),
        OutcomeCode(
            "not_registered",
            4,
            "this machine is not registered with the capture server",
            "this machine is not registered",
            hint: "run mediactl hash-only register"
        ),
        OutcomeCode(
            "already_registered",
            10,
            "this machine, or its key, is registered already",
            "this machine, or this key, is registered already{said}",
            hint: "--replace makes a new device, with a new key; captures of the old one stay as they are"
        ),
        OutcomeCode(
            "enrolment_impossible",
            2,
            "the server takes no device of this platform or with this evidence",
            "this machine cannot be registered there{said}",
            hint: """
                a server with the profile mediactl-1 takes Linux; a key that was enrolled elsewhere is used with \
                --device-id UUID
                """
        ),
        OutcomeCode(
            "clock_wrong",
            4,
            "the server finds the time of the request too far from its own",
            "the server finds this machine's clock wrong{status}{said}"
        ),
        OutcomeCode(
            "assertion_refused",
            4,
            "the server does not accept the signature of the capture",
            "the server refuses the signature of the capture{status}{said}",
            hint: "check key and rp id with mediactl hash-only register --dry-run; the server does not say why"
        ),
        OutcomeCode(
            "request_signature_refused",
            4,
            "the server does not accept the signature of the request",
            "the server refuses the signature of the request{status}{said}",
            hint: "another program may be using the same device and its counter"
        ),
        OutcomeCode(
            "device_unknown",
            5,
            "the server does not know the device",
            "the server does not know this device{status}{said}",
            hint: "register again with mediactl hash-only register --replace"
        ),
        OutcomeCode(
            "device_unverified",
            4,
            "the server takes nothing from a device of this level",
            "the server takes no captures from a device of this level{status}{said}",
            hint: "ask its operator which levels it takes"
        ),
        OutcomeCode(
            "capture_not_found",
            5,
            "the server has no such capture",
            "the server does not have this capture{status}{said}",
            hint: "mediactl hash-only list shows what is kept here"
        ),
        OutcomeCode(
            "duplicate",
            10,
            "the server has this hash already, from another device or as another capture",
            "the server has these bytes from another device{status}{said}",
            hint: "a hash can be proven once; whoever came first has it"
        ),
        OutcomeCode(
            "capture_unknown",
            5,
            "no stored capture has this id or hash",
            "there is no one capture {value}{said}"
        ),
        OutcomeCode(
            "local_only",
            2,
            "a capture made before modes existed",
            "capture {value} is of before there were modes, and stays here until you say otherwise",
            hint: "add --as-hash-only to send its hash"
        ),
        OutcomeCode("not_signed", 10, "the capture was not signed yet", "the capture was not signed yet{said}"),
        OutcomeCode(
            "record_unusable",
            12,
            "the stored record is damaged",
            "the record of capture {value} is damaged{said}"
        ),
        OutcomeCode(
            "vault_unusable",
            12,
            "the vault or its key cannot be used; nothing in it was changed",
            "the vault cannot be used{said}",
            hint: "check its permissions, and its key; nothing in it was changed"
        ),
        OutcomeCode(
            "media_damaged",
            8,
            "a file of the vault is not what was sealed",
            "the copy in the vault is damaged{said}",
            hint: "it was changed, or belongs to another capture; the record itself is untouched"
        ),
        OutcomeCode(
            "media_missing",
            12,
            "the vault does not have the copy",
            "the vault has no such copy{said}",
            hint: "mediactl hash-only show ID says what is kept"
        ),
    ]

    static let localCodes: [OutcomeCode] = [
        OutcomeCode(
            "busy",
            10,
            "another process holds the index, the directory or the counter",
            "another mediactl holds it{said}",
            hint: "try again when it has ended",
            isRetryable: true
        ),
        OutcomeCode("cancelled", 130, "cancelled"),
        OutcomeCode("internal_error", 1, "a defect of mediactl", "internal error{said}"),
        OutcomeCode("usage", 2, "wrong usage"),
        OutcomeCode("invalid_setting", 2, "a setting with an invalid value, or an unknown one"),
        OutcomeCode("invalid_server", 2, "the server's address cannot be used"),
        OutcomeCode("no_server", 2, "no server is configured"),
        OutcomeCode("no_credentials", 4, "no user, password or key is configured"),
        OutcomeCode("invalid_manifest", 2, "the manifest has errors"),
        OutcomeCode("report_failed", 2, "the report cannot be written"),
        OutcomeCode("cannot_watch", 2, "the directory cannot be watched"),
        OutcomeCode("unknown_upload", 5, "no upload has this id"),
        OutcomeCode("output_failed", 1, "standard output cannot be written"),
        OutcomeCode("output_unusable", 2, "an output file cannot be created"),
        OutcomeCode("invalid_import", 2, "the import cannot be read"),
        OutcomeCode("interrupted", 130, "stopped by a signal"),
    ]
}
