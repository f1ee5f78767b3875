public import Foundation

/// What this machine keeps about one capture. The media itself lies encrypted in the vault.
public struct CaptureRecord: Sendable, Equatable {
    /// How far it has got.
    public enum State: String, Sendable, CaseIterable {
        /// Not signed: signing failed, or has not happened yet. Never sent like this.
        case pending
        /// Signed, not sent.
        case queued
        /// On its way: the request may have reached the server.
        case submitted
        /// At the server.
        case accepted
        /// The server refused it for good.
        case rejected
        /// The answer was lost, or the server said 500 where that may mean "already there".
        case unknownOutcome = "unknown_outcome"
    }

    /// How a capture is told to a server.
    public enum Mode: String, Sendable, CaseIterable {
        /// Hash, depth analysis and what the settings allow; the media stays here.
        case hashOnly = "hash_only"
        /// The media as well.
        case full
    }

    /// UUID, lower case; ours, never the server's.
    public var id: String
    /// Address of the server.
    public var server: String
    /// The server's profile (`mediactl-1`, `reference`).
    public var profile: String
    /// nil in a record of before modes: local only until the user says otherwise (hash-only contract section 8).
    public var mode: Mode?
    /// How far it has got.
    public var state: State
    /// SHA-256 of the media, 64 lower-case hexadecimal characters.
    public var mediaHash: String
    /// `photo` or `video`.
    public var mediaType: String
    /// Where the file was, as bytes; nil for a digest that was given.
    public var path: [UInt8]?
    /// Length of the media in bytes; nil when it was not observed.
    public var mediaBytes: Int64?
    /// Whether the media was seen here, and is in the vault; false for a digest that was given.
    public var isObserved: Bool
    /// Whether a depth map is in the vault.
    public var hasDepth: Bool
    /// The analysis as JSON; nil in a record of before modes.
    public var analysis: String?
    /// The privacy settings in force, as JSON; nil in a record of before modes.
    public var settings: String?
    /// The payload with the placeholder for an assertion, as it was made; nil in a record of before modes.
    public var unsignedBody: [UInt8]?
    /// The exact body of the last attempt, signed.
    public var body: [UInt8]?
    /// The device that signed it.
    public var deviceID: String?
    /// SEC 1, 65 bytes, of the key that signed it.
    public var publicKey: [UInt8]?
    /// The relying party id that the assertion names.
    public var rpID: String?
    /// Counter of the payload's assertion.
    public var counter: UInt32?
    /// Level of the key that signed it.
    public var keyLevel: String?
    /// How often signing has failed; 3 are allowed.
    public var signingFailures: Int
    /// How often it has been sent.
    public var submissions: Int
    /// When it was made.
    public var createdAt: Date
    /// When it last changed.
    public var updatedAt: Date
    /// When the last request left.
    public var submittedAt: Date?
    /// The server's id.
    public var serverCaptureID: String?
    /// Where the server shows it to everybody.
    public var verificationURL: String?
    /// Of the last answer.
    public var httpStatus: Int?
    /// Code of the last error.
    public var errorCode: String?
    /// Words of the last error.
    public var errorDetail: String?
    /// How long the analysis took.
    public var analysisMilliseconds: Int64?

    /// Makes a record of a capture that nothing has happened to yet.
    public init(
        id: String,
        server: String,
        profile: String,
        mode: Mode?,
        mediaHash: String,
        mediaType: String,
        createdAt: Date
    ) {
        self.id = id
        self.server = server
        self.profile = profile
        self.mode = mode
        state = .pending
        self.mediaHash = mediaHash
        self.mediaType = mediaType
        isObserved = false
        hasDepth = false
        signingFailures = 0
        submissions = 0
        self.createdAt = createdAt
        updatedAt = createdAt
    }
}
