internal import CaptureSubmission
internal import Foundation
internal import Glibc
internal import MediaCore
internal import MediaCrypto
internal import MediaFiles
internal import MediaSystem
internal import MediaTransport

/// A photo that leaves the machine whole, with its depth map and what the settings let out (hash-only contract 7).
struct FullUpload: Sendable {
    /// The server's limit for the part `photo`.
    static let photoLimit: Int64 = 10 << 20
    /// The server's limit for the part `depth_map`.
    static let depthLimit = 5 << 20
    /// What the server's framework takes as a whole, whatever its own limits say.
    static let frameworkLimit: Int64 = 2 << 20

    let photo: SourceFile
    let depthMap: [UInt8]
    let size: (width: Int, height: Int)
    let metadata: CaptureMetadata
    let capturedAt: String
    /// Whether the photo is signed for as well. A server without this device's key records a signature as a failure.
    let isAsserted: Bool

    /// Prepares an upload.
    ///
    /// - Throws: `CaptureError`: `.unknownMediaType` for anything but JPEG, `.depthRequired`, `.depthMapInvalid`,
    ///   `.payloadTooLarge`, `.imageLibrariesMissing`.
    init(
        _ input: CaptureInput,
        metadata: CaptureMetadata,
        capturedAt: String,
        isAsserted: Bool
    ) throws(CaptureError) {
        guard let file = input.file else {
            throw CaptureError(.fileNotFound, detail: "a full upload needs the file; a digest was given")
        }
        guard let prefix = try? file.prefix(16), CaptureMediaType.isJPEG(prefix) else {
            throw CaptureError(.unknownMediaType, detail: "a full upload takes JPEG photos only", path: file.path)
        }
        guard file.status.size <= Self.photoLimit else {
            throw CaptureError(.payloadTooLarge, detail: "the server takes photos of up to 10 MiB", path: file.path)
        }
        guard let size = input.depthSize else {
            throw CaptureError(.depthRequired, detail: "a full upload has a depth map")
        }
        guard size.width <= 1000, size.height <= 1000 else {
            throw CaptureError(.depthMapInvalid, detail: "the server takes depth maps of up to 1000 × 1000 samples")
        }
        photo = file
        depthMap = try Gzip.compress(input.depthBytes)
        guard depthMap.count <= Self.depthLimit else {
            throw CaptureError(.payloadTooLarge, detail: "the server takes packed depth maps of up to 5 MiB")
        }
        self.size = size
        self.metadata = metadata
        self.capturedAt = capturedAt
        self.isAsserted = isAsserted
    }

    /// What the assertion signs: the texts as they are sent.
    func clientData(_ digest: SHA256Digest) -> [UInt8] { Array("\(digest.hex)|\(capturedAt)".utf8) }

    /// The part `metadata`.
    func metadataPart(_ digest: SHA256Digest, assertion: String?) -> String {
        var members = [
            "\"captured_at\":\(JSONText.quoted(capturedAt))",
            // It has to say something; of a camera that nothing is told about, it says just that.
            "\"device_model\":\(JSONText.quoted(metadata.deviceModel ?? "unknown"))",
            "\"photo_hash\":\"\(digest.hex)\"",
            "\"depth_map_dimensions\":{\"width\":\(size.width),\"height\":\(size.height)}",
        ]
        if case .coordinates(let latitude, let longitude)? = metadata.location {
            members.append("\"location\":{\"latitude\":\(latitude),\"longitude\":\(longitude)}")
        }
        if let assertion { members.append("\"assertion\":\(JSONText.quoted(assertion))") }
        return "{\(members.joined(separator: ","))}"
    }

    /// The body; the photo is read from a descriptor of its own.
    func form(metadata: String) throws(CaptureError) -> FullCaptureForm {
        let descriptor: Int32
        do {
            descriptor = try photo.duplicateDescriptor()
        } catch {
            throw CaptureError(error)
        }
        let content = FileContent(owning: descriptor, byteCount: photo.status.size)
        return FullCaptureForm(photo: content, depthMap: depthMap, metadata: metadata)
    }
}
