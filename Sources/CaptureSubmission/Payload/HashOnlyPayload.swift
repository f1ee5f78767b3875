public import MediaCrypto

/// Everything that a hash-only capture tells a server, but the assertion (hash-only contract 1.2). There is no member that
/// could hold media.
public struct HashOnlyPayload: Sendable, Equatable {
    /// SHA-256 of the media file's bytes.
    public var mediaHash: SHA256Digest
    /// What the media is.
    public var mediaType: CaptureMediaType
    /// Required for videos as well (M2).
    public var depthAnalysis: DepthAnalysis
    /// What is told besides.
    public var metadata: CaptureMetadata
    /// What the user chose to tell.
    public var flags: MetadataFlags
    /// RFC 3339 with `Z`. Public at the server always (trap 15).
    public var capturedAt: String
    /// What only videos have.
    public var video: VideoMembers?

    /// Makes a payload.
    public init(
        mediaHash: SHA256Digest,
        mediaType: CaptureMediaType,
        depthAnalysis: DepthAnalysis,
        metadata: CaptureMetadata,
        flags: MetadataFlags,
        capturedAt: String,
        video: VideoMembers? = nil
    ) {
        self.mediaHash = mediaHash
        self.mediaType = mediaType
        self.depthAnalysis = depthAnalysis
        self.metadata = metadata
        self.flags = flags
        self.capturedAt = capturedAt
        self.video = video
    }
}

/// What a payload has for a video (contract 1.2).
public struct VideoMembers: Sendable, Equatable {
    /// The camera's chain over its frames; it cannot be computed from an encoded file (contract section 5).
    public struct HashChain: Sendable, Equatable {
        /// The last digest.
        public var finalHash: SHA256Digest
        /// Frames.
        public var chainLength: Int32
        /// At most 3.
        public var checkpointCount: Int32

        /// Makes a chain.
        public init(finalHash: SHA256Digest, chainLength: Int32, checkpointCount: Int32 = 0) {
            self.finalHash = finalHash
            self.chainLength = chainLength
            self.checkpointCount = checkpointCount
        }
    }

    /// As the camera made it.
    public var hashChain: HashChain
    /// More than 0.
    public var frameCount: Int32
    /// More than 0.
    public var durationMilliseconds: Int32
    /// What its keyframes say together.
    public var temporalAnalysis: TemporalDepthAnalysis?

    /// Makes the members.
    public init(
        hashChain: HashChain,
        frameCount: Int32,
        durationMilliseconds: Int32,
        temporalAnalysis: TemporalDepthAnalysis? = nil
    ) {
        self.hashChain = hashChain
        self.frameCount = frameCount
        self.durationMilliseconds = durationMilliseconds
        self.temporalAnalysis = temporalAnalysis
    }
}
