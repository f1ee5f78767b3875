internal import Foundation
internal import MediaCore
internal import MediaFiles
internal import MediaTransport

/// What makes a directory the root of one library (tapes contract section 5): not its path, which an unmounted disk leaves
/// behind empty (trap 1).
struct FolderMarker: Equatable {
    private static let format = "mediactl.library"
    private static let version: Int64 = 1

    /// UUID, lower case.
    var id: String
    /// Of the format; a higher one than ours is not written to.
    var version = Self.version

    /// The library as the store names it.
    var libraryID: String { "folder:" + id }
    var isNewer: Bool { version > Self.version }

    /// Reads the marker of a root; nil when there is none.
    ///
    /// - Throws: `.libraryChanged` for a file that is no marker, `.unauthorized`, `.unreachable`.
    static func read(in root: TargetDirectory) throws(AlbumError) -> FolderMarker? {
        let bytes: [UInt8]?
        do throws(FileWriteError) {
            bytes = try LibraryFile.marker.read(in: root)
        } catch {
            if error.kind == .unsafe { throw unrecognised }
            throw AlbumError(error, needing: .addOnly)
        }
        guard let bytes else { return nil }
        guard let members = JSONValue.object(in: bytes[...]), members["format"]?.text == format,
            let version = members["version"]?.wholeNumber, version >= 1,
            let id = members["id"]?.text.flatMap(UUID.init(uuidString:))
        else { throw unrecognised }
        return FolderMarker(id: id.uuidString.lowercased(), version: version)
    }

    private static let unrecognised = AlbumError(.libraryChanged, detail: "the marker of the library is damaged")

    /// Makes a root of a directory, unless another process does so first.
    ///
    /// - Returns: The marker that is there now.
    static func make(in root: TargetDirectory, at now: Date) throws(AlbumError) -> FolderMarker {
        let id = UUID().uuidString.lowercased()
        let text = JSONText.object([
            ("format", .string(format)), ("version", .number(version)), ("id", .string(id)),
            ("createdAt", .string(RFC3339.text(seconds: Int64(now.timeIntervalSince1970.rounded(.down))))),
        ])
        do throws(FileWriteError) {
            try LibraryFile.marker.write(Array((text + "\n").utf8), in: root, replacing: false)
        } catch {
            guard error.kind == .exists else { throw AlbumError(error, needing: .addOnly) }
        }
        guard let marker = try read(in: root) else { throw unrecognised }
        return marker
    }
}
