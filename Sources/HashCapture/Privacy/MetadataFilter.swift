public import CaptureSubmission
public import Foundation

/// What is known about a capture before anything is left out.
public struct CaptureFacts: Sendable, Equatable {
    /// Degrees.
    public var latitude: Double?
    public var longitude: Double?
    /// City and country as the user names them: takes the place of the table's.
    public var city: String?
    /// ISO 3166-1 alpha-2.
    public var country: String?
    /// When it was taken.
    public var capturedAt: Date?
    /// What took it.
    public var deviceModel: String?

    /// Makes facts; everything is unknown unless given.
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

/// Decides what leaves: an allow-list, by levels.
public struct MetadataFilter: Sendable {
    public var settings: PrivacySettings
    public var profile: CaptureProfile
    /// On `reference`, which cannot take city and country: whether the user asked for latitude and longitude with one
    /// decimal, half away from zero.
    public var sendsCoarseCoordinates: Bool
    /// ` / Linux ` release and version of this program, for the level `full`.
    public var systemVersion: String
    public var programVersion: String

    /// Makes a filter.
    public init(
        settings: PrivacySettings,
        profile: CaptureProfile,
        sendsCoarseCoordinates: Bool = false,
        systemVersion: String,
        programVersion: String
    ) {
        self.settings = settings
        self.profile = profile
        self.sendsCoarseCoordinates = sendsCoarseCoordinates
        self.systemVersion = systemVersion
        self.programVersion = programVersion
    }

    /// What may be told.
    public func metadata(of facts: CaptureFacts) -> CaptureMetadata { CaptureMetadata() }

    /// `captured_at`: the second, that UTC day, or the UTC day of the submission (contract section 4).
    ///
    /// - Parameters:
    ///   - facts: Where no time is known, `now` stands for it.
    ///   - now: The submission.
    public func capturedAt(of facts: CaptureFacts, now: Date) -> String { "" }
}
