public import Foundation

/// What is known about a capture before anything is left out.
public struct CaptureFacts: Sendable, Equatable {
    /// Degrees.
    public var latitude: Double?
    /// Degrees.
    public var longitude: Double?
    /// As the user names it; with a country it takes the place of the table's.
    public var city: String?
    /// ISO 3166-1 alpha-2, as the user names it.
    public var country: String?
    /// When it was taken.
    public var capturedAt: Date?
    /// What took it.
    public var deviceModel: String?

    /// Makes facts; everything is unknown unless given.
    ///
    /// - Parameters:
    ///   - latitude: Degrees.
    ///   - longitude: Degrees.
    ///   - city: As the user names it.
    ///   - country: ISO 3166-1 alpha-2.
    ///   - capturedAt: When it was taken.
    ///   - deviceModel: What took it.
    public init(
        latitude: Double? = nil,
        longitude: Double? = nil,
        city: String? = nil,
        country: String? = nil,
        capturedAt: Date? = nil,
        deviceModel: String? = nil
    ) {
        self.latitude = latitude
        self.longitude = longitude
        self.city = city
        self.country = country
        self.capturedAt = capturedAt
        self.deviceModel = deviceModel
    }
}

extension CaptureFacts {
    /// These, and where nothing is said, what the file says. A place is one thing: whoever names a part of it does not get
    /// the rest from the file.
    func completed(by file: CaptureFacts) -> CaptureFacts {
        var facts = self
        if latitude == nil, longitude == nil, city == nil, country == nil {
            facts.latitude = file.latitude
            facts.longitude = file.longitude
            facts.city = file.city
            facts.country = file.country
        }
        facts.capturedAt = capturedAt ?? file.capturedAt
        facts.deviceModel = deviceModel ?? file.deviceModel
        return facts
    }
}
