import Foundation
import TestSupport
import Testing

/// The media listing in the three dialects (gighive contract section 7).
@Suite struct ListingTests {
    private func entries(_ fixture: Fixture, _ query: String) async throws -> [[String: Any]] {
        let response = try await fixture.get("/db/database.php?format=json&\(query)")
        return try #require(try response.object()["entries"] as? [[String: Any]])
    }

    private func fixture(_ dialect: String) async throws -> Fixture {
        let fixture = try await Fixture(dialect: dialect)
        _ = try await fixture.upload(
            try fixture.file(content: "one"),
            fields: ["event_date=2026-03-01", "org_name=Die  Ärzte", "label=Zugabe"]
        )
        return fixture
    }

    /// The names as listed by a server of each dialect for exactly these fields.
    @Test(arguments: [
        ("d1", "Die  Ärzte", "Zugabe"), ("d2", "die arzte", "zugabe"),
        ("d3", "Die Ärzte", "Zugabe"),
    ]) func namesAreListedAsStored(_ dialect: String, _ orgName: String, _ label: String) async throws {
        let entry = try #require(try await entries(try await fixture(dialect), "view=event").first)
        #expect(entry["org_name"] as? String == orgName)
        #expect(entry["song_title"] as? String == label)
    }

    @Test(arguments: [("d1", true), ("d2", true), ("d3", false)])
    func onlyTheNewestHasAViewByAsset(_ dialect: String, _ hasEvent: Bool) async throws {
        let entry = try #require(try await entries(try await fixture(dialect), "view=librarian").first)
        #expect((entry["date"] as? String == "2026-03-01") == hasEvent)
        #expect(entry["id"] as? Int == 1)
    }

    @Test(
        arguments: [("d1", "song_title", "item_label"), ("d2", "song_title", "item_label")] + [
            ("d3", "item_label", "song_title")
        ]
    ) func anUnknownFilterIsIgnored(_ dialect: String, _ known: String, _ unknown: String) async throws {
        let fixture = try await fixture(dialect)
        #expect(try await entries(fixture, "\(known)=nothing").isEmpty)
        #expect(try await entries(fixture, "\(unknown)=nothing").count == 1)
    }
}
