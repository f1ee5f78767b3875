/// `POST /api/v1/verify-file` (contract 6.1). It takes the media itself, so no client of hash-only captures may call it on
/// its own (M17); the sandbox has it so that a test can tell.
struct VerifyFileEndpoint {
    let catalog: CaptureCatalog
    let links: CaptureLinks

    func verify(_ body: [UInt8], _ exchange: Exchange) throws -> JSONValue {
        guard let file = try CaptureForm(body, exchange).parts["file"] else {
            throw CaptureRefusal.invalid("file is required")
        }
        let digest = Digest.sha256(file)
        guard let row = try catalog.capture(hash: hexString(digest)) else {
            return [
                "status": "no_record",
                "file_hash": .string(base64(digest)),
                "note": "No capture of this file is known",
            ]
        }
        return [
            "status": "verified",
            "file_hash": .string(base64(digest)),
            "capture_id": .string(row.id),
            "confidence_level": .string(row.confidence),
            "verification_url": .string(links.verification(of: row.id)),
            "capture_mode": .string(row.mode.rawValue),
            "media_stored": .bool(row.mode == .full),
            "media_hash": .string(row.hash),
            "evidence": row.evidence,
            "metadata_flags": row.flags ?? .null,
            "captured_at": .string(row.capturedAt.text),
            "media_type": .string(row.mediaType),
        ]
    }
}
