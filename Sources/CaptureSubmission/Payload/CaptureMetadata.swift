/// What a payload tells about a capture besides hash and depth: nothing else can leave, because there is no member for it
/// (hash-only contract 1.2 and section 4).
public struct CaptureMetadata: Sendable, Equatable {
    /// Where it was taken, as far as it is told.
    public enum Location: Sendable, Equatable {
        /// Degrees.
        case coordinates(latitude: Double, longitude: Double)
        /// Only the profile `mediactl-1` can take it. The country is ISO 3166-1 alpha-2.
        case place(city: String?, country: String)
    }

    /// Where it was taken.
    public var location: Location?
    /// `YYYY-MM-DD` or `YYYY-MM-DDTHH:MM:SSZ`.
    public var timestamp: String?
    /// What took it.
    public var deviceModel: String?

    /// Makes metadata; everything is absent unless given.
    public init(location: Location? = nil, timestamp: String? = nil, deviceModel: String? = nil) {
        self.location = location
        self.timestamp = timestamp
        self.deviceModel = deviceModel
    }
}
