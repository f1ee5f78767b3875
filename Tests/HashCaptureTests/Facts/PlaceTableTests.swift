import Foundation
import TestSupport
import Testing

@testable import HashCapture

@Suite struct PlaceTableTests {
    /// `Berlin, DE`, `DE` without a city, `border DE FR`, or `unknown`.
    private static func text(_ finding: PlaceTable.Finding) -> String {
        switch finding {
        case .place(let place): [place.city, place.country].compactMap { $0 }.joined(separator: ", ")
        case .border(let candidates): (["border"] + candidates.map(\.country)).joined(separator: " ")
        case .unknown: "unknown"
        }
    }

    private static func found(_ latitude: Double, _ longitude: Double) -> String {
        text(PlaceTable.find(latitude: latitude, longitude: longitude))
    }

    /// Positions from maps, whose places are common knowledge.
    static let known: [(what: String, latitude: Double, longitude: Double, expected: String)] = [
        ("the Eiffel tower, not its arrondissement", 48.8584, 2.2945, "Paris, FR"),
        ("Montreuil, a suburb of 111,000", 48.8638, 2.4485, "Paris, FR"),
        ("the palace of Versailles, outside Paris", 48.8049, 2.1204, "Versailles, FR"),
        ("Sydney Opera House", -33.8568, 151.2153, "Sydney, AU"),
        ("Kreuzberg", 52.4990, 13.4030, "Berlin, DE"),
        ("Sanssouci, in a city next to Berlin", 52.4041, 13.0385, "Potsdam, DE"),
        ("Yokohama station", 35.4658, 139.6223, "Yokohama, JP"),
        ("Isogo, a ward of Yokohama", 35.4082, 139.6191, "Yokohama, JP"),
        ("Tokyo Tower", 35.6586, 139.7454, "Tokyo, JP"),
        ("Incheon city hall", 37.4563, 126.7052, "Incheon, KR"),
        ("Yankee Stadium, in the Bronx", 40.8296, -73.9262, "New York City, US"),
        ("Newark, in a different state than New York", 40.7357, -74.1724, "Newark, US"),
        ("the pyramids, in a city next to Cairo", 29.9792, 31.1342, "Giza, EG"),
        ("the Colosseum, 3 km from a border", 41.8902, 12.4922, "Rome, IT"),
        ("St Peter's, in a country of 800 people", 41.9022, 12.4539, "border VA IT"),
        ("Vaduz, 3 km from Switzerland", 47.1410, 9.5215, "border LI CH"),
        ("Basel", 47.5576, 7.5886, "Basel, CH"),
        ("Weil am Rhein, 1 km from Switzerland", 47.5933, 7.6211, "border DE CH"),
        ("Kehl station, 3 km from Strasbourg", 48.5734, 7.8152, "Kehl, DE"),
        ("Windsor, 4 km from Detroit", 42.3001, -83.0165, "Windsor, CA"),
        ("the waterfront of Windsor, on a river with Detroit", 42.3149, -83.0364, "border US CA"),
        ("Detroit city hall", 42.3297, -83.0449, "Detroit, US"),
        ("the UN headquarters in Geneva, 2 km from France", 46.2267, 6.1407, "border CH FR"),
        ("in the Atlantic", 30, -45, "unknown"),
        ("in the Gulf of Guinea", 0, 0, "unknown"),
        ("the north pole", 90, 0, "unknown"),
        ("the south pole", -90, 123, "unknown"),
        ("Savusavu, in Fiji", -16.7769, 179.3321, "FJ"),
        // Savusavu is 72 km away; on a map that ends at 180° it is on the opposite edge.
        ("the east of Taveuni, beyond the date line", -16.80, -179.99, "unknown"),
        // 65 km from the Spanish, Algerian and Moroccan coasts.
        ("between two countries", 35.95, -2.20, "unknown"),
        ("Pitcairn, fifty people", -25.067, -130.100, "unknown"),
    ]

    @Test(arguments: known)
    func knownPlaces(what: String, latitude: Double, longitude: Double, expected: String) {
        #expect(Self.found(latitude, longitude) == expected, "\(what)")
    }

    @Test func candidatesNearABorderHaveCityAndDistance() throws {
        guard case .border(let candidates) = PlaceTable.find(latitude: 42.3149, longitude: -83.0364) else {
            Issue.record("no border")
            return
        }
        #expect(candidates.map(\.city) == ["Detroit", "Windsor"])
        // Calculated from GeoNames' positions, 42.33143,-83.04575 and 42.30008,-83.01654, and 111.2 km per degree of
        // latitude.
        #expect(zip(candidates, [1.99, 2.32]).allSatisfy { abs($0.kilometers - $1) < 0.05 }, "\(candidates)")
        // Unnamed places of both countries are nearer than Geneva, 46.20222,6.14569, and Annemasse, 46.19439,6.23775.
        guard case .border(let geneva) = PlaceTable.find(latitude: 46.2267, longitude: 6.1407) else {
            Issue.record("no border")
            return
        }
        #expect(geneva.map(\.city) == ["Geneva", "Annemasse"])
        #expect(zip(geneva, [2.75, 8.28]).allSatisfy { abs($0.kilometers - $1) < 0.05 }, "\(geneva)")
    }

    @Test(arguments: [
        (90.01, 0), (-91, 0), (0, 180.01), (0, -181), (Double.nan, 0), (0, .nan), (.infinity, 0), (0, -.infinity),
    ])
    func noPosition(latitude: Double, longitude: Double) {
        #expect(PlaceTable.find(latitude: latitude, longitude: longitude) == .unknown)
    }

    // MARK: GeoNames' own list

    private struct Listed {
        var name: String
        var country: String
        var latitude: Double
        var longitude: Double
        var population: Int

        func kilometers(to other: Listed) -> Double? {
            GeoPosition(latitude: latitude, longitude: longitude)?
                .kilometers(toLatitude: other.latitude, longitude: other.longitude)
        }
    }

    private static func listed(_ file: String) throws -> [Listed] {
        let text = try Repository.text("fixtures/places/\(file).tsv")
        return try text.split(separator: "\n").dropFirst().map { line in
            let fields = line.split(separator: "\t").map(String.init)
            return Listed(
                name: fields[1],
                country: fields[2],
                latitude: try #require(Double(fields[3])),
                longitude: try #require(Double(fields[4])),
                population: fields.count > 5 ? try #require(Int(fields[5])) : 0
            )
        }
    }

    /// At the position of each city with over 100,000 inhabitants, the table has its name, or the name of a city in
    /// that country within 30 km that has at least twice as many inhabitants, just as boroughs are known by the name of
    /// their city. It never has the name of a smaller city.
    @Test func largeCitiesHaveTheirName() throws {
        let cities = try Self.listed("large-cities")
        #expect(cities.count == 6_183)
        let byRow = Dictionary(grouping: cities) { Int($0.latitude.rounded(.down)) }
        var (own, nearBorder) = (0, 0)
        for city in cities {
            switch PlaceTable.find(latitude: city.latitude, longitude: city.longitude) {
            case .place(let place):
                #expect(place.country == city.country, "\(city)")
                if place.city == city.name {
                    own += 1
                    continue
                }
                let row = Int(city.latitude.rounded(.down))
                let absorbing = (row - 1...row + 1).flatMap { byRow[$0] ?? [] }.filter {
                    $0.country == city.country && $0.population >= 2 * city.population
                        && (city.kilometers(to: $0) ?? .infinity) <= 30
                }
                #expect(absorbing.contains { $0.name == place.city }, "\(city) is in \(place)")
            case .border(let candidates):
                nearBorder += 1
                #expect(candidates.contains { $0.country == city.country }, "\(city)")
            case .unknown: Issue.record("\(city) is unknown")
            }
        }
        #expect(own >= 5_000 && nearBorder <= 30, "\(own) own, \(nearBorder) near a border")
    }

    /// Villages with fewer than 1,000 inhabitants within 20 km of a foreign place.
    @Test func villagesNearABorderHaveTheirCountry() throws {
        let villages = try Self.listed("border-villages")
        #expect(villages.count == 300)
        var certain = 0
        for village in villages {
            switch PlaceTable.find(latitude: village.latitude, longitude: village.longitude) {
            case .place(let place):
                certain += 1
                #expect(place.country == village.country, "\(village) is in \(place)")
            case .border: break
            case .unknown: Issue.record("\(village) is unknown")
            }
        }
        #expect(certain >= 150, "\(certain) of 300")
    }

    /// Each of these villages is looked up in a table that does not contain it.
    @Test func excludedVillagesNearABorderHaveTheirCountry() throws {
        var table = Array(try Repository.data("Sources/CPlaces/places.bin"))
        let villages = try Self.listed("border-villages")
        for village in villages { try Self.remove(village, from: &table) }
        try table.withUnsafeBytes { bytes in
            let grid = try #require(PlaceGrid(bytes))
            for village in villages {
                let position = try #require(GeoPosition(latitude: village.latitude, longitude: village.longitude))
                guard case .place(let place) = PlaceTable.find(position, in: grid) else { continue }
                #expect(place.country == village.country, "\(village) is in \(place)")
            }
        }
    }

    /// Overwrites the entries at a position with another entry of the cell (layout: Sources/CPlaces/README.md).
    private static func remove(_ village: Listed, from table: inout [UInt8]) throws {
        func number(_ offset: Int, _ size: Int) -> Int {
            (0..<size).reduce(0) { $0 | Int(table[offset + $1]) << (8 * $1) }
        }
        func fraction(_ degrees: Double) -> Int { Int((degrees - degrees.rounded(.down)) * 65_536) }
        let cell = (Int(village.latitude.rounded(.down)) + 90) * 360 + Int(village.longitude.rounded(.down)) + 180
        let entries = (number(24 + 4 * cell, 4)..<number(28 + 4 * cell, 4)).map { 24 + 4 * 64_801 + 8 * $0 }
        let own = entries.filter {
            number($0, 2) == fraction(village.latitude) && number($0 + 2, 2) == fraction(village.longitude)
        }
        #expect(!own.isEmpty, "\(village) is not in the table")
        // The only entry of its cell cannot be removed; there are few such entries.
        guard let other = entries.first(where: { !own.contains($0) }) else { return }
        for entry in own { table.replaceSubrange(entry..<entry + 8, with: table[other..<other + 8]) }
    }

    // MARK: Table

    private struct Vectors: Decodable {
        struct Vector: Decodable {
            var latitude: Double
            var longitude: Double
            var city: String?
            var country: String?
            var border: [String]?
        }
        var vectors: [Vector]
    }

    /// For these vectors, scripts/make-places.py sorted all places, with the package's own numbers and a different
    /// formula.
    @Test func agreesWithSortingEveryPlace() throws {
        let file = try Repository.data("fixtures/places/vectors.json")
        let vectors = try JSONDecoder().decode(Vectors.self, from: file).vectors
        #expect(vectors.count >= 1_000)
        for vector in vectors {
            let place = [vector.city, vector.country].compactMap { $0 }.joined(separator: ", ")
            let border = vector.border.map { (["border"] + $0).joined(separator: " ") }
            let expected = border ?? (place.isEmpty ? "unknown" : place)
            #expect(Self.found(vector.latitude, vector.longitude) == expected, "\(vector)")
        }
    }

    @Test(arguments: [
        ("DE", true), ("PN", true), ("AQ", true), ("XK", true), ("UK", false), ("AN", false), ("de", false),
    ])
    func countryCodes(code: String, isOne: Bool) {
        #expect(PlaceTable.isCountryCode(code) == isOne)
    }

    @Test func theTableIsCompleteAndSmall() throws {
        #expect(try Repository.data("Sources/CPlaces/places.bin").count <= 3_000_000)
        #expect(PlaceGrid() != nil)
    }

    /// A truncated or invalid table has no places; nothing beyond it is read.
    @Test func aDamagedTableHasNoPlaces() throws {
        let table = Array(try Repository.data("Sources/CPlaces/places.bin"))
        for damaged in [
            [], Array(table.prefix(19)), Array(table.prefix(100_000)), Array(table.dropLast()), [0] + table,
        ] {
            damaged.withUnsafeBytes { #expect(PlaceGrid($0) == nil) }
        }
    }

    /// The purpose of this table: no location of a user is sent over the network.
    @Test func noCodeHereUsesTheNetwork() throws {
        let allowed: Set = ["CPlaces", "CaptureSubmission", "Foundation", "MediaCore", "MediaFiles"]
        let facts = Repository.root.appending(path: "Sources/HashCapture/Facts")
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
}
