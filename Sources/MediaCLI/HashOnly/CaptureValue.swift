internal import CaptureSubmission
internal import Foundation
internal import HashCapture
internal import MediaCore
internal import MediaCrypto
internal import MediaStore
internal import PhotoSync

/// Parses option values of `hash-only`, for `FlagValue`.
enum CaptureValue {
    // MARK: Depth

    /// `256x192`: columns and rows, each at least 1.
    static func depthSize(_ text: String) throws(InvalidValue) -> (width: Int, height: Int) {
        let parts = text.split(separator: "x", omittingEmptySubsequences: false)
        guard parts.count == 2, let width = positive(parts[0]), let height = positive(parts[1]) else {
            throw InvalidValue(
                rule: "is not a size in samples",
                hint: "specify columns and rows, for example 256x192"
            )
        }
        return (width, height)
    }

    /// Meters per unit, above 0.
    static func depthScale(_ text: String) throws(InvalidValue) -> Double {
        guard let scale = decimal(text), scale > 0, scale.isFinite else {
            throw InvalidValue(
                rule: "is not a positive number of meters",
                hint: "specify meters per unit: 0.001 for millimeters"
            )
        }
        return scale
    }

    // MARK: Facts

    /// `52.5163,13.3777`: degrees, north and east are positive. Each has at most 15 significant digits, so every JSON
    /// parser reads the same number.
    static func coordinates(_ text: String) throws(InvalidValue) -> (latitude: Double, longitude: Double) {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        guard parts.count == 2, let latitude = decimal(parts[0]), let longitude = decimal(parts[1]),
            abs(latitude) <= 90, abs(longitude) <= 180
        else {
            throw InvalidValue(
                rule: "is not a position",
                hint: "specify latitude,longitude in degrees, for example 52.5163,13.3777"
            )
        }
        guard parts.allSatisfy({ significantDigits($0) <= 15 }) else {
            throw InvalidValue(
                rule: "has more than 15 digits in a number",
                hint: "7 decimals are precise to about 1 cm"
            )
        }
        return (latitude, longitude)
    }

    /// `Berlin,DE`, or a country alone. The city is free text, since the table does not contain small towns; the
    /// country must exist.
    static func place(_ text: String) throws(InvalidValue) -> (city: String?, country: String) {
        let comma = text.lastIndex(of: ",")
        let city = comma.map { text[..<$0].trimmingCharacters(in: .whitespaces) }
        let country = text[(comma.map { text.index(after: $0) } ?? text.startIndex)...]
            .trimmingCharacters(in: .whitespaces)
        guard country.wholeMatch(of: /[A-Z]{2}/) != nil else {
            throw InvalidValue(
                rule: "does not end with a country",
                hint: "countries are two capital letters (ISO 3166-1), for example \"Berlin,DE\" or DE"
            )
        }
        guard PlaceTable.isCountryCode(country) else {
            throw InvalidValue(
                rule: "does not end with a valid country code",
                hint: "use ISO 3166-1 alpha-2, for example GB for the United Kingdom"
            )
        }
        if let city {
            guard !city.isEmpty else {
                throw InvalidValue(rule: "has no city", hint: "omit the comma to specify only the country")
            }
            _ = try words(city)
            guard city.utf8.count <= 200 else { throw InvalidValue(rule: "is too long", hint: "use at most 200 bytes") }
        }
        return (city, country)
    }

    /// RFC 3339 with a valid zone, and a year that is possible for a photo.
    static func time(_ text: String) throws(InvalidValue) -> Date {
        guard let microseconds = RFC3339.microseconds(text) else {
            throw InvalidValue(
                rule: "is not a time with a zone",
                hint: "use the form 2026-05-01T18:30:00Z or 2026-05-01T20:30:00+02:00"
            )
        }
        guard timeRange.contains(microseconds / 1_000_000) else {
            throw InvalidValue(
                rule: "is out of range",
                hint: "use a year from 1826, the year of the first photo, to 9999"
            )
        }
        guard text.hasSuffix("Z") || UTCOffset.seconds(text.utf8.suffix(6)) != nil else {
            throw InvalidValue(rule: "has an invalid UTC offset", hint: "from -12:00 to +14:00")
        }
        return Date(timeIntervalSince1970: Double(microseconds) / 1_000_000)
    }

    /// 1826-01-01T00:00:00Z to 9999-12-31T23:59:59Z.
    private static let timeRange: ClosedRange<Int64> = -4_544_208_000...253_402_300_799

    /// `+02:00`, `-03:30` or `Z`, in seconds.
    static func utcOffset(_ text: String) throws(InvalidValue) -> Int {
        guard let seconds = UTCOffset.seconds(text.utf8) else {
            throw InvalidValue(
                rule: "is not an offset from UTC",
                hint: "use the form +02:00, -03:30 or Z, from -12:00 to +14:00"
            )
        }
        return Int(seconds)
    }

    /// Printable text on one line; not blank.
    static func words(_ text: String) throws(InvalidValue) -> String {
        let isBlank = text.allSatisfy(\.isWhitespace)
        guard !isBlank, !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw InvalidValue(rule: isBlank ? "is blank" : "contains control characters")
        }
        return text
    }

    // MARK: Media

    /// `sha256:` and 64 hexadecimal digits.
    static func digest(_ text: String) throws(InvalidValue) -> SHA256Digest {
        guard text.hasPrefix("sha256:"), let digest = SHA256Digest(hex: String(text.dropFirst(7))) else {
            throw InvalidValue(
                rule: "is not a SHA-256",
                hint: "specify sha256: and 64 hexadecimal digits, as printed by sha256sum"
            )
        }
        return digest
    }

    /// The last digest of a camera's hash chain, a colon, and the number of frames.
    static func hashChain(_ text: String) throws(InvalidValue) -> VideoMembers.HashChain {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let hash = SHA256Digest(hex: String(parts[0])), let length = positive(parts[1]),
            let frames = Int32(exactly: length)
        else {
            throw InvalidValue(
                rule: "is not a hash chain",
                hint: "specify the 64 hexadecimal digits of the last hash, a colon, and the length in frames"
            )
        }
        return VideoMembers.HashChain(finalHash: hash, chainLength: frames)
    }

    /// From 1 to 2^31 - 1.
    static func amount(_ text: String) throws(InvalidValue) -> Int32 {
        guard let number = positive(text[...]), let amount = Int32(exactly: number) else {
            throw InvalidValue(rule: "is not a whole number from 1 to 2147483647")
        }
        return amount
    }

    /// A UUID (RFC 9562), in lowercase.
    static func uuid(_ text: String) throws(InvalidValue) -> String {
        guard let uuid = UUID(uuidString: text) else {
            throw InvalidValue(rule: "is not a UUID", hint: "specify it as issued by the server")
        }
        return uuid.uuidString.lowercased()
    }

    // MARK: Digits

    private static func positive(_ text: Substring) -> Int? {
        guard Digits.only(text), let number = Int(text), number > 0 else { return nil }
        return number
    }

    /// Plain decimal notation: no exponent, infinity or hexadecimal digits.
    private static func decimal(_ text: some StringProtocol) -> Double? {
        let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
        let parts = digits.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count <= 2, parts.allSatisfy({ Digits.only($0) }) else { return nil }
        // -0 would be serialized differently from 0 (contract, trap 7).
        return Double(text).map { $0 == 0 ? 0 : $0 }
    }

    private static func significantDigits(_ text: some StringProtocol) -> Int {
        text.filter(\.isNumber).drop { $0 == "0" }.count
    }
}
