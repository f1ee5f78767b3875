internal import MediaFiles
internal import MediaStore
internal import MediaSystem

/// The evidence that a file is a photo that the server has rewritten: intact structure, dimensions, a plausible length,
/// and the photo's ID, which the server writes into the file (photosync contract, new fact 1).
///
/// Used only if the hash of the file differs from the listed hash, since cameras write `ImageUniqueID` as well.
enum PhotoEvidence: Equatable {
    /// The file is the photo.
    case photo
    /// The file contains the ID of a different photo.
    case otherPhoto(stamp: String)
    /// The reason why the file could not be identified as the photo.
    case unverified(String)
    /// The file uses an unsupported feature of its format; no damage was found.
    case unchecked(String)

    /// The server adds less than 4 KiB of metadata; other metadata that it rewrites may grow or shrink by more.
    private static let plausibleDifference: Int64 = 128 << 10

    /// Examines a file. Blocks; some formats are read completely.
    init(_ file: SourceFile, of photo: PhotoRecord) {
        let stamp = PhotoStamp.read(from: file)
        if let stamp, Self.isPhotoID(stamp), stamp.lowercased() != photo.id.lowercased() {
            self = .otherPhoto(stamp: stamp)
            return
        }
        let structure = PhotoStructure(of: file)
        switch structure.integrity {
        case .damaged(let reason): self = .unverified(reason)
        case .unchecked(let reason) where Self.isPlausible(file.status.size, for: photo):
            self = .unchecked("\(reason), which is not verified")
        case .unchecked(let reason): self = .unverified("\(reason), which is not verified")
        case .intact:
            if let reason = Self.difference(structure.dimensions, of: photo) {
                self = .unverified(reason)
            } else if stamp?.lowercased() != photo.id.lowercased() {
                self = .unverified("it does not contain the ID of the photo")
            } else if !Self.isPlausible(file.status.size, for: photo) {
                self = .unverified("\(file.status.size) bytes, uploaded as \(photo.fileSize)")
            } else {
                self = .photo
            }
        }
    }

    /// Examines a downloaded file on a thread for blocking work.
    static func of(_ file: PartialFile, _ photo: PhotoRecord) async throws(PhotoSyncError) -> PhotoEvidence {
        let path = file.path
        return try await StoreWork.run { PhotoEvidence(try SourceFile(path: path), of: photo) }
    }

    /// Whether this length is plausible for the stored file of a photo.
    static func isPlausible(_ byteCount: Int64, for photo: PhotoRecord) -> Bool {
        let shrinkage = min(plausibleDifference, photo.fileSize / 4)
        return byteCount > 0 && byteCount >= photo.fileSize - shrinkage
            && byteCount - plausibleDifference <= photo.fileSize
    }

    private static func difference(_ dimensions: PhotoStructure.Dimensions?, of photo: PhotoRecord) -> String? {
        guard let dimensions, let width = photo.width, let height = photo.height,
            !dimensions.match(width: width, height: height)
        else { return nil }
        return "\(dimensions.width)×\(dimensions.height) pixels, listed with \(width)×\(height)"
    }

    /// Photo IDs are UUIDs (photosync contract section 0). Cameras write 32 digits without hyphens, or serial numbers.
    private static func isPhotoID(_ stamp: String) -> Bool {
        stamp.wholeMatch(of: /[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}/) != nil
    }
}
