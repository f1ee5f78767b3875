/// Media types of files: by extension, with the content as second opinion (gighive contract 2.4, trap T5).
package struct MediaType: Sendable, Hashable {
    /// Kind of media.
    package enum Kind: String, Sendable {
        /// Sound only.
        case audio
        /// Moving pictures.
        case video
        /// Anything else.
        case other
    }

    /// For example `video/mp4`.
    package var mimeType: String
    /// What it is.
    package var kind: Kind

    /// Sound of that type.
    static func audio(_ subtype: String) -> MediaType { MediaType(mimeType: "audio/" + subtype, kind: .audio) }
    /// Moving pictures of that type.
    static func video(_ subtype: String) -> MediaType { MediaType(mimeType: "video/" + subtype, kind: .video) }

    /// RealMedia is registered under `application/`, and the servers count it as video.
    static let realMedia = MediaType(mimeType: "application/vnd.rn-realmedia", kind: .video)

    /// The type that an extension stands for; nil when unknown. Case does not matter, the dot is not part of it.
    ///
    /// Known are exactly the extensions that the servers accept (gighive contract 2.4).
    package static func named(byExtension pathExtension: String) -> MediaType? {
        byExtension[pathExtension.lowercased()]
    }

    /// The type to declare for a file: the extension's, and where the extension is unknown or says less, the content's.
    ///
    /// Never `application/octet-stream`: the servers store what is declared, and refuse that type where the extension
    /// does not help (trap T5).
    ///
    /// - Parameters:
    ///   - fileName: A name or a path; only what follows the last dot of its last component matters.
    ///   - prefix: The first bytes of the file; 4 KiB are enough.
    /// - Returns: nil when neither name nor content is known.
    package static func declared(fileName: String, prefix: [UInt8]) -> MediaType? {
        let bySniffing = sniffed(prefix)
        guard let byName = named(byExtension: pathExtension(of: fileName)) else { return bySniffing }
        // `.ogg` is listed as sound, but the container carries moving pictures as well.
        if byName == .audio("ogg"), bySniffing == .video("ogg") { return bySniffing }
        return byName
    }

    /// What follows the last dot of the last path component; empty when there is no dot.
    package static func pathExtension(of fileName: String) -> String {
        let lastComponent = fileName.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).last
        guard let lastComponent, let dot = lastComponent.lastIndex(of: UInt8(ascii: ".")) else { return "" }
        return String(lastComponent[lastComponent.index(after: dot)...]) ?? ""
    }

    private static let byExtension: [String: MediaType] = [
        "mp3": .audio("mpeg"),
        "m2a": .audio("mpeg"),
        "wav": .audio("wav"),
        "flac": .audio("flac"),
        "aac": .audio("aac"),
        "m4a": .audio("mp4"),
        "m4p": .audio("mp4"),
        "aif": .audio("aiff"),
        "aifc": .audio("aiff"),
        "aiff": .audio("aiff"),
        "ogg": .audio("ogg"),
        "oga": .audio("ogg"),
        "au": .audio("basic"),
        "wma": .audio("x-ms-wma"),

        "mp4": .video("mp4"),
        "m4v": .video("mp4"),
        "mov": .video("quicktime"),
        "mkv": .video("x-matroska"),
        "webm": .video("webm"),
        "avi": .video("x-msvideo"),
        "mpg": .video("mpeg"),
        "mpeg": .video("mpeg"),
        "m2v": .video("mpeg"),
        // The files of a DVD: streams, and the tables (`ifo`, `bup`) that describe them.
        "vob": .video("mpeg"),
        "ifo": .video("mpeg"),
        "bup": .video("mpeg"),
        "ts": .video("mp2t"),
        "m2t": .video("mp2t"),
        "m2ts": .video("mp2t"),
        "ogv": .video("ogg"),
        // RFC 4539 registers `application/mxf`; the servers decide between sound and video by the part before the slash.
        "mxf": .video("mxf"),
        "flv": .video("x-flv"),
        "wmv": .video("x-ms-wmv"),
        "rm": .realMedia,
        "rmvb": .realMedia,
        "rv": .video("vnd.rn-realvideo"),
    ]
}
