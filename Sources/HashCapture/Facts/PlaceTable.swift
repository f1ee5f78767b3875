internal import CPlaces
internal import Foundation

/// City and country of a position, from a table in the program (GeoNames, CC BY 4.0), without network access.
///
/// The country is that of the nearest place with at least 1,000 inhabitants. The city is the nearest one of that
/// country with at least 15,000 inhabitants, without quarters and suburbs of larger cities, which would be too precise.
/// Close to a border the nearest place may be on the other side.
package enum PlaceTable {
    package struct Place: Sendable, Equatable {
        /// nil when no city is near enough.
        package var city: String?
        /// ISO 3166-1 alpha-2.
        package var country: String
    }

    /// Maximum distance of the city, in kilometers.
    static let cityRadius = 30.0
    /// Maximum distance of the place that decides the country, in kilometers.
    static let countryRadius = 100.0

    /// The place of a position; nil when it is too far from every place, or invalid. Up to 30 km from the nearest
    /// place, its country is returned; up to 100 km only if all places within 100 km are in one country, since such a
    /// position may well be in another.
    package static func place(latitude: Double, longitude: Double) -> Place? {
        guard let position = GeoPosition(latitude: latitude, longitude: longitude), let grid = PlaceGrid() else {
            return nil
        }
        var nearest: (distance: Double, country: Int)?
        var countries = Set<Int>()
        grid.forEachEntry(within: countryRadius, of: position) { entry, distance in
            countries.insert(entry.country)
            if distance < nearest?.distance ?? .infinity { nearest = (distance, entry.country) }
        }
        guard let nearest, nearest.distance <= cityRadius || countries.count == 1,
            let country = grid.countryCode(nearest.country)
        else { return nil }
        var city: (distance: Double, name: Int)?
        grid.forEachEntry(within: cityRadius, of: position) { entry, distance in
            guard let name = entry.name, entry.country == nearest.country else { return }
            if distance < city?.distance ?? .infinity { city = (distance, name) }
        }
        return Place(city: city.flatMap { grid.name(at: $0.name) }, country: country)
    }
}

/// Reads the table in the program (Sources/CPlaces/README.md): places by cells of one degree. It is read in place, so
/// it needs neither startup time nor memory.
struct PlaceGrid {
    struct Entry {
        var country: Int
        /// Offset of its name; nil for a place that only decides the country.
        var name: Int?
    }

    private static let rowCount = 180
    private static let columnCount = 360
    private static let headerSize = 20
    private static let entrySize = 8

    private let bytes: UnsafeRawBufferPointer
    private let entries: Int
    private let countries: Int
    private let names: Int

    /// nil when the program's table is invalid, which a test rules out.
    init?() {
        // Static data of the program, which is never freed.
        self.init(UnsafeRawBufferPointer(start: places_table(), count: places_table_size()))
    }

    /// - Parameter bytes: Must live as long as this value.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= Self.headerSize, bytes.prefix(8).elementsEqual("PLACES1\0".utf8) else { return nil }
        self.bytes = bytes
        entries = Self.headerSize + (Self.rowCount * Self.columnCount + 1) * 4
        func number(_ offset: Int) -> Int {
            Int(bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self).littleEndian)
        }
        countries = entries + number(8) * Self.entrySize
        names = countries + number(12) * 2
        guard names + number(16) == bytes.count else { return nil }
    }

    /// Calls `body` with each place within a radius, and with its distance, in kilometers.
    func forEachEntry(within radius: Double, of position: GeoPosition, _ body: (Entry, _ distance: Double) -> Void) {
        let reach = radius / GeoPosition.earthRadius * 180 / .pi
        let rows = row(position.latitude - reach)...row(position.latitude + reach)
        // A circle around a pole covers every longitude; otherwise it is widest at this angle from its center's.
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
                    let distance = position.kilometres(toLatitude: latitude, longitude: longitude)
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
            let name = whole(start + 5, UInt16.self) | Int(bytes[start + 7]) << 16
            body(
                Entry(country: Int(bytes[start + 4]), name: name == 0 ? nil : name),
                Double(row - 90) + (Double(whole(start, UInt16.self)) + 0.5) / 65_536,
                Double(column - 180) + (Double(whole(start + 2, UInt16.self)) + 0.5) / 65_536
            )
        }
    }

    func countryCode(_ number: Int) -> String? {
        let start = countries + number * 2
        guard start + 2 <= names else { return nil }
        return String(decoding: bytes[start..<start + 2], as: UTF8.self)
    }

    /// A name is stored as its length in one byte, then UTF-8.
    func name(at offset: Int) -> String? {
        let start = names + offset
        guard start < bytes.count, start + 1 + Int(bytes[start]) <= bytes.count else { return nil }
        return String(validating: bytes[start + 1..<start + 1 + Int(bytes[start])], as: UTF8.self)
    }

    private func whole<Number: FixedWidthInteger>(_ offset: Int, _ type: Number.Type) -> Int {
        Int(bytes.loadUnaligned(fromByteOffset: offset, as: type).littleEndian)
    }
}
