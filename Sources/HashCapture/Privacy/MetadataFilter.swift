package import CaptureSubmission
package import Foundation
internal import MediaCore

/// Builds the disclosed metadata: an allow-list with levels (hash-only contract section 4).
package struct MetadataFilter: Sendable {
    package var settings: PrivacySettings
    package var profile: CaptureProfile
    /// For `reference`, which does not accept city and country: whether the user requested latitude and longitude with
    /// one decimal, rounded half away from zero.
    package var sendsCoarseCoordinates: Bool = false
    /// Linux kernel release, disclosed at the level `full`.
    package var systemVersion: String
    package var programVersion: String

    /// Members that the levels allow and whose values are known; impossible facts are treated as unknown.
    package func metadata(of facts: CaptureFacts) -> CaptureMetadata { metadata(of: facts, placeFinding(of: facts)) }

    /// Like `metadata(of:)`, with the result of `placeFinding`.
    func metadata(of facts: CaptureFacts, _ finding: PlaceTable.Finding?) -> CaptureMetadata {
        CaptureMetadata(
            location: location(of: facts, finding),
            timestamp: timestamp(of: facts),
            deviceModel: device(of: facts)
        )
    }

    /// The table's result for a position; nil if no place is to be disclosed, or the user specified the country.
    func placeFinding(of facts: CaptureFacts) -> PlaceTable.Finding? {
        guard settings.location == .coarse, profile == .mediactl1, facts.country == nil,
            let latitude = facts.latitude, let longitude = facts.longitude
        else { return nil }
        return PlaceTable.find(latitude: latitude, longitude: longitude)
    }

    /// `captured_at`, RFC 3339 with `Z`: the second, its UTC day, or the UTC day of the submission (contract section
    /// 4). A local time without a zone yields its own day. An unknown time is replaced with `now`, the time of the
    /// submission.
    package func capturedAt(of facts: CaptureFacts, now: Date) -> String {
        // The epoch is used for clocks outside the years 1 to 9999; a server rejects this time because of its time
        // window.
        let taken = time(of: facts) ?? Self.second(of: now)
        return switch timestampLevel(for: facts) {
        case .exact: taken.map { $0.text + "Z" } ?? Self.epoch
        case .dayOnly: taken.map { $0.dayText + "T00:00:00Z" } ?? Self.epoch
        case .none: Self.day(of: now)
        }
    }

    /// `captured_at` at the level `none`: the UTC day of the submission.
    static func day(of submission: Date) -> String {
        second(of: submission).map { $0.dayText + "T00:00:00Z" } ?? epoch
    }

    /// The level that applies to these facts: for a local time without a zone, only the day is disclosed.
    package func timestampLevel(for facts: CaptureFacts) -> TimestampLevel {
        settings.timestamp == .exact && isZoneUnknown(in: facts) ? .dayOnly : settings.timestamp
    }

    private func isZoneUnknown(in facts: CaptureFacts) -> Bool {
        facts.capturedAt.flatMap(Self.second) == nil && facts.localTime.flatMap(Self.second) != nil
    }

    /// The time in UTC, otherwise the camera's clock.
    private func time(of facts: CaptureFacts) -> CivilTime? {
        (isZoneUnknown(in: facts) ? facts.localTime : facts.capturedAt).flatMap(Self.second)
    }

    private static let epoch = "1970-01-01T00:00:00Z"

    /// The UTC second of a time; nil outside the years 1 to 9999, the range in contract section 4.
    private static func second(of time: Date) -> CivilTime? {
        let seconds = time.timeIntervalSince1970.rounded(.down)
        // 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z; NaN is outside every range.
        guard (-62_135_596_800...253_402_300_799).contains(seconds) else { return nil }
        return CivilTime(secondsSince1970: Int64(seconds))
    }

    // MARK: Members

    private func timestamp(of facts: CaptureFacts) -> String? {
        guard let taken = time(of: facts) else { return nil }
        return switch timestampLevel(for: facts) {
        case .none: nil
        case .dayOnly: taken.dayText
        case .exact: taken.text + "Z"
        }
    }

    /// The model of the camera, from the file or the user; ` / Linux ` is added for this machine (M13). If there is no
    /// model, nothing is disclosed.
    private func device(of facts: CaptureFacts) -> String? {
        guard let model = facts.deviceModel.flatMap(DisclosedText.cleaned) else { return nil }
        switch settings.deviceInfo {
        case .none: return nil
        case .modelOnly: return model
        case .full:
            let system = DisclosedText.cleaned(systemVersion) ?? "unknown"
            return "\(model) / Linux \(system) / \(DisclosedText.cleaned(programVersion) ?? "unknown")"
        }
    }

    private func location(of facts: CaptureFacts, _ finding: PlaceTable.Finding?) -> CaptureMetadata.Location? {
        switch (settings.location, profile) {
        case (.none, _): return nil
        case (.coarse, .mediactl1): return place(of: facts, finding)
        case (.coarse, .reference): return sendsCoarseCoordinates ? coordinates(of: facts, Self.oneDecimal) : nil
        case (.precise, .mediactl1): return coordinates(of: facts) { $0 }
        case (.precise, .reference): return coordinates(of: facts, DecimalDigits.rounded)
        }
    }

    private func coordinates(of facts: CaptureFacts, _ spelled: (Double) -> Double) -> CaptureMetadata.Location? {
        guard let latitude = facts.latitude, let longitude = facts.longitude,
            let position = GeoPosition(latitude: latitude, longitude: longitude)
        else { return nil }
        // Adding 0 turns −0 into 0 (trap 8).
        return .coordinates(latitude: spelled(position.latitude) + 0, longitude: spelled(position.longitude) + 0)
    }

    /// City and country specified by the user, otherwise from the offline table. Never coordinates.
    private func place(of facts: CaptureFacts, _ finding: PlaceTable.Finding?) -> CaptureMetadata.Location? {
        let city = facts.city.flatMap(DisclosedText.cleaned)
        if let country = facts.country { return Self.countryCode(country).map { .place(city: city, country: $0) } }
        guard case .place(let place) = finding else { return nil }
        return .place(city: city ?? place.city, country: place.country)
    }

    /// Two letters; nil for other text, which is therefore never disclosed.
    private static func countryCode(_ text: String) -> String? {
        // Checked before uppercasing, since `ß` would become two letters.
        guard text.utf8.count == 2, text.utf8.allSatisfy({ (0x41...0x5A).contains($0 & ~0x20) }) else { return nil }
        return text.uppercased()
    }

    /// The precision for `reference` at the level `coarse`: rounded half away from zero.
    private static func oneDecimal(_ degrees: Double) -> Double {
        (degrees * 10).rounded(.toNearestOrAwayFromZero) / 10
    }
}

/// Sanitizes text from a file or the user before it is disclosed.
enum DisclosedText {
    /// More than the name of any model or city needs, but small enough for a body.
    static let byteLimit = 128

    /// One line without control characters, bidirectional controls or surrounding whitespace, truncated between
    /// characters to the limit; nil if nothing is left.
    static func cleaned(_ text: String) -> String? {
        var kept = String.UnicodeScalarView()
        // Bounds the work for very long texts.
        for scalar in text.unicodeScalars.prefix(4 * byteLimit) {
            switch scalar.properties.generalCategory {
            case .format, .surrogate, .privateUse, .unassigned: continue
            case .control, .spaceSeparator, .lineSeparator, .paragraphSeparator: kept.append(" ")
            default: kept.append(scalar)
            }
        }
        var result = ""
        for word in String(kept).split(separator: " ") {
            let joined = result.isEmpty ? String(word) : result + " " + word
            guard joined.utf8.count > byteLimit else {
                result = joined
                continue
            }
            var cut = joined
            while cut.utf8.count > byteLimit { cut.removeLast() }
            return cut.hasSuffix(" ") ? String(cut.dropLast()) : (cut.isEmpty ? nil : cut)
        }
        return result.isEmpty ? nil : result
    }
}

enum SystemVersion {
    /// The kernel's release, for example `6.1.0`, without the distribution's suffix.
    static var current: String {
        var name = utsname()
        guard uname(&name) == 0 else { return "" }
        let release = withUnsafeBytes(of: &name.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        return String(release.prefix { $0.isNumber || $0 == "." })
    }
}
