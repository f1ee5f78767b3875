internal import MediaCore

/// Values from the metadata of a QuickTime or MP4 movie: the keys defined by the QuickTime file format ("Metadata",
/// namespace `mdta`), its user data ("User data atoms", `udta`), the items written by iTunes, and the location defined
/// in 3GPP TS 26.244 section 8.10.
///
/// Reads a few kilobytes, never the whole file. Metadata of individual tracks is not read.
package struct MovieMetadata {
    /// A time with a zone: microseconds since 1970.
    package private(set) var creationTime: Int64?
    /// The digits of a time without a zone, interpreted as UTC: microseconds since 1970.
    package private(set) var localTime: Int64?
    /// Degrees; 0, 0 is treated as unknown, as in photos.
    package private(set) var position: (latitude: Double, longitude: Double)?
    /// The camera model, without the manufacturer.
    package let model: String?

    /// nil for other files and for movies without metadata.
    package init?(of file: SourceFile) {
        let content = BoundedContent(of: file)
        guard let start = content.bytes(at: 0, count: 12), MovieHeader.isPossible(after: start),
            let movie = content.box("moov", in: content.whole)
        else { return nil }
        var items = MovieItems()
        items.read(movie, in: content)
        guard !items.isEmpty else { return nil }
        model = items.first(["com.apple.quicktime.model", "com.android.model", "©mod"])
            .flatMap { String(validating: $0, as: UTF8.self) }
        for text in ["com.apple.quicktime.creationdate", "©day"].compactMap({ items.first([$0]) }) {
            if let time = Self.time(text) {
                creationTime = time
                break
            }
            localTime = localTime ?? Self.digits(text)
        }
        position =
            items.first(["com.apple.quicktime.location.ISO6709", "©xyz"]).flatMap(Self.position) ?? items.position
    }

    /// `2024-03-01T20:15:07+1100` (Apple's format), or RFC 3339.
    private static func time(_ text: [UInt8]) -> Int64? {
        var text = text
        if text.count >= 24, let sign = text.dropLast(4).last, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") {
            text.insert(UInt8(ascii: ":"), at: text.count - 2)
        }
        // An impossible zone offset indicates a bug in the software that wrote it.
        guard text.last == UInt8(ascii: "Z") || UTCOffset.seconds(text.suffix(6)) != nil else { return nil }
        return RFC3339.microseconds(String(decoding: text, as: UTF8.self))
    }

    /// `2024-03-01T20:15:07`, or with a space; nil for a day or a year without a time.
    private static func digits(_ text: [UInt8]) -> Int64? {
        guard text.count >= 19, let time = CivilTime(text, at: [0, 5, 8, 11, 14, 17]), time.year > 0 else { return nil }
        return time.secondsSince1970 * 1_000_000
    }

    /// ISO 6709 annex H: `+48.8584+002.2945+035.0/`, `+4851.504+00217.67/` or `+485130.1-0021740.1/`; altitude and
    /// reference system are ignored.
    private static func position(_ text: [UInt8]) -> (latitude: Double, longitude: Double)? {
        var text = text[...]
        guard let latitude = angle(&text, degreeDigits: 2, limit: 90),
            let longitude = angle(&text, degreeDigits: 3, limit: 180),
            text.isEmpty
                || [UInt8(ascii: "/"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "C")].contains(
                    text[text.startIndex]
                )
        else { return nil }
        return position(latitude, longitude)
    }

    fileprivate static func position(
        _ latitude: DecimalDegrees,
        _ longitude: DecimalDegrees
    ) -> (latitude: Double, longitude: Double)? {
        guard latitude.units != 0 || longitude.units != 0 else { return nil }
        return (latitude.degrees, longitude.degrees)
    }

    /// Removes a sign, digits and a fraction from the front.
    private static func angle(_ text: inout ArraySlice<UInt8>, degreeDigits: Int, limit: UInt64) -> DecimalDegrees? {
        guard let sign = text.popFirst(), sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") else { return nil }
        let whole = digits(of: &text)
        var fraction: [UInt8] = []
        if text.first == UInt8(ascii: ".") {
            text.removeFirst()
            fraction = digits(of: &text)
            guard !fraction.isEmpty else { return nil }
        }
        // Degrees, minutes and seconds of two digits each; the fraction belongs to the last part.
        guard [degreeDigits, degreeDigits + 2, degreeDigits + 4].contains(whole.count) else { return nil }
        var parts = [Array(whole.prefix(degreeDigits))]
        for start in stride(from: degreeDigits, to: whole.count, by: 2) {
            parts.append(Array(whole[start..<start + 2]))
        }
        let last = parts.count - 1
        // Nine decimals of a degree are about a tenth of a millimeter.
        parts[last] += fraction.prefix(9)
        var fractions = parts.enumerated().compactMap { index, digits in
            digits.decimal(at: 0, count: digits.count).flatMap {
                Fraction(UInt64($0), index == last ? power(of: min(fraction.count, 9)) : 1)
            }
        }
        while fractions.count < 3 {
            guard let zero = Fraction(0, 1) else { return nil }
            fractions.append(zero)
        }
        return DecimalDegrees(fractions, isNegative: sign == UInt8(ascii: "-"), limit: limit)
    }

    private static func digits(of text: inout ArraySlice<UInt8>) -> [UInt8] {
        let digits = text.prefix { (0x30...0x39).contains($0) }
        text.removeFirst(digits.count)
        return Array(digits)
    }

    private static func power(of exponent: Int) -> UInt64 { (0..<exponent).reduce(1) { power, _ in power * 10 } }
}

/// Texts by name: keys in the namespace `mdta`, and four-character types in user data, with `©` for the byte 0xA9.
private struct MovieItems {
    private var texts: [String: [UInt8]] = [:]
    /// The position in the `loci` box.
    private(set) var position: (latitude: Double, longitude: Double)?

    /// More keys than any camera writes; further keys are not read.
    private static let maximumKeys = 1_024
    /// Longer than any relevant text.
    private static let maximumText: Int64 = 2_048

    var isEmpty: Bool { texts.isEmpty && position == nil }

    func first(_ names: [String]) -> [UInt8]? { names.lazy.compactMap { texts[$0] }.first }

    /// The metadata of the movie itself takes precedence over the metadata in its user data.
    mutating func read(_ movie: Span, in content: BoundedContent) {
        if let meta = content.box("meta", in: movie) { readMeta(meta, in: content) }
        guard let data = content.box("udta", in: movie) else { return }
        if let meta = content.box("meta", in: data) { readMeta(meta, in: content) }
        for box in content.boxes(in: data) {
            if box.type == "loci" {
                position = position ?? Self.location(box.content, in: content)
            } else if let name = Self.name(box.code) {
                keep(Self.international(box.content, in: content), name)
            }
        }
    }

    /// ISO 14496-12 has version and flags before the inner boxes; QuickTime does not.
    private mutating func readMeta(_ meta: Span, in content: BoundedContent) {
        let isPlain = content.bytes(at: meta.start, count: 8)?.fourCharacters(at: 4) == "hdlr"
        guard let boxes = isPlain ? meta : meta.dropping(4), let list = content.box("ilst", in: boxes)
        else { return }
        let keys = content.box("keys", in: boxes).map { Self.keys($0, in: content) } ?? []
        for item in content.boxes(in: list) {
            // The type of an item is the number of its key, counted from 1, or four characters if there are no keys.
            let name =
                keys.isEmpty
                ? Self.name(item.code) : (1...keys.count).contains(Int(item.code)) ? keys[Int(item.code) - 1] : nil
            guard let name, let data = content.box("data", in: item.content),
                // Type of the value (1: UTF-8) and its locale.
                let value = data.dropping(8), content.bytes(at: data.start, count: 4) == [0, 0, 0, 1]
            else { continue }
            keep(content.bytes(at: value.start, count: Int(min(value.count, Self.maximumText))), name)
        }
    }

    private static func keys(_ box: Span, in content: BoundedContent) -> [String] {
        guard let list = box.dropping(8) else { return [] }
        return content.boxes(in: list).prefix(maximumKeys).map { key in
            let bytes = content.bytes(at: key.content.start, count: Int(min(key.content.count, maximumText))) ?? []
            return key.type == "mdta" ? String(decoding: bytes, as: UTF8.self) : ""
        }
    }

    /// `©day` and similar; nil for other types.
    private static func name(_ code: UInt32) -> String? {
        guard code >> 24 == 0xA9 else { return nil }
        let letters = [code >> 16, code >> 8, code].map { UInt8(truncatingIfNeeded: $0) }
        return "©" + String(decoding: letters, as: UTF8.self)
    }

    /// A length and a language of 16 bits each, then the text; further languages may follow.
    private static func international(_ box: Span, in content: BoundedContent) -> [UInt8]? {
        guard let rest = box.dropping(4),
            let length = content.bigEndian(at: box.start, count: 2)
        else { return nil }
        return content.bytes(at: rest.start, count: Int(min(Int64(length), rest.count, maximumText)))
    }

    /// Version, flags, language, name and role, then longitude and latitude.
    private static func location(_ box: Span, in content: BoundedContent) -> (
        latitude: Double, longitude: Double
    )? {
        let bytes = content.bytes(at: box.start, count: Int(min(box.count, maximumText))) ?? []
        guard bytes.count > 6 else { return nil }
        let isWide = bytes.count > 8 && (bytes[6...7] == [0xFE, 0xFF] || bytes[6...7] == [0xFF, 0xFE])
        var end = 6
        if isWide {
            while end + 1 < bytes.count, bytes[end] != 0 || bytes[end + 1] != 0 { end += 2 }
            end += 2
        } else {
            while end < bytes.count, bytes[end] != 0 { end += 1 }
            end += 1
        }
        func number(_ offset: Int) -> Int32? {
            bytes.bigEndian(at: offset, count: 4).map { Int32(truncatingIfNeeded: $0) }
        }
        guard let longitude = number(end + 1).flatMap({ DecimalDegrees(fixedPoint: $0, limit: 180) }),
            let latitude = number(end + 5).flatMap({ DecimalDegrees(fixedPoint: $0, limit: 90) })
        else { return nil }
        return MovieMetadata.position(latitude, longitude)
    }

    /// Stores the first text for each name, without surrounding zeros and spaces.
    private mutating func keep(_ bytes: [UInt8]?, _ name: String) {
        guard let bytes, texts[name] == nil else { return }
        let text = bytes.prefix { $0 != 0 }.drop { $0 == 0x20 }
        let end = text.lastIndex { $0 != 0x20 }.map { $0 + 1 } ?? text.startIndex
        guard end > text.startIndex else { return }
        texts[name] = Array(text[text.startIndex..<end])
    }
}
