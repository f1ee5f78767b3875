internal import Foundation
internal import Glibc
internal import MediaFiles
internal import MediaStore
internal import MediaSystem

/// A file that may be a photo to send.
struct PushCandidate: Sendable {
    /// As it was named or found.
    var path: [UInt8]
    /// Whether the user named it: what is unsuitable then is a failure, while a walk passes over it.
    var isNamed: Bool

    /// Extensions that servers take, in lower case (photosync contract 3.2).
    private static let extensions: Set<String> = ["jpg", "jpeg", "png", "gif", "webp", "heic", "heif"]

    /// The last component. What is no UTF-8 in it becomes U+FFFD, since the server's names are text.
    var fileName: String { path.fileName }

    /// Why the server would not take it, as far as its name tells.
    var objection: PhotoSyncError? {
        let pathExtension = MediaType.pathExtension(of: fileName).lowercased()
        guard !Self.extensions.contains(pathExtension) else { return nil }
        return PhotoSyncError(.unknownExtension, path: path, value: pathExtension)
    }

    /// Why the server would not take a file of that length.
    func objection(toBytes byteCount: Int64, maximum: Int64) -> PhotoSyncError? {
        if byteCount == 0 { return PhotoSyncError(.emptyFile, path: path) }
        guard byteCount > maximum else { return nil }
        return PhotoSyncError(.fileTooLarge, path: path, value: String(byteCount), limit: maximum)
    }

    /// How a file ends that was never tried.
    func refused(_ error: PhotoSyncError, sizeBytes: Int64? = nil) -> PushItem {
        PushItem(path: path, state: isNamed ? .failed : .skipped, sizeBytes: sizeBytes, error: error)
    }

    /// The path from the root, without `.` and empty components; `..` stays, since what lies before it may be a link.
    var absolutePath: [UInt8] {
        let slash = UInt8(ascii: "/")
        let start = path.first == slash ? [] : Self.workingDirectory
        let components = (start + [slash] + path).split(separator: slash).filter { $0 != [UInt8(ascii: ".")] }
        return components.reduce(into: []) { $0 += [slash] + $1 }
    }

    private static var workingDirectory: [UInt8] {
        guard let path = getcwd(nil, 0) else { return [] }
        defer { free(path) }
        return Array(UnsafeRawBufferPointer(start: path, count: strlen(path)))
    }
}
