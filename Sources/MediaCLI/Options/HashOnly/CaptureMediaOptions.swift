internal import ArgumentParser
internal import CaptureSubmission
internal import HashCapture
internal import MediaCrypto

/// What the media is. What a video must have is known to the camera alone, and is never made up here.
struct CaptureMediaOptions: ParsableArguments {
    enum Kind: String, ExpressibleByArgument, CaseIterable {
        case photo
        case video
    }

    @Option(
        help: ArgumentHelp(
            "Prove this digest of a file that is not here; it is recorded as not observed.",
            valueName: "sha256:hex"
        )
    )
    var digest: String?

    @Option(help: ArgumentHelp("photo or video; the file itself tells by default.", valueName: "kind"))
    var mediaType: Kind?

    @Option(
        help: ArgumentHelp("Last hash of the camera's chain over the frames, and its length.", valueName: "hex:length")
    )
    var hashChain: String?

    @Option(help: ArgumentHelp("Frames of the video.", valueName: "n"))
    var frameCount: String?

    @Option(help: ArgumentHelp("Length of the video in milliseconds.", valueName: "n"))
    var durationMs: String?

    private var isVideo: Bool { hashChain != nil || frameCount != nil || durationMs != nil }

    func validate() throws {
        guard [hashChain, frameCount, durationMs].count(where: { $0 != nil }) % 3 == 0 else {
            throw ValidationError("A video needs all of --hash-chain, --frame-count and --duration-ms.")
        }
        guard !isVideo || mediaType != .photo else {
            throw ValidationError("--hash-chain, --frame-count and --duration-ms are for videos.")
        }
        guard digest == nil || mediaType != nil || isVideo else {
            throw ValidationError("--digest needs --media-type: a digest does not tell what it is of.")
        }
    }

    /// Options that concern one file only, as they are written.
    var ofOneFile: [String] { isVideo ? ["--hash-chain"] : [] }

    /// What kind was named.
    var kind: CaptureMediaType? {
        mediaType.flatMap { CaptureMediaType(rawValue: $0.rawValue) } ?? (isVideo ? .video : nil)
    }

    /// The digest that was named.
    ///
    /// - Throws: `Diagnosis` for a value that is refused.
    func namedDigest() throws(Diagnosis) -> SHA256Digest? {
        try FlagValue.read(digest, "--digest", CaptureValue.digest)
    }

    /// What was said of a video.
    ///
    /// - Throws: `Diagnosis` for a value that is refused.
    func video() throws(Diagnosis) -> VideoMembers? {
        guard let chain = try FlagValue.read(hashChain, "--hash-chain", CaptureValue.hashChain),
            let frames = try FlagValue.read(frameCount, "--frame-count", CaptureValue.amount),
            let duration = try FlagValue.read(durationMs, "--duration-ms", CaptureValue.amount)
        else { return nil }
        return VideoMembers(hashChain: chain, frameCount: frames, durationMilliseconds: duration)
    }
}
