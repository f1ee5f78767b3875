internal import CaptureSubmission
internal import Foundation
internal import MediaStore
internal import MediaTransport

extension CaptureErrorFacts: CatalogedFacts {
    static func userFacingError(of error: CaptureError) -> UserFacingError {
        ErrorCatalog.userFacingError(of: error, in: .submission)
    }
}

/// The operation that failed.
enum CaptureOperation: Sendable, Equatable {
    /// A hash-only capture.
    case submission
    /// An upload of media, with the command that finishes it.
    case upload(String)
    case registration
    case verification

    fileprivate var isUpload: Bool { if case .upload = self { true } else { false } }

    /// The command that repeats the operation; nil if it is the command that failed.
    fileprivate var retry: String? {
        switch self {
        case .submission: "mediactl hash-only retry --all"
        case .upload(let command): command
        case .registration, .verification: nil
        }
    }
}

extension ErrorCatalog {
    static func userFacingError(of error: CaptureError, in operation: CaptureOperation) -> UserFacingError {
        if let cause = error.userFacingCause { return cause }
        let text = text(for: error, in: operation) ?? Text(error)
        var userFacingError = UserFacingError(error, providerText(text, for: error))
        userFacingError.details = error.parts.map { "\(clean($0.name)): \($0.byteCount) bytes" }
        return userFacingError
    }

    /// nil if the table's message is sufficient.
    private static func text(for error: CaptureError, in operation: CaptureOperation) -> Text? {
        let capture = error.value.map { " \(quoted($0))" } ?? ""
        return switch error.code {
        // Input.
        case .unknownMediaType where error.value != nil:
            Text(
                "\(error.file) is not a \(clean(error.value ?? ""))\(error.suffix)",
                hint: "omit --media-type to detect it from the file"
            )
        case .unknownMediaType:
            Text(
                "cannot determine whether \(error.file) is a photo or a video\(error.suffix)",
                hint: "specify --media-type photo or --media-type video"
            )
        case .depthMapInvalid where error.path == nil:
            .table(error, message: "cannot use the depth map\(error.suffix)")
        case .sourceChanged:
            Text(
                "\(error.file) was modified while it was being read",
                hint: "run the command again when no program is writing to it"
            )
        // Devices.
        case .payloadTooLarge where !error.parts.isEmpty:
            Text(
                "the request body must be smaller than \(HashOnlyBody.byteLimit) bytes\(error.suffix)",
                hint: "shorten --device-model or --place"
            )
        case .payloadTooLarge where error.httpStatus != nil && !operation.isUpload:
            .table(
                error,
                hint:
                    "the body has fewer than \(HashOnlyBody.byteLimit) bytes; contact the operator of the server, or of a "
                    + "proxy"
            )
        case .payloadTooLarge:
            .table(
                error,
                hint: "many servers accept at most 2 MiB in a full upload; send only the hash, without --send-media"
            )
        case .notRegistered:
            .table(error, message: Text(error).message + (error.value.map { " with \(clean($0))" } ?? ""))
        // Responses.
        case .clockWrong:
            .table(
                error,
                hint: "set the clock"
                    + (error.value.map { " (the server's time is \(clean($0)))" } ?? "")
                    + (operation.retry.map { ", then: \($0)" } ?? "")
            )
        // Capture servers have no logins; the server refuses the device.
        case .unauthorized: Text(error, as: .forbidden)
        // For an unknown capture or device, a capture server also sends an error code.
        case .notFound:
            Text(
                "no capture server at this address\(error.status)",
                hint: "check --server and its path; this may be a different server, or a proxy"
            )
        case .redirected:
            .table(
                error,
                message:
                    "the server redirects this request\(error.status)\(error.value.map { ": \(quoted($0))" } ?? "")"
            )
        case .unexpectedResponse: .unexpectedResponse(error, orElse: ", or it does not accept captures")
        case .unknownOutcome: unknownOutcome(error, in: operation)
        case .transport: operation.retry.map { .table(error, hint: "retry with: \($0)") }
        case .serverError:
            operation.retry.map { .table(error, hint: "retry later with \($0), or contact its operator") }
        // Records.
        case .captureUnknown where error.path != nil:
            Text(
                "no stored capture of \(error.file)\(error.suffix)",
                hint: "a modified file has a different hash; list the stored captures with: mediactl hash-only list"
            )
        case .localOnly where operation.isUpload:
            operation.retry.map { .table(error, hint: "to send it again: \($0)") }
        case .recordUnusable: Text("the record of capture\(capture) is damaged\(error.suffix)")
        case .diskFull: .table(error, message: "no space left\(error.path.map { ": \(quoted($0))" } ?? "")")
        // Without a path, the capture never had this copy.
        case .mediaMissing where error.path == nil:
            .table(error, hint: "mediactl hash-only show ID lists what is stored")
        default: nil
        }
    }

    /// The hints in the table concern keys in files and do not apply to keys in an OpenSSL provider.
    private static func providerText(_ text: Text, for error: CaptureError) -> Text {
        guard let provider = error.keyProvider else { return text }
        var text = text
        let isTPM = provider == "tpm2"
        switch error.code {
        case .keyUnusable, .signingFailed:
            text.hint =
                isTPM
                ? "the key is in the TPM: tpm2_getcap handles-persistent lists its keys, /dev/tpmrm0 requires the group tss, "
                    + "TPM2OPENSSL_TCTI selects another TPM; if the TPM was reset, the key is lost, and "
                    + "mediactl hash-only register --tpm --replace creates a new one"
                : "the key is accessed through the OpenSSL provider \(quoted(provider)); check its device and its PIN"
        case _ where isTPM:
            let (file, tpm) = ("hash-only register --replace", "hash-only register --tpm --replace")
            text.hint = text.hint?.replacing(file, with: tpm)
        default: break
        }
        return text
    }

    private static func unknownOutcome(_ error: CaptureError, in operation: CaptureOperation) -> Text {
        switch operation {
        case .submission, .upload:
            Text(
                "whether the server has this capture is unknown\(error.status)\(reason(error))",
                hint: "to resolve this: \(operation.retry ?? "")"
            )
        case .registration:
            Text(
                "whether the server has registered this machine is unknown\(error.status)\(reason(error))",
                hint: "run the command again: it registers a new device"
            )
        case .verification:
            Text(
                "whether the server has this capture is unknown",
                hint: "to resolve this: mediactl hash-only retry \(error.value.map { String($0.prefix(8)) } ?? "--all")"
            )
        }
    }

    /// The reason why the server could not be queried, from the message of that failure; empty if there is none.
    private static func reason(_ error: CaptureError) -> String {
        guard let cause = error.underlying as? CaptureError else { return error.suffix }
        return ", and querying it failed: \(userFacingError(of: cause).message)"
    }
}
