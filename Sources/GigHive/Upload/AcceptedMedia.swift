/// The file name extensions that a server takes by default (gighive contract 2.4).
enum AcceptedMedia {
    static let audio: Set<String> = [
        "mp3", "wav", "flac", "aac", "m4a", "m4p", "aif", "aifc", "aiff", "ogg", "oga", "au", "m2a", "wma",
    ]
    static let video: Set<String> = [
        "mp4", "mov", "mkv", "webm", "m4v", "avi", "mpg", "mpeg", "ts", "m2t", "m2ts", "ogv", "mxf", "flv", "rm",
        "rmvb", "rv", "wmv", "vob", "m2v", "bup", "ifo",
    ]

    /// `audio` or `video`; nil for an extension that servers do not know.
    static func kind(ofExtension pathExtension: String) -> String? {
        if audio.contains(pathExtension) {
            return "audio"
        }
        return video.contains(pathExtension) ? "video" : nil
    }
}

/// What a file name says.
enum FileName {
    /// The last component of a path; bytes that are no UTF-8 become replacement characters.
    static func last(of path: [UInt8]) -> String {
        let name = path.split(separator: UInt8(ascii: "/")).last ?? []
        return String(decoding: name, as: UTF8.self)
    }

    /// The extension in lower case, without its dot; empty when there is none.
    static func pathExtension(of name: String) -> String {
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return "" }
        return name[name.index(after: dot)...].lowercased()
    }
}
