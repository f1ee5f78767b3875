public import CaptureSubmission
internal import MediaCrypto
public import MediaStore

extension CaptureSession {
    /// Decrypts the media of a record to a file, and its depth map beside it when asked; the hash is verified before the
    /// file gets its name.
    ///
    /// - Parameters:
    ///   - id: The record's id, or how it begins.
    ///   - path: Of the new file, as bytes; nothing is replaced.
    ///   - depthPath: Of the depth map: little-endian binary32.
    /// - Returns: The record.
    /// - Throws: `CaptureError`: `.mediaMissing` for a digest that was given, `.checksumMismatch`, `.targetExists` …
    public func export(_ id: String, to path: [UInt8], depthTo depthPath: [UInt8]?) async throws(CaptureError)
        -> CaptureRecord
    {
        let record = try record(id)
        guard record.isObserved else {
            throw CaptureError(.mediaMissing, detail: "the media was not observed here", value: record.id)
        }
        if depthPath != nil, !record.hasDepth {
            throw CaptureError(.mediaMissing, detail: "the capture has no depth map", value: record.id)
        }
        guard let digest = SHA256Digest(hex: record.mediaHash) else {
            throw CaptureError(.recordUnusable, detail: "the record holds no hash", value: record.id)
        }
        _ = try await vault.export(.media, of: record.id, to: path, expecting: digest)
        if let depthPath { _ = try await vault.export(.depth, of: record.id, to: depthPath) }
        return record
    }

    /// What others would find wrong with a signed record: body, hash, signature and counter are compared as they would.
    ///
    /// - Parameter record: Signed.
    /// - Returns: In words; nil when all agree.
    public static func disagreement(in record: CaptureRecord) -> String? {
        guard let digest = SHA256Digest(hex: record.mediaHash) else { return "the record holds no hash" }
        let bundle = CaptureBundle(record)
        for case .failed(let reason) in [bundle.bodyHash(digest), bundle.signature(), bundle.counter()] {
            return reason
        }
        return nil
    }
}
