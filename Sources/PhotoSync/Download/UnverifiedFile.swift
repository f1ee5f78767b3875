internal import MediaFiles
internal import MediaStore
internal import MediaSystem

/// A downloaded file that could not be verified, stored in the directory of its photo.
struct UnverifiedFile: Sendable {
    private static let suffix = ".unverified"

    let name: String
    let identity: FileIdentity

    /// nil for a copy in a different state.
    init?(_ copy: PhotoCopy) {
        guard copy.state == .unverified, let name = copy.temporaryName, let identity = copy.identity else { return nil }
        self.name = name
        self.identity = identity
    }

    /// The first name has no number.
    static func name(for photo: String, number: Int) -> String {
        number == 1 ? photo + suffix : "\(photo).\(number)\(suffix)"
    }

    /// The paths of the photos whose unverified file may have this path; empty for any other path.
    static func photoPaths(of path: [UInt8]) -> [[UInt8]] {
        guard path.suffix(suffix.utf8.count).elementsEqual(suffix.utf8) else { return [] }
        let photo = path.dropLast(suffix.utf8.count)
        guard let dot = photo.lastIndex(of: UInt8(ascii: ".")) else { return [Array(photo)] }
        return [Array(photo), Array(photo[..<dot])]
    }
}

extension PhotoCopy {
    /// The path of the file, which differs from the photo's path for an unverified download.
    var storedPath: [UInt8] { state == .unverified ? temporaryPath ?? path : path }

    /// The path of the temporary or unverified file.
    var temporaryPath: [UInt8]? {
        guard let temporaryName else { return nil }
        let directory = path.lastIndex(of: UInt8(ascii: "/")).map { path[...$0] } ?? []
        return Array(directory) + Array(temporaryName.utf8)
    }

    /// Whether there is, or may be at an inaccessible path, a file other than a partial one.
    var hasFile: Bool { state != .planned && !FileIdentity.isMissing(storedPath) }
}

extension PhotoDownload {
    /// Upper limit; a photo is very unlikely to have this many such files.
    private static let mostUnverified = 1_000

    /// Stores the file under a name that no program treats as a photo; the next run downloads the photo again.
    mutating func finishUnverified(
        _ file: PartialFile,
        digest: String,
        reason: String
    ) async throws(PhotoSyncError) {
        let time = photo.takenAt.microseconds
        _ = try await StoreWork.run { try file.seal(modificationMicroseconds: time) }
        removeUnverified(in: file.directory)
        var number = 1
        var published: FileIdentity?
        var name = ""
        while published == nil {
            name = UnverifiedFile.name(for: plan.place.name, number: number)
            do throws(PhotoSyncError) {
                let name = name
                published = try await StoreWork.run { try file.publish(as: name) }
            } catch {
                guard error.code == .targetExists, number < Self.mostUnverified else { throw error }
                number += 1
            }
        }
        forget()
        plan.copy.state = .unverified
        plan.copy.temporaryName = name
        plan.copy.sha256 = digest
        plan.copy.identity = published
        try await keep(plan.copy)
        item.state = .unverified
        item.path = file.directory.path(of: Array(name.utf8))
        item.sizeBytes = published?.size
        item.sha256 = digest
        item.error = PhotoSyncError(.unverifiedPhoto, detail: reason, path: item.path).with(\.photoID, photo.id)
    }

    /// Removes the file that an earlier run could not verify, unless it has since been modified.
    func removeUnverified(in directory: TargetDirectory? = nil) {
        guard let earlier = plan.unverified else { return }
        let name = Array(earlier.name.utf8)
        guard let directory = directory ?? (try? openDirectory()),
            (try? directory.status(of: name))?.isProbablyUnchanged(since: earlier.identity) == true
        else { return }
        // If the file cannot be removed, it is kept.
        try? directory.remove(name)
    }
}
