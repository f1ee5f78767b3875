internal import CaptureSubmission
internal import MediaCrypto
internal import MediaStore

/// What a record holds of a hash-only submission, checked against itself: no network, no private key.
struct CaptureBundle {
    typealias Finding = CaptureVerification.Finding

    private let record: CaptureRecord
    private let content: Result<(payload: HashOnlyPayload, assertion: String), CaptureError>?

    init(_ record: CaptureRecord) {
        self.record = record
        guard record.mode == .hashOnly, let bytes = record.body ?? record.unsignedBody,
            let profile = CaptureProfile(rawValue: record.profile)
        else {
            content = nil
            return
        }
        content = Result { () throws(CaptureError) in
            guard let body = HashOnlyBody(bytes: bytes) else { throw CaptureError(.recordUnusable) }
            return try HashOnlyPayload.reading(body, profile: profile)
        }
    }

    /// Whether the stored body names this hash.
    func bodyHash(_ digest: SHA256Digest) -> Finding {
        check { payload, _ in
            payload.mediaHash == digest ? .passed : .failed("the stored body names another hash")
        }
    }

    /// Whether the assertion fits body, key and relying party.
    func signature() -> Finding {
        signed { payload, assertion, profile in
            guard let sec1 = record.publicKey, let key = try? VerifyingKey(sec1: sec1), let rpID = record.rpID else {
                return .failed("the record holds no usable public key")
            }
            guard let digest = try? SHA256Digest.of(payload.signedBytes(for: profile)) else {
                return .failed("hashing failed")
            }
            return assertion.isValid(for: digest, rpID: rpID, key: key)
                ? .passed : .failed("the signature does not fit the body and the key")
        }
    }

    /// Whether the assertion names the counter that the record says was used.
    func counter() -> Finding {
        signed { _, assertion, _ in
            assertion.counter != nil && assertion.counter == record.counter
                ? .passed : .failed("the assertion's counter is not the record's")
        }
    }

    private func signed(_ body: (HashOnlyPayload, Assertion, CaptureProfile) -> Finding) -> Finding {
        guard record.body != nil || content == nil else { return .skipped("it was never signed") }
        return check { payload, text in
            guard let assertion = Assertion(base64: text), let profile = CaptureProfile(rawValue: record.profile) else {
                return .failed("the stored body holds no assertion")
            }
            return body(payload, assertion, profile)
        }
    }

    private func check(_ body: (HashOnlyPayload, String) -> Finding) -> Finding {
        switch content {
        case .success(let (payload, assertion)): body(payload, assertion)
        case .failure: .failed("the stored body cannot be read")
        case nil: .skipped(record.mode == .full ? "a full upload has no hash-only body" : "the record holds no body")
        }
    }
}
