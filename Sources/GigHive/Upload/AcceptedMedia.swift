/// The file name extensions that a server takes by default (gighive contract 2.4).
enum AcceptedMedia {
    static let audio: Set<String> = [
        "mp3", "wav", "flac", "aac", "m4a", "m4p", "aif", "aifc", "aiff", "ogg", "oga", "au", "m2a", "wma",
    ]
    static let video: Set<String> = [
        "mp4", "mov", "mkv", "webm", "m4v", "avi", "mpg", "mpeg", "ts", "m2t", "m2ts", "ogv", "mxf", "flv", "rm",
        "rmvb", "rv", "wmv", "vob", "m2v", "bup", "ifo",
    ]

    /// The media types of the same list.
    static let types: Set<String> = {
        let names = [
            "audio": "mpeg mp3 wav x-wav aac flac mp4 aiff x-aiff ogg vorbis basic x-au au mp2 mpeg2 x-ms-wma "
                + "vnd.rn-realaudio x-pn-realaudio",
            "video": "mp4 quicktime x-matroska webm x-msvideo mpeg mp2t ogg x-flv mxf vnd.rn-realvideo "
                + "x-ms-wmv x-ms-asf",
            "application": "ogg mxf vnd.rn-realmedia vnd.ms-asf",
        ]
        return Set(names.flatMap { family, names in names.split(separator: " ").map { "\(family)/\($0)" } })
    }()

    /// `audio` or `video`; nil for an extension that servers do not know.
    static func kind(ofExtension pathExtension: String) -> String? {
        if audio.contains(pathExtension) {
            return "audio"
        }
        return video.contains(pathExtension) ? "video" : nil
    }
}
