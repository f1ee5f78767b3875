internal import MediaCore
internal import MediaFiles
internal import PhotoSync
internal import Synchronization

/// Counts the pictures and videos of directories that no push uploads, by type, to warn that they are not backed up. Texts,
/// files of the system and files of unknown types are not counted.
final class LeftBehind: Sendable {
    /// The kind of content of a file.
    enum Kind: String {
        case picture
        case raw
        case video
        /// Edits or metadata of the picture beside it.
        case sidecar
    }

    private let counts = Mutex<[String: Int]>([:])

    func add(_ item: PushItem) {
        guard item.state == .skipped, let error = item.error, error.code == .unknownExtension else { return }
        let pathExtension = error.value ?? ""
        guard Self.kind(of: pathExtension) != nil else { return }
        counts.withLock { $0[pathExtension, default: 0] += 1 }
    }

    /// The most frequent type first.
    private func types(_ isIncluded: (Kind) -> Bool) -> [(pathExtension: String, count: Int, kind: Kind)] {
        counts.withLock { counts in
            counts.sorted { $0.value == $1.value ? $0.key < $1.key : $0.value > $1.value }
                .compactMap { pathExtension, count -> (pathExtension: String, count: Int, kind: Kind)? in
                    guard let kind = Self.kind(of: pathExtension), isIncluded(kind) else { return nil }
                    return (pathExtension, count, kind)
                }
        }
    }

    /// `312 .mov, 40 .dng are not backed up: the server does not accept these types (312 videos: no PhotoSync server accepts
    /// videos)`; nil if there is no such file.
    var warning: String? {
        let types = types { $0 != .sidecar }
        guard !types.isEmpty else { return nil }
        let videos = types.filter { $0.kind == .video }.reduce(0) { $0 + $1.count }
        let reason = videos > 0 ? " (\(Formats.count(videos, "video")): no PhotoSync server accepts videos)" : ""
        return Self.list(types) + " not backed up: the server does not accept "
            + (types.count == 1 ? "this type" : "these types") + reason
    }

    /// The same for sidecars, which are not photos.
    var note: String? {
        let types = types { $0 == .sidecar }
        guard !types.isEmpty else { return nil }
        return Self.list(types) + " not uploaded: sidecars with edits stay on this machine only"
    }

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
        var named = types.prefix(mostNamed).map { "\($0.count) .\(TerminalText.escaped($0.pathExtension))" }
        let rest = types.dropFirst(mostNamed).reduce(0) { $0 + $1.count }
        if rest > 0 { named.append("\(rest) of other types") }
        return named.joined(separator: ", ") + (types.reduce(0) { $0 + $1.count } == 1 ? " is" : " are")
    }

    // MARK: Types

    /// nil for a file that is neither a picture nor a video, nor belongs to one.
    static func kind(of pathExtension: String) -> Kind? {
        if raws.contains(pathExtension) { return .raw }
        if pictures.contains(pathExtension) { return .picture }
        if sidecars.contains(pathExtension) { return .sidecar }
        if dvdTables.contains(pathExtension) { return nil }
        let isVideo =
            MediaType.named(byExtension: pathExtension)?.kind == .video || cameraVideos.contains(pathExtension)
        return isVideo ? .video : nil
    }

    /// Of phones and cameras, beyond the types that an upload server accepts.
    private static let cameraVideos: Set<String> = ["3gp", "3g2", "mts", "insv", "lrv", "mod", "tod", "dv"]

    /// Tables beside the streams of a DVD.
    private static let dvdTables: Set<String> = ["ifo", "bup"]

    private static let raws: Set<String> = [
        "3fr", "arw", "cr2", "cr3", "crw", "dcr", "dng", "erf", "fff", "gpr", "iiq", "insp", "k25", "kdc", "mef", "mos",
        "mrw", "nef", "nrw", "orf", "pef", "raf", "raw", "rw2", "rwl", "sr2", "srf", "srw", "x3f",
    ]

    private static let pictures: Set<String> = [
        "avif", "bmp", "exr", "hdr", "heics", "hif", "jfif", "jp2", "jpe", "jxl", "mpo", "psb", "psd", "svg", "tga",
        "tif", "tiff", "xcf",
    ]

    /// XMP of Adobe and others, Apple's adjustments, and edits of Capture One, RawTherapee, darktable and DxO.
    private static let sidecars: Set<String> = ["aae", "cos", "dop", "pp3", "xmp"]
}
