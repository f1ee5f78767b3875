internal import Foundation

/// A position on the sphere.
struct GeoPosition {
    /// Degrees, −90 to 90.
    let latitude: Double
    /// Degrees, −180 to 180.
    let longitude: Double

    /// Mean radius of the earth in kilometres (IUGG).
    static let earthRadius = 6_371.0088

    /// nil for what is no position.
    init?(latitude: Double, longitude: Double) {
        guard (-90...90).contains(latitude), (-180...180).contains(longitude) else { return nil }
        (self.latitude, self.longitude) = (latitude, longitude)
    }

    /// Kilometres along the great circle (haversine, which is exact for small distances and across ±180°).
    func kilometres(toLatitude otherLatitude: Double, longitude otherLongitude: Double) -> Double {
        let (first, second) = (latitude * .pi / 180, otherLatitude * .pi / 180)
        let halfLatitude = sin((second - first) / 2)
        let halfLongitude = sin((otherLongitude - longitude) * .pi / 360)
        let square = halfLatitude * halfLatitude + cos(first) * cos(second) * halfLongitude * halfLongitude
        return 2 * Self.earthRadius * asin(min(1, square.squareRoot()))
    }
}
