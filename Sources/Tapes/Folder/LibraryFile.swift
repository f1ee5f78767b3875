internal import Foundation
internal import MediaFiles

/// The files that a folder library keeps beside the links.
enum LibraryFile: String, CaseIterable {
    /// In the root: which library this is.
    case marker = ".mediactl-library.json"
    /// In an album: what it is, and what is in it.
    case manifest = ".mediactl-album.json"
    /// In an album: the order of the tape. Derived.
    case playlist = "tape.m3u8"

    /// Longer files are none of ours; a manifest of a hundred thousand entries is a third of that.
    private static let longest = 64 << 20

    var name: [UInt8] { Array(rawValue.utf8) }

    /// The name that the file has while it is written. What a process that died has left under it is written over.
    var temporaryName: String { (rawValue.hasPrefix(".") ? "" : ".") + rawValue + ".mediactl-part" }

    /// The content; nil when there is no such file.
    ///
    /// - Throws: `FileWriteError`; `.unsafe` for anything but a regular file.
    func read(in directory: TargetDirectory) throws(FileWriteError) -> [UInt8]? {
        try directory.content(of: name, longest: Self.longest)
    }

    /// Writes the file in the place of what it was: readers find the one or the other, and after a crash too.
    ///
    /// - Parameters:
    ///   - bytes: The content.
    ///   - directory: Where it lies.
    ///   - isReplacing: Otherwise a file that is there stays, and `.exists` is thrown.
    /// - Throws: `FileWriteError`; the file is as it was then.
    func write(
        _ bytes: [UInt8],
        in directory: TargetDirectory,
        replacing isReplacing: Bool = true
    ) throws(FileWriteError) {
        try WholeFile(in: directory, temporaryName: temporaryName, audience: .everybody)
            .write(bytes, as: name, replacing: isReplacing)
    }
}

extension AlbumError {
    /// - Parameters:
    ///   - error: Of the file system.
    ///   - level: What was needed.
    init(_ error: FileWriteError, needing level: AccessLevel) {
        let kind: Kind =
            switch error.kind {
            case .full: .quota
            case .denied: .unauthorized(level)
            // The user can put these right, or they pass.
            case .busy, .io, .exists, .unsafe: .unreachable(retryAfter: nil)
            }
        self.init(kind, detail: error.detail)
    }

    /// Runs steps on the file system, and says what their refusal means.
    static func needing<Value>(
        _ level: AccessLevel,
        _ body: () throws(FileWriteError) -> Value
    ) throws(AlbumError) -> Value {
        do throws(FileWriteError) {
            return try body()
        } catch {
            throw AlbumError(error, needing: level)
        }
    }
}
