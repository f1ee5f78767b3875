import Foundation
import TestSupport
import Testing

/// City and country of a capture near a border (hash-only contract, new rule 1).
@Suite struct CaptureLocationTests {
    /// The waterfront of Windsor, Ontario: Detroit is nearer than the center of Windsor.
    private static let waterfront = ["--location", "42.3149,-83.0364"]

    private static func metadata(_ body: [String: Any]) -> (location: [String: Any]?, isIncluded: Bool?) {
        (
            (body["metadata"] as? [String: Any])?["location"] as? [String: Any],
            (body["metadata_flags"] as? [String: Any])?["location_included"] as? Bool
        )
    }

    @Test func dryRunPrintsWhyThereIsNoLocation() async throws {
        let fixture = try await HashOnlyFixture()
        let options = ["send", fixture.photo] + fixture.depthOptions + Self.waterfront + ["--dry-run"]
        let dry = try await fixture.run(options)
        #expect(dry.exitCode == 0)
        #expect(
            dry.errors.contains(
                "location omitted: the country is uncertain near the border of US and CA (nearest places: 2.0 km and "
                    + "2.3 km away); to submit it, specify --place Detroit,US or --place Windsor,CA"
            ),
            "\(dry.errors)"
        )

        let item = try #require(try await fixture.json(options).items.first)
        let metadata = Self.metadata(try #require(item["body"] as? [String: Any]))
        #expect(metadata.location == nil && metadata.isIncluded == false)
        let candidates = try #require(item["location_candidates"] as? [[String: Any]])
        #expect(candidates.map { $0["city"] as? String } == ["Detroit", "Windsor"])
        #expect(candidates.map { $0["country"] as? String } == ["US", "CA"])
        #expect(candidates.map { $0["kilometers"] as? Double } == [2.0, 2.3])
        let notices = try #require(item["notices"] as? [[String: Any]])
        #expect(notices.contains { $0["code"] as? String == "near_border" })
    }

    // Trap 25: a real send does not print locations.
    @Test func sendOmitsTheLocationAndDoesNotPrintIt() async throws {
        let fixture = try await HashOnlyFixture.registered()
        let sent = try await fixture.run(["send", fixture.photo] + fixture.depthOptions + Self.waterfront)
        #expect(sent.exitCode == 0, "\(sent.errors)")
        #expect(sent.errors.contains("the country is uncertain near a border; to submit it, specify --place CITY,CC"))
        #expect(!sent.errors.contains("Windsor") && !sent.errors.contains("Detroit"))
        let bytes = try #require(try await fixture.bodies().first)
        let metadata = Self.metadata(try #require(try JSONSerialization.jsonObject(with: bytes) as? [String: Any]))
        #expect(metadata.location == nil && metadata.isIncluded == false)
    }

    @Test func theSpecifiedPlaceReplacesTheTable() async throws {
        let fixture = try await HashOnlyFixture()
        let item = try #require(
            try await fixture.json(
                ["send", fixture.photo] + fixture.depthOptions + Self.waterfront + [
                    "--place", "Windsor,CA", "--dry-run",
                ]
            ).items.first
        )
        let metadata = Self.metadata(try #require(item["body"] as? [String: Any]))
        #expect(metadata.location as? [String: String] == ["city": "Windsor", "country": "CA"])
        #expect(metadata.isIncluded == true && item["location_candidates"] is NSNull)
        #expect((item["notices"] as? [[String: Any]])?.contains { $0["code"] as? String == "near_border" } == false)
    }

    @Test func aCountryMustExist() async throws {
        let fixture = try await HashOnlyFixture()
        let refused = try await fixture.run(
            ["send", fixture.photo] + fixture.depthOptions + ["--place", "London,UK", "--dry-run"]
        )
        #expect(refused.exitCode == 2 && refused.output.isEmpty, "\(refused.errors)")
        #expect(refused.errors.contains("for example GB for the United Kingdom"), "\(refused.errors)")
    }
}
