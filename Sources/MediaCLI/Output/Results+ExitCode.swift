internal import GigHive
internal import MediaStore

extension UploadResult {
    /// How a program ends that made only this upload.
    var exitCode: ExitCode {
        if let error {
            return ErrorCatalogue.exitCode(of: error.code)
        }
        return switch state {
        case .planned, .done, .linked, .duplicate: .success
        case .refusedDuplicate: .conflict
        case .sending, .sent, .finalized, .unknownOutcome: .network
        case .tokenLost: .deleteToken
        case .cancelled: .interrupt
        case .failed: .failure
        }
    }
}

extension DeleteResult {
    /// How a program ends that made only this deletion.
    var exitCode: ExitCode {
        switch state {
        case .deleted, .gone, .entryRemoved, .planned: .success
        case .declined: .failure
        case .failed: error.map { ErrorCatalogue.exitCode(of: $0.code) } ?? .failure
        }
    }
}

extension UploadWarning {
    /// Stable code for JSON.
    var code: String {
        switch self {
        case .notVerified: "not_verified"
        case .noDeleteToken: "no_delete_token"
        case .oddToken: "odd_token"
        case .unusableToken: "unusable_token"
        case .tokenKept: "token_kept"
        case .responseKept: "response_kept"
        case .tokenLostEarlier: "token_lost_earlier"
        case .tokenMayBeLost: "token_may_be_lost"
        case .answeredInHTML: "answered_in_html"
        case .rescued: "rescued"
        case .aboveDirectLimit: "above_direct_limit"
        case .typeMismatch: "type_mismatch"
        case .detailsIgnored: "details_ignored"
        case .keptByServer: "kept_by_server"
        case .guestReceiptLost: "guest_receipt_lost"
        }
    }
}
