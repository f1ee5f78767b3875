/// How a server reads and checks a hash-only capture; chosen per server.
public enum CaptureProfile: String, Sendable, CaseIterable {
    /// Complete and honest (hash-only contract 3.4): canonical JSON (RFC 8785) of everything but the assertion is signed.
    case mediactl1 = "mediactl-1"
    /// The existing server as it is (contract 2.1): seven members are signed, and nobody on Linux can be enrolled.
    case reference
}

/// What kind of media a capture is (contract 1.2).
public enum CaptureMediaType: String, Sendable, CaseIterable {
    /// One picture.
    case photo
    /// A film, with hash chain, frame count and duration.
    case video
}
