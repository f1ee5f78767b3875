import TestSupport
import Testing

/// The table of gighive contract 1.
@Suite struct AccessTests {
    private static let uploadRealm = #"Basic realm="GigHive Upload""#
    private static let adminRealm = #"Basic realm="GigHive Admin""#
    private static let siteRealm = #"Basic realm="GigHive Protected""#

    struct Area: Sendable, CustomTestStringConvertible {
        var method: String
        var path: String
        /// Status for admin, uploader, viewer, and without a login.
        var statuses: [Int]
        var realm: String?
        var testDescription: String { "\(method) \(path)" }
    }

    static let areas = [
        Area(method: "GET", path: "/", statuses: [200, 200, 200, 200]),
        Area(method: "GET", path: "/db/health.php", statuses: [200, 200, 200, 200]),
        Area(method: "POST", path: "/api/uploads.php", statuses: [400, 400, 401, 401], realm: uploadRealm),
        Area(method: "POST", path: "/api/uploads", statuses: [400, 400, 401, 401], realm: uploadRealm),
        Area(method: "POST", path: "/api/media-files", statuses: [400, 400, 401, 401], realm: uploadRealm),
        Area(method: "GET", path: "/api/media-files", statuses: [501, 501, 401, 401], realm: uploadRealm),
        Area(method: "GET", path: "/api/uploads", statuses: [404, 404, 401, 401], realm: uploadRealm),
        Area(method: "GET", path: "/api/uploads.php/7", statuses: [404, 404, 401, 401], realm: uploadRealm),
        Area(
            method: "POST",
            path: "/db/delete_media_files.php",
            statuses: [400, 400, 401, 401],
            realm: adminRealm
        ),
        Area(
            method: "GET",
            path: "/db/delete_media_files.php",
            statuses: [405, 405, 401, 401],
            realm: adminRealm
        ),
        Area(method: "GET", path: "/db/database.php", statuses: [200, 200, 200, 401], realm: siteRealm),
        Area(method: "GET", path: "/video/none.mp4", statuses: [404, 404, 404, 401], realm: siteRealm),
        Area(method: "GET", path: "/audio/none.mp3", statuses: [404, 404, 404, 401], realm: siteRealm),
        Area(method: "GET", path: "/db/other.php", statuses: [404, 404, 404, 401], realm: siteRealm),
        Area(method: "GET", path: "/admin/x", statuses: [404, 401, 401, 401], realm: adminRealm),
    ]

    @Test func everyRoleHasTheAccessOfTheTable() async throws {
        let fixture = try await Fixture()
        for area in Self.areas {
            for (user, status) in zip(["admin", "uploader", "viewer", nil], area.statuses) {
                let login = user.map { ["-u", "\($0):\($0)"] } ?? []
                let response = try await curl(login + ["-X", area.method, fixture.sandbox.baseURL + area.path])
                #expect(response.status == status, "\(area.testDescription) as \(user ?? "nobody")")
                if status == 401 {
                    #expect(response.headers["www-authenticate"] == area.realm)
                    #expect(response.text.hasPrefix("<!doctype html>"))
                }
            }
        }
    }

    @Test func anUploadTokenPermitsTheUploadPathsOfD3Only() async throws {
        for (dialect, status) in [("d1", 401), ("d2", 401), ("d3", 404)] {
            let fixture = try await Fixture(dialect: dialect)
            let open = try await curl("-H", "X-Upload-Token: any", fixture.sandbox.baseURL + "/api/uploads/1")
            #expect(open.status == status)
            let closed = try await curl("-H", "X-Upload-Token: any", fixture.sandbox.baseURL + "/api/uploads.php/1")
            #expect(closed.status == 401)
        }
    }

    @Test func specifiedUsersReplaceOrJoinTheDefaultOnes() async throws {
        let fixture = try await Fixture(arguments: ["--user", "uploader:s:cret", "--user", "dave:d"])
        let url = fixture.sandbox.baseURL + "/db/database.php?format=json"
        #expect(try await curl("-u", "uploader:s:cret", url).status == 200)
        #expect(try await curl("-u", "uploader:uploader", url).status == 401)
        #expect(try await curl("-u", "dave:d", url).status == 200)
        #expect(try await curl("-u", "admin:admin", url).status == 200)
    }

    @Test func aRefusalPrecedesTheBodyWhenTheClientWaits() async throws {
        let fixture = try await Fixture()
        let path = try fixture.file(size: 2_000_000)
        let refused = try await fixture.upload(path, user: "viewer", options: ["-H", "Expect: 100-continue"])
        #expect(refused.status == 401)
        #expect(refused.uploadedBytes == 0)
        let unannounced = try await fixture.upload(path, user: "viewer", options: ["-H", "Expect:"])
        #expect(unannounced.status == 401)
        #expect(unannounced.uploadedBytes > 2_000_000)
        // Apache's limit of 1 GiB.
        let large = try await fixture.upload(
            path,
            options: ["-H", "Expect: 100-continue", "-H", "Content-Length: 1073741825"]
        )
        #expect(large.status == 413)
        #expect(large.uploadedBytes == 0)
        #expect(large.headers["content-type"] == "text/html; charset=iso-8859-1")
        // Without `100 Continue`, curl would wait longer than its time limit.
        let timeouts = ["--expect100-timeout", "50", "--max-time", "20"]
        let accepted = try await fixture.upload(path, options: ["-H", "Expect: 100-continue"] + timeouts)
        #expect(accepted.status == 201)
        #expect(try await fixture.sandbox.requests().map(\.bodyBytesRead)[0] == 0)
    }

    @Test func aBodyOfUnknownLengthIsLimitedAsWell() async throws {
        let fixture = try await Fixture(faults: ["upload:limit=100000"])
        let chunked = ["-H", "Transfer-Encoding: chunked"]
        #expect(try await fixture.upload(try fixture.file(size: 200_000), options: chunked).status == 413)
        #expect(try await fixture.upload(try fixture.file(size: 50_000), options: chunked).status == 201)
    }
}
