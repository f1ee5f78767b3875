import Foundation

/// What the server makes of the names of files (photosync contract 3.6).
enum PhotoName {
    private static let types = [
        "jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png", "gif": "image/gif", "webp": "image/webp",
        "heic": "image/heic", "heif": "image/heif",
    ]

    /// The media type of a name's extension; nil for those that are refused.
    static func contentType(_ name: String) -> String? { types[fileExtension(name)] }

    private static func fileExtension(_ name: String) -> String {
        name.lastIndex(of: ".").map { name[name.index(after: $0)...].lowercased() } ?? ""
    }

    /// The base name, without `..` and without the characters that Windows forbids.
    static func sanitised(_ name: String) -> String {
        let base = name.split(separator: "/").last.map(String.init) ?? ""
        return String(base.replacing("..", with: "").map { "/\\:*?\"<>|".contains($0) ? "_" : $0 })
    }

    /// The name in the store: at most 200 bytes, the extension among them.
    static func stored(_ name: String) -> String {
        let name = sanitised(name)
        guard name.utf8.count > 200 else { return name }
        let suffix = name.lastIndex(of: ".").map { String(name[$0...]) } ?? ""
        var stem = name.dropLast(suffix.count)
        while stem.utf8.count + suffix.utf8.count > 200, !stem.isEmpty { stem.removeLast() }
        return stem + suffix
    }

    /// Whether a stored path stays below the photo folder.
    static func isSafe(_ path: String) -> Bool {
        !path.hasPrefix("/") && !path.isEmpty && !path.split(separator: "/").contains("..")
    }
}
