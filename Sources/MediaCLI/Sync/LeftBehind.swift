internal import MediaCore
internal import MediaFiles
internal import PhotoSync
internal import Synchronization

/// Counts the files of directories that no push uploads, by type, so that nobody takes them for backed up.
final class LeftBehind: Sendable {
    private let counts = Mutex<[String: Int]>([:])

    func add(_ item: PushItem) {
        guard item.state == .skipped, let error = item.error, error.code == .unknownExtension else { return }
        counts.withLock { $0[error.value ?? "", default: 0] += 1 }
    }

    var isEmpty: Bool { counts.withLock { $0.isEmpty } }

    /// The most frequent type first.
    private var types: [(pathExtension: String, count: Int)] {
        counts.withLock { counts in
            counts.sorted { $0.value == $1.value ? $0.key < $1.key : $0.value > $1.value }
                .map { (pathExtension: $0.key, count: $0.value) }
        }
    }

    /// `312 .mov, 40 .dng are not backed up: the server does not accept these types (no PhotoSync build accepts videos)`.
    var words: String {
        let types = types
        var named = types.prefix(Self.mostNamed).map { "\($0.count) \(Self.name(of: $0.pathExtension))" }
        let rest = types.dropFirst(Self.mostNamed).reduce(0) { $0 + $1.count }
        if rest > 0 { named.append("\(rest) of other types") }
        let total = types.reduce(0) { $0 + $1.count }
        let videos = types.filter { Self.isVideo($0.pathExtension) }.reduce(0) { $0 + $1.count }
        let reason =
            videos > 0 ? " (\(Formats.count(videos, "video")): no PhotoSync server accepts videos)" : ""
        return named.joined(separator: ", ") + (total == 1 ? " is" : " are")
            + " not backed up: the server does not accept \(types.count == 1 ? "this type" : "these types")" + reason
    }

    var json: JSONValue {
        .array(
            types.map { type in
                .object([
                    "extension": .string(type.pathExtension), "count": JSONValue(type.count),
                    "video": .bool(Self.isVideo(type.pathExtension)),
                ])
            }
        )
    }

    private static let mostNamed = 12

    private static func name(of pathExtension: String) -> String {
        pathExtension.isEmpty ? "without extension" : "." + TerminalText.escaped(pathExtension)
    }

    private static func isVideo(_ pathExtension: String) -> Bool {
        MediaType.named(byExtension: pathExtension)?.kind == .video || cameraVideos.contains(pathExtension)
    }

    /// Of phones and cameras, beyond the types that an upload server accepts.
    private static let cameraVideos: Set<String> = ["3gp", "3g2", "mts", "insv", "lrv", "mod", "tod", "dv"]
}
