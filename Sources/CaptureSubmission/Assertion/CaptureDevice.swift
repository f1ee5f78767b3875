/// This machine as one server knows it.
package struct CaptureDevice: Sendable {
    /// UUID issued at registration.
    package var id: String
    /// The server's profile.
    package var profile: CaptureProfile
    /// The relying party id that assertions name.
    package var rpID: String
    /// How well the key is protected, as the server answered at registration.
    package var level: KeyLevel
    /// The key.
    package var signer: any CaptureSigner

    /// Makes a device.
    ///
    /// - Parameters:
    ///   - id: UUID issued at registration.
    ///   - profile: The server's.
    ///   - rpID: The relying party id that assertions name.
    ///   - level: As the server answered at registration.
    ///   - signer: The key.
    package init(id: String, profile: CaptureProfile, rpID: String, level: KeyLevel, signer: any CaptureSigner) {
        self.id = id
        self.profile = profile
        self.rpID = rpID
        self.level = level
        self.signer = signer
    }
}
