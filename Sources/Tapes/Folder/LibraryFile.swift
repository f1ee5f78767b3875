internal import Foundation
internal import MediaFiles

/// Files of a folder library other than links.
enum LibraryFile: String, CaseIterable {
    /// In the root: identifies the library.
    case marker = ".mediactl-library.json"
    /// In an album: its properties and contents.
    case manifest = ".mediactl-album.json"
    /// In an album: the order of the tape. Derived from the store.
    case playlist = "tape.m3u8"

    /// Longer files were not written by mediactl; a manifest of 100,000 entries is a third of this size.
    private static let longest = 64 << 20

    var name: [UInt8] { Array(rawValue.utf8) }

    /// The name while the file is being written. Leftovers from a crashed process are overwritten.
    var temporaryName: String { (rawValue.hasPrefix(".") ? "" : ".") + rawValue + ".mediactl-part" }

    /// nil if there is no such file.
    ///
    /// - Throws: `.unsafe` for anything other than a regular file.
    func read(in directory: TargetDirectory) throws(FileWriteError) -> [UInt8]? {
        try directory.content(of: name, longest: Self.longest)
    }

    /// Replaces the file atomically, even if the process crashes. Throws `.exists` for an existing file, unless
    /// `isReplacing` is true.
    func write(
        _ bytes: [UInt8],
        in directory: TargetDirectory,
        replacing isReplacing: Bool = true
    ) throws(FileWriteError) {
        try WholeFile(in: directory, temporaryName: temporaryName, audience: .everyone)
            .write(bytes, as: name, replacing: isReplacing)
    }
}

extension AlbumError {
    init(_ error: FileWriteError) {
        let kind: Kind =
            switch error.kind {
            case .full: .quota
            case .denied: .unauthorized
            // The user can fix these errors, or they are temporary.
            case .busy, .io, .exists, .unsafe, .unsynced: .unreachable(retryAfter: nil)
            }
        self.init(kind, detail: error.detail)
    }

    static func accessing<Value>(
        _ value: @autoclosure () throws(FileWriteError) -> Value
    ) throws(AlbumError) -> Value {
        do throws(FileWriteError) { return try value() } catch { throw AlbumError(error) }
    }
}

/// Converts between the text of a link in an album and the path of its original. Only paths are compared, and links are
/// not resolved, so an original that is itself a link remains the target.
struct LinkTarget {
    let folder: [UInt8]
    /// The pictures directory, if it really contains the folder: targets in it are then relative, so the directory can
    /// be moved as a whole.
    let pictures: [UInt8]?

    func target(of source: [UInt8]) -> [UInt8] {
        guard let pictures, Self.isPlain(source), let below = Self.path(source, below: pictures),
            let depth = Self.depth(of: folder, below: pictures)
        else { return source }
        return Array(repeatElement(Array("../".utf8), count: depth).joined()) + below
    }

    /// The original of a target; nil for an invalid path.
    func source(of target: [UInt8]) -> [UInt8]? {
        guard let first = target.first, !target.contains(0) else { return nil }
        if first == Self.slash { return target }
        var base = folder.split(separator: Self.slash)
        var parts = target.split(separator: Self.slash)[...]
        while parts.first == Self.up[...] {
            parts.removeFirst()
            guard base.popLast() != nil else { return nil }
        }
        return [Self.slash] + Array((base + parts).joined(separator: [Self.slash]))
    }

    /// The number of levels between a folder and an ancestor directory; nil if it is not a descendant.
    static func depth(of folder: [UInt8], below directory: [UInt8]) -> Int? {
        guard isPlain(folder) else { return nil }
        return path(folder, below: directory).map { $0.split(separator: slash).count }
    }

    private static func path(_ path: [UInt8], below directory: [UInt8]) -> [UInt8]? {
        guard path.starts(with: directory), path.dropFirst(directory.count).first == slash else { return nil }
        let rest = Array(path[(directory.count + 1)...])
        return rest.isEmpty ? nil : rest
    }

    /// Whether the components of an absolute path can be counted: none is empty, `.` or `..`.
    private static func isPlain(_ path: [UInt8]) -> Bool {
        path.split(separator: slash, omittingEmptySubsequences: false).dropFirst().allSatisfy { part in
            !part.isEmpty && part != up[...] && part != [UInt8(ascii: ".")]
        }
    }

    private static let slash = UInt8(ascii: "/")
    private static let up = Array("..".utf8)
}
