#if DEBUG || TESTABLE
    @testable import CaptureSubmission
    @testable import HashCapture
    import MediaCrypto
    import MediaFiles
    @testable import MediaTransport

    /// The responses of a capture server, and data of a capture.
    enum CaptureEntry {
        static func check(_ bytes: [UInt8]) -> String? {
            checkResponses(bytes) ?? checkPayload(bytes) ?? checkAssertion(bytes) ?? checkKeys(bytes)
                ?? checkBlob(bytes)
        }

        private static func checkResponses(_ body: [UInt8]) -> String? {
            if let challenge = try? RegistrationChallenge(reading: response(200, body)), challenge.bytes.count != 32 {
                return "a challenge of \(challenge.bytes.count) bytes"
            }
            if let device = try? RegistrationResponse(reading: response(201, body)), !Shape.isUUID(device.deviceID) {
                return "an invalid device: \(device)"
            }
            if let credential = try? TPM2Credential(reading: response(200, body)), credential.toolFile.count < 14 {
                return "a credential of \(credential.toolFile.count) bytes"
            }
            if let capture = try? RemoteCapture(reading: response(200, body)),
                !Shape.isUUID(capture.captureID) || capture.mediaHash.map(Shape.isSHA256) == false
                    || capture.verificationURL.map(isAddress) == false
            {
                return "an invalid capture: \(capture)"
            }
            for status in [202, 204, 302, 409, 422, 500] {
                do throws(CaptureError) {
                    switch try SubmissionResponse(reading: response(status, body)) {
                    case .accepted(let id, let address):
                        guard Shape.isUUID(id), address.map(isAddress) ?? true else { return "an invalid id: \(id)" }
                    case .duplicate(let id):
                        guard id.map(Shape.isUUID) ?? true else { return "an invalid duplicate: \(id ?? "")" }
                    }
                } catch {
                    guard Shape.isShort(error.detail) else { return "a reason of \(error.detail.count) characters" }
                }
            }
            return nil
        }

        /// Whether a URL may be shown and opened.
        private static func isAddress(_ text: String) -> Bool {
            let scheme = text.prefix { $0 != ":" }.lowercased()
            return ["http", "https"].contains(scheme) && Shape.isPrintable(text) && !text.contains(" ")
        }

        private static func response(_ status: Int, _ body: [UInt8]) -> HTTPResponse {
            HTTPResponse(
                head: HTTPResponseHead(status: status, headers: [HTTPHeader("Content-Type", "text/plain")]),
                body: body,
                metrics: TransferMetrics(bodyComplete: true)
            )
        }

        /// A stored body that can be read must equal the body rebuilt from its values.
        private static func checkPayload(_ bytes: [UInt8]) -> String? {
            for profile in [CaptureProfile.mediactl1, .reference] {
                _ = SignedBytes.rebuilt(from: bytes, for: profile)
                guard let body = HashOnlyBody(bytes: bytes),
                    let (payload, assertion) = try? HashOnlyPayload.reading(body, profile: profile)
                else { continue }
                guard (try? payload.body(for: profile, assertion: assertion)) == body else {
                    return "a body of \(profile) that does not round-trip"
                }
            }
            _ = try? PrivacySettings(json: bytes)
            return nil
        }

        /// Checks an assertion as base64, the form that a server receives, and as raw bytes.
        private static func checkAssertion(_ bytes: [UInt8]) -> String? {
            let decoded = [Assertion(base64: String(decoding: bytes, as: UTF8.self)), AssertionCBOR.decoded(bytes)]
            for assertion in decoded.compactMap(\.self) {
                guard AssertionCBOR.decoded(AssertionCBOR.encoded(assertion)) == assertion else {
                    return "an assertion that does not round-trip"
                }
                _ = assertion.counter
            }
            return nil
        }

        private static func checkKeys(_ bytes: [UInt8]) -> String? {
            if let key = VerifyingKey.reading(bytes) {
                guard let pem = try? key.pem(), VerifyingKey.reading(pem) == key else {
                    return "a public key that does not round-trip"
                }
                _ = key.isValid(bytes, of: bytes)
            }
            for certificate in (try? EndorsementCertificate.reading(bytes)) ?? [] {
                guard (try? EndorsementCertificate(der: certificate.der)) == certificate else {
                    return "a certificate that does not round-trip"
                }
            }
            if let key = try? SigningKey.read(pem: bytes), "\(key)".contains("PRIVATE") {
                return "an unredacted private key"
            }
            for signature in [ECDSASignature.raw(from: bytes), ProgramSigner.signature(in: bytes)].compactMap(\.self) {
                guard signature.count == 64, let der = ECDSASignature.der(from: signature),
                    ECDSASignature.raw(from: der) == signature
                else { return "a signature that does not round-trip" }
            }
            _ = VaultKey.parse(String(decoding: bytes, as: UTF8.self))
            return nil
        }

        /// Without the key, no blob can be created that opens.
        private static func checkBlob(_ bytes: [UInt8]) -> String? {
            guard let key = StreamingAEAD.Key([UInt8](repeating: 0x5a, count: 32)) else { return "no key" }
            var rest = bytes[...]
            var isOpened = false
            do {
                try StreamingAEAD.decrypt(key: key, associatedData: []) { buffer in
                    let count = min(buffer.count, rest.count)
                    buffer.copyBytes(from: rest.prefix(count))
                    rest = rest.dropFirst(count)
                    return count
                } _: { _ in
                    isOpened = true
                }
            } catch {
                return nil
            }
            return isOpened ? "a blob created without the key opens" : nil
        }
    }
#endif
