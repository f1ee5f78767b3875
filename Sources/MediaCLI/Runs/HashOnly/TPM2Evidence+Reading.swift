internal import CaptureSubmission
internal import Foundation

extension TPM2Evidence {
    /// Reads what tpm2-tools write: `key.pub` and `ak.pub` (`tpm2_create -u`, `tpm2_readpublic -o`), `certify.attest` and
    /// `certify.sig` (`tpm2_certify -o -s`), and the certificates `ek-*.der` in the order of their names, the leaf first.
    ///
    /// - Throws: `Diagnosis` for a file that is not there.
    static func reading(_ directory: String) throws(Diagnosis) -> TPM2Evidence {
        func bytes(_ name: String) throws(Diagnosis) -> [UInt8] { try EvidenceFile.bytes(directory + "/" + name) }
        let names = ((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [])
            .filter { $0.hasPrefix("ek-") && $0.hasSuffix(".der") }.sorted()
        var certificates: [[UInt8]] = []
        for name in names {
            certificates.append(try bytes(name))
        }
        guard !certificates.isEmpty else {
            throw .usage(
                "\(ErrorCatalogue.quoted(directory)) holds no certificate of the TPM's endorsement key",
                hint: "name them ek-0.der (the key's own), ek-1.der and so on; see docs/guides/hash-only.md"
            )
        }
        return TPM2Evidence(
            keyPublicArea: unsized(try bytes("key.pub")),
            attestationKeyPublicArea: unsized(try bytes("ak.pub")),
            certification: unsized(try bytes("certify.attest")),
            certificationSignature: try bytes("certify.sig"),
            endorsementCertificates: certificates
        )
    }

    /// A TPM2B structure without its size (TPM 2.0 Library Part 2, 10.4), anything else as it is.
    private static func unsized(_ bytes: [UInt8]) -> [UInt8] {
        guard bytes.count > 2, Int(bytes[0]) << 8 | Int(bytes[1]) == bytes.count - 2 else { return bytes }
        return Array(bytes.dropFirst(2))
    }
}
