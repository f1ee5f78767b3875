internal import CPlaces
internal import Foundation

/// Finds the city and country of a position in a built-in table (GeoNames, CC BY 4.0), without network access.
///
/// The city is the country's nearest place with at least 15,000 inhabitants, or the larger city that absorbs this
/// place. The country is the country of the nearest place, unless a foreign place is too near for certainty: the table
/// contains places, not borders. Rule and error rates: Sources/CPlaces/README.md.
package enum PlaceTable {
    package struct Place: Sendable, Equatable {
        /// nil if no city is near enough.
        package var city: String?
        /// ISO 3166-1 alpha-2.
        package var country: String
    }

    package enum Finding: Sendable, Equatable {
        case place(Place)
        /// The country is uncertain; contains the nearest place, and the nearest one in another country.
        case border([PlaceCandidate])
        /// Too few places nearby, a country with fewer than 1,000 inhabitants, or an invalid position.
        case unknown
    }

    /// Maximum distance of the nearest place, and of the place whose city is disclosed, in kilometers.
    static let placeRadius = 30.0
    /// Maximum distance at which foreign places are searched for, in kilometers.
    static let foreignRadius = 100.0

    /// Finds the place for a position, or the reason why there is none. Reads hundreds to thousands of entries.
    package static func find(latitude: Double, longitude: Double) -> Finding {
        guard let position = GeoPosition(latitude: latitude, longitude: longitude), let grid = PlaceGrid() else {
            return .unknown
        }
        return find(position, in: grid)
    }

    static func find(_ position: GeoPosition, in grid: PlaceGrid) -> Finding {
        guard let nearest = grid.nearest(to: position, within: placeRadius, where: { _ in true }) else {
            return .unknown
        }
        let country = nearest.entry.country
        let foreign = grid.nearest(to: position, within: foreignRadius) { $0.country != country }
        let city = city(of: country, position, in: grid)?.name
        guard isCertain(nearest, foreign, city, position, in: grid) else {
            guard let foreign else { return .unknown }
            return .border([nearest, foreign].compactMap { candidate($0, position, in: grid) })
        }
        guard grid.isNamed(country), let code = grid.countryCode(country) else { return .unknown }
        return .place(Place(city: city, country: code))
    }

    /// Whether the text is a country code: ISO 3166-1 alpha-2, or XK, which GeoNames uses for Kosovo.
    package static func isCountryCode(_ text: String) -> Bool {
        guard let grid = PlaceGrid() else { return false }
        return grid.countryNumbers.contains { grid.countryCode($0) == text }
    }

    // MARK: Border

    /// Whether the position is certainly in the country of the nearest place. The nearest foreign place must be three
    /// times as far away. In the center of a place in the country, it must be 3 km farther away: the border is then at
    /// least 1.5 km away. Elsewhere, it must be 12 km away, and 15 places in the country must be nearer; if there is no
    /// foreign place within 100 km, a city is sufficient.
    private static func isCertain(
        _ nearest: PlaceGrid.Neighbor,
        _ foreign: PlaceGrid.Neighbor?,
        _ city: String?,
        _ position: GeoPosition,
        in grid: PlaceGrid
    ) -> Bool {
        let country = nearest.entry.country
        let foreignDistance = foreign?.distance ?? foreignRadius
        guard foreignDistance >= 3 * nearest.distance else { return false }
        if foreign == nil, city != nil { return true }
        var (isInCenter, nearer) = (false, 0)
        let radius = max(foreignDistance, PlaceGrid.maximumCenterRadius)
        grid.forEachEntry(within: radius, of: position, where: { $0.country == country }) { entry, away in
            if away <= entry.centerRadius { isInCenter = true }
            if away < foreignDistance { nearer += 1 }
        }
        return isInCenter && foreignDistance >= nearest.distance + 3 || foreignDistance >= 12 && nearer >= 15
    }

    private static func candidate(
        _ neighbor: PlaceGrid.Neighbor,
        _ position: GeoPosition,
        in grid: PlaceGrid
    ) -> PlaceCandidate? {
        grid.countryCode(neighbor.entry.country).map {
            let city = city(of: neighbor.entry.country, position, in: grid)
            return PlaceCandidate(city: city?.name, country: $0, kilometers: city?.distance ?? neighbor.distance)
        }
    }

    private static func city(
        of country: Int,
        _ position: GeoPosition,
        in grid: PlaceGrid
    ) -> (name: String, distance: Double)? {
        let nearest = grid.nearest(to: position, within: placeRadius) { $0.name != nil && $0.country == country }
        guard let nearest, let name = nearest.entry.name.flatMap({ grid.name(at: $0) }) else { return nil }
        return (name, nearest.distance)
    }
}

/// A place near a border.
public struct PlaceCandidate: Sendable, Equatable {
    /// A city in the country near the position; nil if none is near enough.
    public var city: String?
    /// ISO 3166-1 alpha-2.
    public var country: String
    /// Distance of the city, or of the place that it absorbs, in kilometers; if there is no city, the distance of the
    /// nearest place in this country.
    public var kilometers: Double
}

/// Reads the built-in table (Sources/CPlaces/README.md): places in cells of one degree. The table is read in place, so
/// it requires neither startup time nor memory.
struct PlaceGrid {
    struct Entry {
        var country: Int
        /// Offset of the name of its city: the place itself or the city that absorbs it. nil for a place that is only
        /// used to determine the country.
        var name: Int?
        /// Distance within which a position is certainly inside the place, in kilometers.
        var centerRadius: Double
    }

    /// Largest `centerRadius` that the table can store.
    static let maximumCenterRadius = 15.5

    private static let rowCount = 180
    private static let columnCount = 360
    private static let headerSize = 24
    private static let entrySize = 8

    private let bytes: UnsafeRawBufferPointer
    private let entries: Int
    private let countries: Int
    private let names: Int
    private let namedCountries: Int

    /// nil if the built-in table is invalid; a test ensures that it is valid.
    init?() {
        // The table is static data, which is never freed.
        self.init(UnsafeRawBufferPointer(start: places_table(), count: places_table_size()))
    }

    /// - Parameter bytes: Must outlive this value.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= Self.headerSize, bytes.prefix(8).elementsEqual("PLACES2\0".utf8) else { return nil }
        self.bytes = bytes
        entries = Self.headerSize + (Self.rowCount * Self.columnCount + 1) * 4
        func number(_ offset: Int) -> Int {
            Int(bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self).littleEndian)
        }
        countries = entries + number(8) * Self.entrySize
        names = countries + number(12) * 2
        namedCountries = number(16)
        guard names + number(20) == bytes.count, namedCountries <= number(12) else { return nil }
    }

    struct Neighbor {
        var entry: Entry
        /// Kilometers.
        var distance: Double
    }

    /// The nearest accepted place within `limit` kilometers, usually in the cells around the position.
    func nearest(to position: GeoPosition, within limit: Double, where isWanted: (Entry) -> Bool) -> Neighbor? {
        for radius in [10, PlaceTable.placeRadius, PlaceTable.foreignRadius] where radius <= limit {
            var nearest: Neighbor?
            forEachEntry(within: radius, of: position, where: isWanted) { entry, distance in
                if distance < nearest?.distance ?? .infinity { nearest = Neighbor(entry: entry, distance: distance) }
            }
            if let nearest { return nearest }
        }
        return nil
    }

    /// Calls `body` with each accepted place within a radius, and with its distance in kilometers.
    func forEachEntry(
        within radius: Double,
        of position: GeoPosition,
        where isWanted: (Entry) -> Bool,
        _ body: (Entry, _ distance: Double) -> Void
    ) {
        let reach = radius / GeoPosition.earthRadius * 180 / .pi
        let rows = row(position.latitude - reach)...row(position.latitude + reach)
        // A circle around a pole covers every longitude; otherwise, it is widest at this angle from its center's
        // longitude.
        let ratio = sin(reach * .pi / 180) / cos(position.latitude * .pi / 180)
        let width = abs(position.latitude) + reach < 90 && ratio < 1 ? asin(ratio) * 180 / .pi : 180
        let columns =
            width < 179
            ? Int((position.longitude - width).rounded(.down))...Int((position.longitude + width).rounded(.down))
            : -180...179
        for row in rows {
            for column in columns {
                // Wraps around at ±180°.
                let wrapped = (column + 180 + Self.columnCount) % Self.columnCount
                forEachEntry(row: row, column: wrapped) { entry, latitude, longitude in
                    // This check is cheaper than computing the distance, and sufficient for most entries.
                    guard abs(latitude - position.latitude) <= reach, isWanted(entry) else { return }
                    let distance = position.kilometers(toLatitude: latitude, longitude: longitude)
                    if distance <= radius { body(entry, distance) }
                }
            }
        }
    }

    private func row(_ latitude: Double) -> Int {
        min(max(Int(latitude.rounded(.down)) + 90, 0), Self.rowCount - 1)
    }

    private func forEachEntry(row: Int, column: Int, _ body: (Entry, _ latitude: Double, _ longitude: Double) -> Void) {
        let cell = Self.headerSize + (row * Self.columnCount + column) * 4
        for number in whole(cell, UInt32.self)..<max(whole(cell, UInt32.self), whole(cell + 4, UInt32.self)) {
            let start = entries + number * Self.entrySize
            guard start + Self.entrySize <= countries else { return }
            let packed = whole(start + 5, UInt16.self) | Int(bytes[start + 7]) << 16
            let name = packed & 0x7FFFF
            body(
                Entry(
                    country: Int(bytes[start + 4]),
                    name: name == 0 ? nil : name,
                    // 50 m for a place whose radius rounds to zero half kilometers.
                    centerRadius: max(0.05, Double(packed >> 19) / 2)
                ),
                Double(row - 90) + (Double(whole(start, UInt16.self)) + 0.5) / 65_536,
                Double(column - 180) + (Double(whole(start + 2, UInt16.self)) + 0.5) / 65_536
            )
        }
    }

    var countryNumbers: Range<Int> { 0..<(names - countries) / 2 }

    /// Whether the country may be disclosed: disclosing Pitcairn would identify one of about fifty people.
    func isNamed(_ country: Int) -> Bool { country < namedCountries }

    func countryCode(_ number: Int) -> String? {
        let start = countries + number * 2
        guard start + 2 <= names else { return nil }
        return String(decoding: bytes[start..<start + 2], as: UTF8.self)
    }

    /// A name is stored as its length in one byte, followed by UTF-8.
    func name(at offset: Int) -> String? {
        let start = names + offset
        guard start < bytes.count, start + 1 + Int(bytes[start]) <= bytes.count else { return nil }
        return String(validating: bytes[start + 1..<start + 1 + Int(bytes[start])], as: UTF8.self)
    }

    private func whole<Number: FixedWidthInteger>(_ offset: Int, _ type: Number.Type) -> Int {
        Int(bytes.loadUnaligned(fromByteOffset: offset, as: type).littleEndian)
    }
}
