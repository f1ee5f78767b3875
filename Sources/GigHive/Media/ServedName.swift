internal import MediaCrypto

/// Under which name a server serves a file: `/<kind>/<sha256>.<extension>`. The extension is not always that of the local file:
/// some servers derive it from the media type, and use `bin` for most types (gighive-d4 contract 4.6).
struct ServedName: Sendable, Equatable {
    /// `audio` or `video`; nil if unknown.
    var kind: String?
    /// Without the dot; nil if unknown.
    var pathExtension: String?

    init(kind: String?, pathExtension: String? = nil) {
        self.kind = kind
        self.pathExtension = pathExtension
    }

    /// - Parameters:
    ///   - kind: What the server reports as the file's type.
    ///   - names: Names or paths of the server; the first one that is a digest with an extension counts.
    init(kind: String?, names: [String?]) {
        self.kind = kind
        pathExtension = names.lazy.compactMap { $0.flatMap(Self.pathExtension) }.first
    }

    /// The extension of a served name or path; nil for any other text.
    private static func pathExtension(of path: String) -> String? {
        guard let name = path.split(separator: "/").last else { return nil }
        let parts = name.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, SHA256Digest(hex: parts[0].lowercased()) != nil, (1...8).contains(parts[1].utf8.count),
            parts[1].allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) })
        else { return nil }
        return String(parts[1])
    }
}

extension ListingPage.Entry {
    /// Where the server serves the file.
    var servedName: ServedName { ServedName(kind: fileType, names: [url, fileName]) }
}

extension Asset {
    /// Where the server serves the file.
    var servedName: ServedName { ServedName(kind: fileType, names: [fileName]) }
}
