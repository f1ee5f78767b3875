/// This machine as one server knows it.
public struct CaptureDevice: Sendable {
    /// UUID issued at registration.
    public var id: String
    /// The server's profile.
    public var profile: CaptureProfile
    /// The relying party id that assertions name.
    public var rpID: String
    /// How well the key is protected, as the server answered at registration.
    public var level: KeyLevel
    /// The key.
    public var signer: any CaptureSigner

    /// Makes a device.
    ///
    /// - Parameters:
    ///   - id: UUID issued at registration.
    ///   - profile: The server's.
    ///   - rpID: The relying party id that assertions name.
    ///   - level: As the server answered at registration.
    ///   - signer: The key.
    public init(id: String, profile: CaptureProfile, rpID: String, level: KeyLevel, signer: any CaptureSigner) {
        self.id = id
        self.profile = profile
        self.rpID = rpID
        self.level = level
        self.signer = signer
    }
}
