internal import MediaCore
internal import MediaFiles
internal import PhotoSync
internal import Synchronization

/// Counts, by type, the photos and videos in directories that a push does not upload, to warn that they are not
/// backed up. Text files, system files and files of unknown types are not counted. The type of a file without an
/// extension is detected from its first bytes.
final class LeftBehind: Sendable {
    /// Type of a file's content.
    enum Kind: String {
        case photo = "picture"
        case raw
        case video
        /// Edits or metadata of a photo in the same directory.
        case sidecar
    }

    private struct FileType: Hashable {
        /// Empty for files without an extension.
        var pathExtension: String
        var kind: Kind
    }

    private let counts = Mutex<[FileType: Int]>([:])
    private let irregular = Mutex(0)
    private let links = Mutex<[[UInt8]]>([])

    func add(_ item: PushItem) {
        guard item.state == .skipped, let error = item.error else { return }
        if error.code == .notRegularFile { irregular.withLock { $0 += 1 } }
        if error.code == .isDirectory { links.withLock { $0.append(item.path) } }
        guard error.code == .unknownExtension else { return }
        let pathExtension = error.value ?? ""
        guard let kind = pathExtension.isEmpty ? Self.kind(ofFile: item.path) : Self.kind(of: pathExtension) else {
            return
        }
        counts.withLock { $0[FileType(pathExtension: pathExtension, kind: kind), default: 0] += 1 }
    }

    /// The types, most frequent first.
    private func types(_ isIncluded: (Kind) -> Bool) -> [(pathExtension: String, count: Int, kind: Kind)] {
        counts.withLock { counts in
            counts.map { (pathExtension: $0.pathExtension, count: $1, kind: $0.kind) }.filter { isIncluded($0.kind) }
                .sorted {
                    $0.count == $1.count
                        ? ($0.pathExtension, $0.kind.rawValue) < ($1.pathExtension, $1.kind.rawValue)
                        : $0.count > $1.count
                }
        }
    }

    /// `312 .mov files, 40 .dng files are not backed up: the server does not accept these types (312 videos: no
    /// PhotoSync server accepts videos)`; nil if there are no such files.
    var warning: String? {
        let types = types { $0 != .sidecar }
        guard !types.isEmpty else { return nil }
        let videos = types.filter { $0.kind == .video }.reduce(0) { $0 + $1.count }
        let reason = videos > 0 ? " (\(Formats.count(videos, "video")): no PhotoSync server accepts videos)" : ""
        let what =
            types.allSatisfy(\.pathExtension.isEmpty)
            ? "files without an extension" : types.count == 1 ? "this type" : "these types"
        return Self.list(types) + " not backed up: the server does not accept \(what)\(reason)"
    }

    /// The note about sidecar files, which are not photos.
    var note: String? {
        let types = types { $0 == .sidecar }
        guard !types.isEmpty else { return nil }
        return Self.list(types) + " not uploaded: sidecar files with edits stay on this machine only"
    }

    /// The note about FIFOs, sockets and devices.
    var irregularNote: String? {
        let count = irregular.withLock { $0 }
        return count == 0 ? nil : "\(Formats.count(count, "file")) skipped: not a regular file (FIFO, socket or device)"
    }

    /// Links to directories, which are not followed.
    var linkedDirectories: [[UInt8]] { links.withLock { $0 } }

    var json: JSONValue {
        .array(
            types { _ in true }.map { type in
                .object([
                    "extension": .string(type.pathExtension), "count": JSONValue(type.count),
                    "kind": .string(type.kind.rawValue), "video": .bool(type.kind == .video),
                ])
            }
        )
    }

    private static let mostNamed = 12

    private static func list(_ types: [(pathExtension: String, count: Int, kind: Kind)]) -> String {
        var named = types.prefix(mostNamed).map {
            $0.pathExtension.isEmpty
                ? "\(Formats.count($0.count, $0.kind == .video ? "video" : "photo")) without an extension"
                : Formats.count($0.count, ".\(TerminalText.escaped($0.pathExtension)) file")
        }
        let rest = types.dropFirst(mostNamed).reduce(0) { $0 + $1.count }
        if rest > 0 { named.append("\(rest) of other types") }
        return named.joined(separator: ", ") + (types.reduce(0) { $0 + $1.count } == 1 ? " is" : " are")
    }

    // MARK: Types

    /// nil for a file that is not a photo, a video or a sidecar file.
    static func kind(of pathExtension: String) -> Kind? {
        if raws.contains(pathExtension) { return .raw }
        if photos.contains(pathExtension) { return .photo }
        if sidecars.contains(pathExtension) { return .sidecar }
        if dvdTables.contains(pathExtension) { return nil }
        let isVideo =
            MediaType.named(byExtension: pathExtension)?.kind == .video || cameraVideos.contains(pathExtension)
        return isVideo ? .video : nil
    }

    private static func kind(ofFile path: [UInt8]) -> Kind? {
        guard let prefix = try? SourceFile(path: path).prefix(4096) else { return nil }
        if MediaType.isPhoto(prefix) { return .photo }
        return MediaType.sniffed(prefix)?.kind == .video ? .video : nil
    }

    /// Types used by phones and cameras, in addition to those that an upload server accepts.
    private static let cameraVideos: Set<String> = ["3gp", "3g2", "mts", "insv", "lrv", "mod", "tod", "dv"]

    /// The tables of a DVD, stored next to its streams.
    private static let dvdTables: Set<String> = ["ifo", "bup"]

    private static let raws: Set<String> = [
        "3fr", "arw", "cr2", "cr3", "crw", "dcr", "dng", "erf", "fff", "gpr", "iiq", "insp", "k25", "kdc", "mef", "mos",
        "mrw", "nef", "nrw", "orf", "pef", "raf", "raw", "rw2", "rwl", "sr2", "srf", "srw", "x3f",
    ]

    private static let photos: Set<String> = [
        "avif", "bmp", "exr", "hdr", "heics", "hif", "jfif", "jp2", "jpe", "jxl", "mpo", "psb", "psd", "svg", "tga",
        "tif", "tiff", "xcf",
    ]

    /// XMP from Adobe and others, Apple's adjustments, and edits by Capture One, RawTherapee, darktable and DxO.
    private static let sidecars: Set<String> = ["aae", "cos", "dop", "pp3", "xmp"]
}
