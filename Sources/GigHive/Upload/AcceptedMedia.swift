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
