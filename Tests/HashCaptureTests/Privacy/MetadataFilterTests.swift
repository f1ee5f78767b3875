import CaptureSubmission
import Foundation
import Testing

@testable import HashCapture

@Suite struct MetadataFilterTests {
    /// Paris, at a time with a fraction; `date -u -d 2024-03-01T23:59:59Z +%s`.
    static let full = CaptureFacts(
        latitude: 48.858370,
        longitude: 2.294481,
        capturedAt: Date(timeIntervalSince1970: 1_709_337_599.75),
        deviceModel: "Canon EOS R5"
    )
    /// `date -u -d 2026-11-22T10:20:30Z +%s`
    static let now = Date(timeIntervalSince1970: 1_795_342_830)

    static func filter(
        _ profile: CaptureProfile = .mediactl1,
        location: LocationLevel = .coarse,
        timestamp: TimestampLevel = .exact,
        device: DeviceInfoLevel = .modelOnly,
        coordinates: Bool = false
    ) -> MetadataFilter {
        var settings = PrivacySettings()
        (settings.location, settings.timestamp, settings.deviceInfo) = (location, timestamp, device)
        return MetadataFilter(
            settings: settings,
            profile: profile,
            sendsCoarseCoordinates: coordinates,
            systemVersion: "6.1.0-18-amd64",
            programVersion: "0.5.0"
        )
    }

    // MARK: Every combination

    /// Facts with and without a location.
    static let places: [CaptureFacts] = [
        CaptureFacts(),
        CaptureFacts(latitude: 48.858370, longitude: 2.294481),
        CaptureFacts(latitude: 48.858370),
        CaptureFacts(city: "Lyon", country: "FR"),
        CaptureFacts(latitude: 48.858370, longitude: 2.294481, city: "Lyon", country: "fr"),
        CaptureFacts(latitude: 30, longitude: -45),
        CaptureFacts(latitude: 91, longitude: 2),
    ]

    @Test(arguments: CaptureProfile.allCases, LocationLevel.allCases)
    func nothingOutsideTheAllowListIsSent(profile: CaptureProfile, location: LocationLevel) {
        for timestamp in TimestampLevel.allCases {
            for device in DeviceInfoLevel.allCases {
                for requestsCoordinates in [false, true] {
                    let filter = Self.filter(
                        profile,
                        location: location,
                        timestamp: timestamp,
                        device: device,
                        coordinates: requestsCoordinates
                    )
                    for place in Self.places {
                        for time in [nil, Self.full.capturedAt] {
                            for model in [nil, "Canon EOS R5"] {
                                var facts = place
                                (facts.capturedAt, facts.deviceModel) = (time, model)
                                Self.check(filter, facts)
                            }
                        }
                    }
                }
            }
        }
    }

    /// The contract's table, transcribed independently of the code.
    private static func check(_ filter: MetadataFilter, _ facts: CaptureFacts) {
        let metadata = filter.metadata(of: facts)
        let levels = filter.settings
        let isAtTheTower = facts.latitude == 48.858370 && facts.longitude == 2.294481
        let location: CaptureMetadata.Location? =
            switch (levels.location, filter.profile) {
            case (.none, _): nil
            case (.precise, _): isAtTheTower ? .coordinates(latitude: 48.858370, longitude: 2.294481) : nil
            case (.coarse, .reference):
                isAtTheTower && filter.sendsCoarseCoordinates
                    ? .coordinates(latitude: 48.9, longitude: 2.3)
                    // The point in the Atlantic has no further decimals.
                    : filter.sendsCoarseCoordinates && facts.latitude == 30
                        ? .coordinates(latitude: 30, longitude: -45) : nil
            case (.coarse, .mediactl1):
                facts.country != nil
                    ? .place(city: "Lyon", country: "FR") : isAtTheTower ? .place(city: "Paris", country: "FR") : nil
            }
        let isPreciseInTheSea = levels.location == .precise && facts.latitude == 30
        #expect(
            metadata.location == (isPreciseInTheSea ? .coordinates(latitude: 30, longitude: -45) : location),
            "\(levels.json) \(filter.profile) \(facts)"
        )
        let timestamp: [TimestampLevel: String] = [.dayOnly: "2024-03-01", .exact: "2024-03-01T23:59:59Z"]
        #expect(metadata.timestamp == (facts.capturedAt == nil ? nil : timestamp[levels.timestamp]))
        let device: [DeviceInfoLevel: String] = [
            .modelOnly: "Canon EOS R5", .full: "Canon EOS R5 / Linux 6.1.0-18-amd64 / 0.5.0",
        ]
        #expect(metadata.deviceModel == (facts.deviceModel == nil ? nil : device[levels.deviceInfo]))

        let isKnown = facts.capturedAt != nil
        let capturedAt =
            switch levels.timestamp {
            case .exact: isKnown ? "2024-03-01T23:59:59Z" : "2026-11-22T10:20:30Z"
            case .dayOnly: isKnown ? "2024-03-01T00:00:00Z" : "2026-11-22T00:00:00Z"
            case .none: "2026-11-22T00:00:00Z"
            }
        #expect(filter.capturedAt(of: facts, now: now) == capturedAt)
    }

    // MARK: Values

    static let decimals: [(Double, Double)] = [
        (48.85, 48.9), (-48.85, -48.9), (48.84999, 48.8), (0.04, 0), (-0.04, 0), (0.05, 0.1), (-0.05, -0.1), (90, 90),
        (-89.96, -90),
    ]

    @Test(arguments: decimals)
    func oneDecimalIsRoundedHalfAwayFromZero(degrees: Double, expected: Double) {
        let metadata = Self.filter(.reference, coordinates: true)
            .metadata(of: CaptureFacts(latitude: degrees, longitude: 10))
        guard case .coordinates(let latitude, let longitude)? = metadata.location else {
            Issue.record("no coordinates")
            return
        }
        #expect(latitude == expected)
        #expect(latitude.sign == .plus || latitude < 0, "no −0")
        #expect(longitude == 10)
    }

    @Test func preciseCoordinatesKeepTheirDigits() {
        // 1/3 has more digits than the reference server's parser reads exactly.
        let facts = CaptureFacts(latitude: 1.0 / 3, longitude: -0.0)
        #expect(
            Self.filter(location: .precise).metadata(of: facts).location
                == .coordinates(latitude: 1.0 / 3, longitude: 0)
        )
        #expect(
            Self.filter(.reference, location: .precise).metadata(of: facts).location
                == .coordinates(latitude: 0.333333333333333, longitude: 0)
        )
    }

    /// Expected values: `date -u -d @SECONDS`.
    static let times: [(Double, String?)] = [
        (0, "1970-01-01T00:00:00Z"), (-0.25, "1969-12-31T23:59:59Z"), (951_782_400, "2000-02-29T00:00:00Z"),
        (-62_135_596_800, "0001-01-01T00:00:00Z"), (253_402_300_799.5, "9999-12-31T23:59:59Z"),
        (253_402_300_800, nil), (-62_135_596_801, nil), (.nan, nil), (.infinity, nil), (1e300, nil),
    ]

    @Test(arguments: times)
    func timesAreWholeSecondsOfFourDigitYears(seconds: Double, expected: String?) {
        let facts = CaptureFacts(capturedAt: Date(timeIntervalSince1970: seconds))
        #expect(Self.filter().metadata(of: facts).timestamp == expected)
        #expect(Self.filter().capturedAt(of: facts, now: Self.now) == expected ?? "2026-11-22T10:20:30Z")
    }

    /// A local time without a zone discloses its own day, regardless of the day in UTC.
    @Test(
        arguments: [
            (.exact, "2024-03-01", .dayOnly), (.dayOnly, "2024-03-01", .dayOnly), (.none, nil, .none),
        ] as [(TimestampLevel, String?, TimestampLevel)]
    )
    func aTimeWithoutAZoneIsReducedToItsDay(level: TimestampLevel, expected: String?, reduced: TimestampLevel) {
        let facts = CaptureFacts(localTime: Date(timeIntervalSince1970: 1_709_337_599))
        let filter = Self.filter(timestamp: level)
        #expect(filter.metadata(of: facts).timestamp == expected)
        #expect(filter.timestampLevel(for: facts) == reduced)
        #expect(
            filter.capturedAt(of: facts, now: Self.now) == (expected ?? "2026-11-22") + "T00:00:00Z",
            "the seconds are not published either"
        )
    }

    static let models: [(String, String?)] = [
        ("  Pixel 9 \u{0}\n Pro ", "Pixel 9 Pro"), ("\u{202E}evil", "evil"), ("\u{1B}[31mred", "[31mred"), ("", nil),
        (" \t ", nil), ("日本のカメラ", "日本のカメラ"), (String(repeating: "x", count: 9_999), String(repeating: "x", count: 128)),
        // Characters of two bytes each, after a single byte: the 64th of them would be split.
        ("a" + String(repeating: "é", count: 100), "a" + String(repeating: "é", count: 63)),
    ]

    @Test(arguments: models)
    func modelsAreLimitedToOneShortLine(given: String, expected: String?) {
        #expect(Self.filter().metadata(of: CaptureFacts(deviceModel: given)).deviceModel == expected)
    }

    static let named: [(CaptureFacts, CaptureMetadata.Location?)] = [
        (CaptureFacts(country: "ch"), .place(city: nil, country: "CH")),
        (CaptureFacts(city: " ", country: "CH"), .place(city: nil, country: "CH")),
        (CaptureFacts(city: "Bern", country: "Switzerland"), nil),
        // Two letters only after conversion to uppercase.
        (CaptureFacts(city: "Bern", country: "ß"), nil),
        (CaptureFacts(city: "Bern"), nil),
        (CaptureFacts(latitude: 46.948, longitude: 7.4474, city: "Bümpliz"), .place(city: "Bümpliz", country: "CH")),
        // An invalid country does not restore the location that the user has replaced.
        (CaptureFacts(latitude: 46.948, longitude: 7.4474, country: "??"), nil),
    ]

    @Test(arguments: named)
    func placesOfTheUser(facts: CaptureFacts, expected: CaptureMetadata.Location?) {
        #expect(Self.filter().metadata(of: facts).location == expected)
    }
}
