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

/// What a link in an album says, and which original that is. By the bytes of paths only: no link on the way is resolved, so
/// that an original that is itself a link stays what is referred to.
struct LinkTarget {
    /// Absolute path of the album's folder.
    let folder: [UInt8]
    /// The directory of pictures, when the folder really lies below it: targets below it are relative then, and survive its
    /// being moved as a whole.
    let pictures: [UInt8]?

    /// What the link to an original says.
    func target(of source: [UInt8]) -> [UInt8] {
        guard let pictures, Self.isPlain(source), let below = Self.path(source, below: pictures),
            let depth = Self.depth(of: folder, below: pictures)
        else { return source }
        return Array(repeatElement(Array("../".utf8), count: depth).joined()) + below
    }

    /// The original that a target means; nil for one that is no path.
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

    /// How many directories a folder is below another; nil when it is not.
    static func depth(of folder: [UInt8], below directory: [UInt8]) -> Int? {
        guard isPlain(folder) else { return nil }
        return path(folder, below: directory).map { $0.split(separator: slash).count }
    }

    private static func path(_ path: [UInt8], below directory: [UInt8]) -> [UInt8]? {
        guard path.starts(with: directory), path.dropFirst(directory.count).first == slash else { return nil }
        let rest = Array(path[(directory.count + 1)...])
        return rest.isEmpty ? nil : rest
    }

    /// Whether the parts of an absolute path can be counted: none is empty, `.` or `..`.
    private static func isPlain(_ path: [UInt8]) -> Bool {
        path.split(separator: slash, omittingEmptySubsequences: false).dropFirst().allSatisfy { part in
            !part.isEmpty && part != up[...] && part != [UInt8(ascii: ".")]
        }
    }

    private static let slash = UInt8(ascii: "/")
    private static let up = Array("..".utf8)
}
