internal import Foundation

extension SoftwareTPM {
    /// The TPM's certification of a key, for a registration in the format `tpm2`.
    public struct Evidence: Sendable {
        /// SEC 1, uncompressed, of the key.
        public var publicKey: [UInt8]
        /// TPMT_PUBLIC of the key.
        public var keyPublicArea: [UInt8]
        /// TPMT_PUBLIC of the attestation key.
        public var attestationKeyPublicArea: [UInt8]
        /// TPMS_ATTEST.
        public var certification: [UInt8]
        /// TPMT_SIGNATURE.
        public var certificationSignature: [UInt8]
        /// DER; its issuer is created for it.
        public var endorsementCertificate: [UInt8]
    }

    /// Creates evidence with the TPM's own tools (`Tests/ConformanceTests/scripts/make-tpm2-evidence.sh`).
    ///
    /// - Parameters:
    ///   - handle: The handle of a key created with ``makeKey(at:algorithm:)``.
    ///   - algorithm: The algorithm of the attestation key, `ecc` or `rsa`.
    ///   - directory: Where the files are kept; if nil, a temporary one that is removed on return.
    /// - Returns: The content of the files.
    /// - Throws: ``Failure/refused(_:_:)``.
    public func makeEvidence(
        ofKeyAt handle: String,
        attestedBy algorithm: String = "ecc",
        in directory: String? = nil
    ) async throws -> Evidence {
        let temporary = try TemporaryDirectory()
        let folder = directory ?? temporary.path
        let script = Repository.path("Tests/ConformanceTests/scripts/make-tpm2-evidence.sh")
        try await run("sh", [script, folder, handle, algorithm])
        func bytes(_ name: String) throws -> [UInt8] {
            Array(try Data(contentsOf: URL(fileURLWithPath: folder + "/" + name)))
        }
        return Evidence(
            publicKey: try bytes("public_key"),
            keyPublicArea: try bytes("key_public"),
            attestationKeyPublicArea: try bytes("ak_public"),
            certification: try bytes("certification"),
            certificationSignature: try bytes("certification_signature"),
            endorsementCertificate: try bytes("ek.der")
        )
    }
}
