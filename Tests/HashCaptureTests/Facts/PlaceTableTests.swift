import Foundation
import Testing

@testable import HashCapture

@Suite struct PlaceTableTests {
    typealias Place = PlaceTable.Place

    /// Positions from maps; what is near them is common knowledge.
    static let known: [(what: String, latitude: Double, longitude: Double, expected: Place?)] = [
        ("the Eiffel tower, not its arrondissement", 48.8584, 2.2945, Place(city: "Paris", country: "FR")),
        ("Montreuil, a suburb of 111,000", 48.8638, 2.4485, Place(city: "Paris", country: "FR")),
        ("the opera of Sydney", -33.8568, 151.2153, Place(city: "Sydney", country: "AU")),
        ("Kreuzberg", 52.4990, 13.4030, Place(city: "Berlin", country: "DE")),
        ("St Peter's, in a country of 800 people", 41.9022, 12.4539, Place(city: "Rome", country: "IT")),
        ("Vaduz, where no place is large enough", 47.1410, 9.5215, Place(city: nil, country: "LI")),
        ("Basel", 47.5576, 7.5886, Place(city: "Basel", country: "CH")),
        ("Weil am Rhein, 4 km away", 47.5933, 7.6211, Place(city: "Weil am Rhein", country: "DE")),
        ("Saint-Louis, 4 km away", 47.5900, 7.5590, Place(city: "Saint-Louis", country: "FR")),
        ("in the Atlantic", 30, -45, nil),
        ("in the Gulf of Guinea", 0, 0, nil),
        ("the north pole", 90, 0, nil),
        ("the south pole", -90, 123, nil),
        // Savusavu, at 179.34° E, is 72 km away; on a map that ends at 180° it is on the other edge.
        ("the east of Taveuni, behind the date line", -16.80, -179.99, Place(city: nil, country: "FJ")),
        ("the date line itself", -16.80, 180, Place(city: nil, country: "FJ")),
        ("the date line from the other side", -16.80, -180, Place(city: nil, country: "FJ")),
        // 65 km of Spanish and of Algerian, Moroccan coast.
        ("between two countries", 35.95, -2.20, nil),
        ("Pitcairn, fifty people", -25.067, -130.100, nil),
    ]

    @Test(arguments: known)
    func knownPlaces(what: String, latitude: Double, longitude: Double, expected: Place?) {
        #expect(PlaceTable.place(latitude: latitude, longitude: longitude) == expected, "\(what)")
    }

    @Test(arguments: [
        (90.01, 0), (-91, 0), (0, 180.01), (0, -181), (Double.nan, 0), (0, .nan), (.infinity, 0), (0, -.infinity),
    ])
    func noPosition(latitude: Double, longitude: Double) {
        #expect(PlaceTable.place(latitude: latitude, longitude: longitude) == nil)
    }

    private struct Vectors: Decodable {
        struct Vector: Decodable {
            var latitude: Double
            var longitude: Double
            var city: String?
            var country: String?
        }
        var vectors: [Vector]
    }

    /// scripts/make-places.py looked at every place, in the package's own numbers, with another formula.
    @Test func agreesWithLookingAtEveryPlace() throws {
        let file = Self.root.appending(path: "fixtures/places/vectors.json")
        let vectors = try JSONDecoder().decode(Vectors.self, from: Data(contentsOf: file)).vectors
        #expect(vectors.count >= 1_000)
        for vector in vectors {
            let expected = vector.country.map { Place(city: vector.city, country: $0) }
            let found = PlaceTable.place(latitude: vector.latitude, longitude: vector.longitude)
            #expect(found == expected, "\(vector.latitude), \(vector.longitude)")
        }
    }

    @Test func theTableIsWholeAndSmall() throws {
        let size = try #require(
            FileManager.default.attributesOfItem(atPath: Self.root.appending(path: "Sources/CPlaces/places.bin").path)[
                .size
            ] as? Int
        )
        #expect(size <= 3_000_000)
        #expect(PlaceGrid() != nil)
    }

    /// A table that is cut off, or no table, has no places; nothing behind it is read.
    @Test func aDamagedTableIsNone() throws {
        let table = Array(try Data(contentsOf: Self.root.appending(path: "Sources/CPlaces/places.bin")))
        for damaged in [
            [], Array(table.prefix(19)), Array(table.prefix(100_000)), Array(table.dropLast()), [0] + table,
        ] {
            damaged.withUnsafeBytes { #expect(PlaceGrid($0) == nil) }
        }
    }

    /// What this table is for: nothing may ask the network where a user was.
    @Test func nothingHereCanReachANetwork() throws {
        let allowed: Set = [
            "CImages", "CPlaces", "CaptureSubmission", "Foundation", "MediaCore", "MediaFiles",
        ]
        let facts = Self.root.appending(path: "Sources/HashCapture/Facts")
        for file in try FileManager.default.contentsOfDirectory(at: facts, includingPropertiesForKeys: nil) {
            let text = try String(contentsOf: file, encoding: .utf8)
            for line in text.split(separator: "\n")
            where line.contains(#/^\s*(public |internal |package |private )?import /#) {
                let module = line.split(separator: " ").last.map(String.init) ?? ""
                #expect(allowed.contains(module), "\(file.lastPathComponent) imports \(module)")
            }
            #expect(!text.contains(#/URLSession|URLRequest|socket\(|connect\(|getaddrinfo|contentsOf: *URL/#))
        }
    }

    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
}
