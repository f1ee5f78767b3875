import Foundation
import TestSupport
import Testing

/// Gighive contract 5.
@Suite struct DeleteTests {
    @Test(arguments: ["d1", "d2", "d3"])
    func oneBodyIsValidForEveryDialectAndRole(dialect: String) async throws {
        let idKey = dialect == "d3" ? "asset_id" : "file_id"
        for user in ["uploader", "admin"] {
            let fixture = try await Fixture(dialect: dialect)
            let upload = try await fixture.upload(try fixture.file(content: user))
            let token = try #require(try upload.string("delete_token"))
            let response = try await fixture.delete(
                #"{"file_id":1,"asset_id":"1","file_ids":[1],"asset_ids":[1],"delete_token":" \#(token) "}"#
                    .replacingOccurrences(of: "\"1\"", with: user == "admin" ? "1" : "\"1\""),
                user: user
            )
            #expect(response.text.hasSuffix(#""results":{"deleted":[{"\#(idKey)":1}],"errors":[]}}"#))
            #expect(try fixture.storedFiles().isEmpty)
            #expect(try await fixture.get("/api/uploads/1", user: "uploader").status == 404)
        }
    }

    struct Refusal: Sendable, CustomTestStringConvertible {
        var dialect: String
        var user: String
        var body: String
        var status: Int
        var message: String
        var testDescription: String { "\(dialect) \(user) \(body)" }

        init(dialect: String = "d3", user: String = "uploader", _ body: String, _ status: Int, _ message: String) {
            (self.dialect, self.user, self.body, self.status) = (dialect, user, body, status)
            self.message = message
        }
    }

    static let refusals = [
        Refusal(#"{"file_id":1,"delete_token":"x"}"#, 400, "Expected JSON body with asset_id and delete_token"),
        Refusal(
            dialect: "d1",
            #"{"asset_id":1,"delete_token":"x"}"#,
            400,
            "Expected JSON body with file_id and delete_token"
        ),
        Refusal("asset_id=1", 400, "Expected JSON body with asset_id and delete_token"),
        Refusal(user: "admin", #"{"asset_id":1,"delete_token":"x"}"#, 400, "Expected JSON body with asset_ids array"),
        Refusal(dialect: "d2", user: "admin", #"{"asset_ids":[1]}"#, 400, "Expected JSON body with file_ids array"),
        Refusal(user: "admin", #"{"asset_ids":[0,-4,"x",null]}"#, 400, "No valid asset_ids provided"),
        Refusal(#"{"asset_id":1,"delete_token":"x"}"#, 403, "Invalid delete token"),
        Refusal(#"{"asset_id":77,"delete_token":"x"}"#, 403, "Invalid delete token"),
    ]

    @Test(arguments: refusals)
    func refusesAndKeepsTheFile(_ refusal: Refusal) async throws {
        let fixture = try await Fixture(dialect: refusal.dialect)
        _ = try await fixture.upload(try fixture.file(content: "kept"))
        let response = try await fixture.delete(refusal.body, user: refusal.user)
        #expect(response.status == refusal.status)
        #expect(try response.string("message") == refusal.message)
        #expect(try response.object()["success"] as? Bool == false)
        #expect(try fixture.storedFiles().count == 1)
    }

    @Test func anAdministratorDeletesSeveralAndFailuresAreReported() async throws {
        let fixture = try await Fixture()
        for name in ["a", "b"] { _ = try await fixture.upload(try fixture.file(content: name)) }
        let response = try await fixture.delete(#"{"asset_ids":[2,2,4242]}"#, user: "admin")
        #expect(
            response.text
                == #"{"success":false,"db":{"host":"localhost","name":"sandbox"},"deleted_count":1,"error_count":1,"#
                + #""results":{"deleted":[{"asset_id":2}],"errors":[{"asset_id":4242,"error":"Not found"}]}}"#
        )
    }

    @Test func theSameBytesGetANewIDAndTokenAfterwards() async throws {
        let fixture = try await Fixture()
        let path = try fixture.file(content: "again")
        let first = try await fixture.upload(path)
        let token = try #require(try first.string("delete_token"))
        _ = try await fixture.delete(#"{"asset_id":1,"delete_token":"\#(token)"}"#)
        let second = try await fixture.upload(path)
        #expect(second.status == 201)
        #expect(try second.int("id") == 2)
        #expect(try second.string("delete_token") != token)
    }

    @Test func theOnlyTokenDeletesFromEveryEvent() async throws {
        let fixture = try await Fixture()
        let path = try fixture.file(content: "shared")
        let first = try await fixture.upload(path, fields: ["event_date=2026-01-01"])
        let second = try await fixture.upload(path, fields: ["event_date=2026-01-02"])
        #expect(try second.string("delete_token") == nil)
        #expect(try await fixture.get("/db/database.php?format=json").text.contains(#""total":2,"#))
        let token = try #require(try first.string("delete_token"))
        _ = try await fixture.delete(#"{"asset_id":1,"delete_token":"\#(token)"}"#)
        #expect(try await fixture.get("/db/database.php?format=json").text.contains(#""total":0,"#))
    }
}
