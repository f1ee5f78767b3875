internal import MediaCore
internal import MediaTransport

/// The signed bytes of a finished body, as the server that gets it makes them: from the body alone, by another way than the
/// one that they were made by here (contract 2.3).
enum SignedBytes {
    /// - Returns: nil when the server would refuse the body's shape.
    static func rebuilt(from body: [UInt8], for profile: CaptureProfile) -> [UInt8]? {
        guard let members = JSONValue.object(in: body[...]) else { return nil }
        let value =
            switch profile {
            case .mediactl1: WireValue(.object(members)).without("assertion")
            case .reference: ReferenceReading.signedValue(of: members)
            }
        return value.map { WireText.bytes(of: $0, for: profile) }
    }
}
