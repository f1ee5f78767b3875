internal import CaptureSubmission
internal import Foundation
internal import MediaFiles
internal import MediaStore
internal import MediaTransport

extension ErrorCatalogue {
    /// Message, hint and exit code of what a capture server, or the checks around it, said.
    static func diagnosis(of error: CaptureError) -> Diagnosis {
        if error.code == .storeUnusable, let store = error.underlying as? StoreError {
            return diagnosis(of: store)
        }
        if error.code == .transport, let transport = error.underlying as? TransportError {
            return diagnosis(ofMissingAnswer: transport, isRetryable: error.isRetryable)
        }
        var diagnosis = Diagnosis(error, words(for: error), exitCode(of: error.code))
        diagnosis.details = error.parts.map { "\(clean($0.name)): \($0.byteCount) bytes" }
        return diagnosis
    }

    /// The exit code of each code, as in `docs/exit-codes.md`.
    static func exitCode(of code: CaptureError.Code) -> ExitCode {
        switch code {
        case .fileNotFound, .fileUnreadable, .notRegularFile, .emptyFile, .unknownMediaType, .depthMapInvalid,
            .depthRequired, .videoMembersMissing, .settingsUnusable, .privacyModeOn, .imageLibrariesMissing,
            .payloadTooLarge, .keyUnusable, .enrolmentImpossible, .badRequest, .bodyTooLarge, .localOnly,
            .targetUnusable:
            .usage
        case .notRegistered, .clockWrong, .assertionRefused, .requestSignatureRefused, .unauthorized, .forbidden,
            .deviceUnverified:
            .unauthorized
        case .deviceUnknown, .captureNotFound, .captureUnknown: .notFound
        case .tooManyRequests, .unknownOutcome, .transport: .network
        case .serverError, .unexpectedAnswer: .server
        case .mediaDamaged, .hashMismatch: .integrity
        case .alreadyRegistered, .duplicate, .targetExists, .busy: .conflict
        case .recordUnusable, .vaultUnusable, .diskFull, .mediaMissing, .storeUnusable: .store
        case .sourceChanged: .sourceChanged
        case .cancelled: .interrupt
        case .signingFailed, .counterExhausted, .redirected, .internalError: .failure
        }
    }

    private static func words(for error: CaptureError) -> Words {
        switch error.code {
        case .fileNotFound, .fileUnreadable, .notRegularFile, .emptyFile, .unknownMediaType, .depthMapInvalid,
            .depthRequired, .videoMembersMissing, .imageLibrariesMissing, .sourceChanged:
            inputWords(for: error)
        case .settingsUnusable, .privacyModeOn, .payloadTooLarge, .signingFailed, .keyUnusable, .counterExhausted,
            .notRegistered, .alreadyRegistered, .enrolmentImpossible:
            deviceWords(for: error)
        case .clockWrong, .assertionRefused, .requestSignatureRefused, .unauthorized, .forbidden, .deviceUnknown,
            .deviceUnverified:
            refusalWords(for: error)
        case .badRequest, .captureNotFound, .duplicate, .tooManyRequests, .bodyTooLarge, .serverError, .redirected,
            .unexpectedAnswer, .unknownOutcome, .transport:
            answerWords(for: error)
        case .captureUnknown, .localOnly, .recordUnusable, .vaultUnusable, .diskFull, .mediaDamaged, .mediaMissing,
            .targetUnusable, .targetExists, .hashMismatch, .storeUnusable, .busy:
            recordWords(for: error)
        case .cancelled: .cancelled
        case .internalError: .internalError(error)
        }
    }

    // MARK: Input

    private static func inputWords(for error: CaptureError) -> Words {
        let file = error.file
        return switch error.code {
        case .fileNotFound: .noSuchFile(error)
        case .fileUnreadable: .unreadable(error)
        case .notRegularFile: Words("cannot read \(file): it is not a regular file")
        case .emptyFile: Words("cannot use \(file): it is empty")
        case .unknownMediaType where error.value != nil:
            Words(
                "\(file) is no \(clean(error.value ?? ""))\(error.said)",
                hint: "leave --media-type out: the file itself tells"
            )
        case .unknownMediaType:
            Words(
                "cannot tell whether \(file) is a photo or a video\(error.said)",
                hint: "say it with --media-type photo or --media-type video"
            )
        case .depthMapInvalid:
            Words(
                "cannot use \(error.path.map { quoted($0) } ?? "the depth map") as a depth map\(error.said)",
                hint: "raw maps need --depth-size WxH, maps in PNG need --depth-scale METRES"
            )
        case .depthRequired:
            Words(
                "without a depth map the server would record this capture as suspicious",
                hint: "add --depth FILE, or --no-depth if that is meant"
            )
        case .videoMembersMissing:
            Words(
                "a video needs what only its camera knows\(error.said)",
                hint: "give --hash-chain HEX:LENGTH, --frame-count N and --duration-ms N"
            )
        case .imageLibrariesMissing:
            Words(
                "this build of mediactl reads no PNG\(error.said)",
                hint: "convert the depth map to NPY or PFM, or build with the trait ImageLibraries"
            )
        default:
            Words("\(file) changed while it was being read", hint: "run the command again when nothing writes to it")
        }
    }

    // MARK: Settings, keys, devices

    private static func deviceWords(for error: CaptureError) -> Words {
        switch error.code {
        case .settingsUnusable:
            Words(
                "the privacy settings \(error.file) cannot be used\(error.said)",
                hint: "nothing is sent before they are readable; repair the file, or delete it for the defaults"
            )
        case .privacyModeOn:
            Words(
                "privacy mode is on, so that no media is sent",
                hint: "send only its hash, without --send-media; or: mediactl hash-only settings set privacy-mode off"
            )
        case .payloadTooLarge:
            Words(
                "the body would not be smaller than \(HashOnlyBody.byteLimit) bytes\(error.said)",
                hint: "shorten --device-model or --place"
            )
        case .signingFailed:
            Words(
                "signing failed\(error.said)",
                hint: "nothing is sent unsigned; check the key, or the program that signs"
            )
        case .keyUnusable:
            Words(
                "the key cannot be used\(error.path.map { ": \(quoted($0))" } ?? "")\(error.said)",
                hint: """
                    a key file is P-256 in PKCS#8, without a passphrase and with mode 0600; see mediactl hash-only \
                    register --help
                    """
            )
        case .counterExhausted:
            Words(
                "this device has no signature counter left\(error.said)",
                hint: "mediactl hash-only register --replace makes a new device"
            )
        case .notRegistered:
            Words(
                "this machine is not registered" + (error.value.map { " at \(clean($0))" } ?? ""),
                hint: "run mediactl hash-only register"
            )
        case .alreadyRegistered:
            Words(
                "this machine, or this key, is registered already\(error.said)",
                hint: "--replace makes a new device, with a new key; captures of the old one stay as they are"
            )
        default:
            Words(
                "this machine cannot be registered there\(error.said)",
                hint: """
                    a server with the profile mediactl-1 takes Linux; a key that was enrolled elsewhere is used with \
                    --device-id UUID
                    """
            )
        }
    }

    // MARK: Answers

    private static func refusalWords(for error: CaptureError) -> Words {
        let status = error.status
        return switch error.code {
        case .clockWrong:
            Words(
                "the server finds this machine's clock wrong\(status)\(error.said)",
                hint: "set the clock"
                    + (error.value.map { "; the server's says \(clean($0))" } ?? "")
                    + ", then: mediactl hash-only retry --all"
            )
        case .assertionRefused:
            Words(
                "the server refuses the signature of the capture\(status)\(error.said)",
                hint: "check key and rp id with mediactl hash-only register --dry-run; the server does not say why"
            )
        case .requestSignatureRefused:
            Words(
                "the server refuses the signature of the request\(status)\(error.said)",
                hint: "another program may be using the same device and its counter"
            )
        case .deviceUnknown:
            Words(
                "the server does not know this device\(status)\(error.said)",
                hint: "register again with mediactl hash-only register --replace"
            )
        case .deviceUnverified:
            Words(
                "the server takes no captures from a device of this level\(status)\(error.said)",
                hint: "ask its operator which levels it takes"
            )
        default: .forbidden(error)
        }
    }

    private static func answerWords(for error: CaptureError) -> Words {
        let status = error.status
        return switch error.code {
        case .badRequest: .refused(error)
        case .captureNotFound:
            Words(
                "the server does not have this capture\(status)\(error.said)",
                hint: "mediactl hash-only list shows what is kept here"
            )
        case .duplicate:
            Words(
                "the server has these bytes from another device\(status)\(error.said)",
                hint: "a hash can be proven once; whoever came first has it"
            )
        case .tooManyRequests: Words("the server asks for fewer requests\(status)", hint: "try again later")
        case .bodyTooLarge:
            Words(
                "the server refused the body as too large\(status)\(error.said)",
                hint: "many servers take 2 MiB at most in a full upload; send the hash alone, without --send-media"
            )
        case .redirected: .redirected(error, place: error.value.map { ": \(quoted($0))" } ?? "")
        case .unexpectedAnswer: .unexpectedAnswer(error, orElse: ", or it takes no captures")
        case .unknownOutcome:
            Words(
                "whether the server has this capture is unknown\(status)\(reason(error))",
                hint: "it probably has; ask with mediactl hash-only retry --all"
            )
        case .transport: Words("the network failed" + error.said, hint: "mediactl hash-only retry --all tries again")
        default:
            .serverFailed(
                error,
                hint: "try again later with mediactl hash-only retry --all, or ask its operator"
            )
        }
    }

    // MARK: Records

    private static func recordWords(for error: CaptureError) -> Words {
        let capture = error.value.map { " \(quoted($0))" } ?? ""
        return switch error.code {
        case .captureUnknown where error.path != nil:
            Words(
                "no capture of \(error.file) is kept here\(error.said)",
                hint: "a file that was changed since has another hash; mediactl hash-only list shows what is kept"
            )
        case .captureUnknown:
            Words(
                "there is no one capture\(capture)\(error.said)",
                hint: "mediactl hash-only list shows the ids; their first characters will do when no other begins so"
            )
        case .localOnly:
            Words(
                "capture\(capture) is of before there were modes, and stays here until you say otherwise",
                hint: "add --as-hash-only to send its hash"
            )
        case .recordUnusable: Words("the record of capture\(capture) is damaged\(error.said)")
        case .vaultUnusable:
            Words(
                "the vault cannot be used\(at(error))\(error.said)",
                hint: "check its permissions, and its key; nothing in it was changed"
            )
        case .diskFull: Words("no space left\(at(error))", hint: "free some space and run the same command again")
        case .mediaDamaged:
            Words(
                "the copy in the vault is damaged\(at(error))\(error.said)",
                hint: "it was changed, or belongs to another capture; the record itself is untouched"
            )
        case .mediaMissing:
            Words(
                "the vault has no such copy\(at(error))\(error.said)",
                hint: "mediactl hash-only show ID says what is kept"
            )
        case .targetUnusable: Words("cannot write to \(error.file)\(error.said)")
        case .targetExists:
            Words("\(error.file) exists already; it was left as it is", hint: "choose another name")
        case .hashMismatch: Words("the hashes differ\(error.said)")
        case .storeUnusable: .storeUnusable(error)
        default: Words("another mediactl holds it\(error.said)", hint: "try again when it has ended")
        }
    }

    /// Why the server could not be asked, in the words of that failure, when there is one.
    private static func reason(_ error: CaptureError) -> String {
        guard let cause = error.underlying as? CaptureError else { return error.said }
        return ", and asking it failed: \(diagnosis(of: cause).message)"
    }

    private static func at(_ error: CaptureError) -> String { error.path.map { ": \(quoted($0))" } ?? "" }
}
