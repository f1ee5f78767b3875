internal import Foundation

/// City and country of a position, from a table inside the program (GeoNames, CC BY 4.0). No network is ever asked.
///
/// The country is that of the nearest place of 1,000 inhabitants or more, the city the nearest one of that country that the
/// table names: 15,000 inhabitants or more, and no quarter or suburb of a larger city, since a quarter is no coarse place.
/// Close to a border the nearest place may lie on the other side.
package enum PlaceTable {
    /// What is near a position.
    package struct Place: Sendable, Equatable {
        /// nil when no city is near enough.
        package var city: String?
        /// ISO 3166-1 alpha-2.
        package var country: String

        /// Makes a place.
        package init(city: String?, country: String) {
            self.city = city
            self.country = country
        }
    }

    /// Kilometres to the farthest city that is named.
    static let cityRadius = 30.0
    /// Kilometres to the farthest place that names the country.
    static let countryRadius = 100.0

    /// The place of a position; nil when it is too far from every city, or no position.
    ///
    /// Within 30 km of a place its country is given; from there to 100 km only when all places within 100 km are of one
    /// country, since a position that far out may well be in the other.
    ///
    /// - Parameters:
    ///   - latitude: Degrees, −90 to 90.
    ///   - longitude: Degrees, −180 to 180.
    /// - Returns: A place.
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
