import Foundation
import TestSupport
import Testing

/// `--auth bearer`: logins as described in GigHive's drafts (gighive-d4 contract section 12; never observed).
@Suite struct BearerTests {
    private func logIn(_ sandbox: SandboxProcess, _ json: String) async throws -> CurlResponse {
        try await curl(
            ["-H", "Content-Type: application/json", "-d", json, sandbox.baseURL + "/api/login.php"]
        )
    }

    private func token(_ sandbox: SandboxProcess, _ role: String = "contributor") async throws -> String {
        let response = try await logIn(sandbox, #"{"email":"\#(role)@example.org","password":"\#(role)"}"#)
        return try #require(try response.object()["token"] as? String)
    }

    @Test func aLoginHasTokenRoleAddressAndExpiry() async throws {
        let sandbox = try await SandboxProcess.start(dialect: "d4", arguments: ["--auth", "bearer"])
        let response = try await logIn(sandbox, #"{"email":"viewer@example.org","password":"viewer"}"#)
        let members = try response.object()
        #expect(response.status == 200 && Set(members.keys) == ["token", "role", "email", "expires_at"])
        #expect(members["role"] as? String == "viewer" && members["email"] as? String == "viewer@example.org")
        let expiry = try #require(members["expires_at"] as? String)
        let date = try Date(expiry, strategy: .iso8601)
        // 30 days according to the draft of 2026-08-19.
        #expect(expiry.hasSuffix("Z") && abs(date.timeIntervalSinceNow - 2_592_000) < 600)
    }

    @Test(arguments: [
        (#"{"email":"viewer@example.org"}"#, 400, "missing_fields"),
        (#"{"email":"viewer","password":"viewer"}"#, 400, "invalid_email"),
        (#"{"email":"viewer@example.org","password":"x"}"#, 401, "invalid_credentials"),
        (#"{"email":"disabled@example.org","password":"locked-out"}"#, 403, "account_disabled"),
    ])
    func invalidLoginsAreRejected(json: String, status: Int, error: String) async throws {
        let sandbox = try await SandboxProcess.start(
            dialect: "d4",
            arguments: ["--auth", "bearer", "--user", "disabled@example.org:locked-out"]
        )
        let response = try await logIn(sandbox, json)
        #expect(response.status == status)
        #expect(try response.object()["error"] as? String == error)
    }

    @Test func rolesAndMissingLoginsAreDistinguished() async throws {
        let sandbox = try await SandboxProcess.start(dialect: "d4", arguments: ["--auth", "bearer"])
        let viewer = try await token(sandbox, "viewer")
        let contributor = try await token(sandbox)
        for (credentials, status, error) in [
            ([], 401, "unauthenticated"), (["-u", "uploader:uploader"], 401, "unauthenticated"),
            (["-H", "Authorization: Bearer x"], 401, "unauthenticated"),
            (["-H", "Authorization: Bearer \(viewer)"], 403, "forbidden"),
            (["-H", "Authorization: Bearer \(contributor)"], 404, "Not Found"),
        ] as [([String], Int, String)] {
            let response = try await curl(credentials + [sandbox.baseURL + "/api/uploads/7"])
            #expect(response.status == status)
            #expect(try response.object()["error"] as? String == error)
            #expect(response.headers["www-authenticate"] == nil)
        }
        let seen = try await sandbox.requests().map(\.credentials)
        // A response to HEAD has no content; otherwise the next response on the connection would be read after it.
        let head = try await curl(["-I", sandbox.baseURL + "/admin/x"])
        #expect(head.status == 401 && head.headers["content-type"]?.hasPrefix("application/json") == true)
        #expect(head.headers["transfer-encoding"] == nil)
        #expect(seen.suffix(5) == [[], ["basic"], ["bearer"], ["bearer"], ["bearer"]])
    }

    @Test func aLoginIsVerified() async throws {
        let sandbox = try await SandboxProcess.start(dialect: "d4", arguments: ["--auth", "bearer"])
        let expired = try await SandboxProcess.start(
            dialect: "d4",
            arguments: ["--auth", "bearer", "--login-lifetime=-1"]
        )
        for (sandbox, token, status, error) in [
            (sandbox, try await token(sandbox), 200, nil), (sandbox, "x", 401, "invalid_token"),
            (expired, try await token(expired), 401, "token_expired"),
        ] as [(SandboxProcess, String, Int, String?)] {
            let response = try await curl(
                ["-H", "Authorization: Bearer \(token)", sandbox.baseURL + "/api/verify.php"]
            )
            #expect(response.status == status)
            #expect(try response.object()["valid"] as? Bool == (error == nil ? true : nil))
            #expect(try response.object()["error"] as? String == error)
        }
    }

    /// Observed: today's servers have no such pages (gighive-d4 contract section 2).
    @Test func withoutTheOptionThereAreNoLogins() async throws {
        let sandbox = try await SandboxProcess.start(dialect: "d4")
        #expect(try await logIn(sandbox, "{}").status == 401)
        let response = try await curl(["-u", "uploader:uploader", sandbox.baseURL + "/api/login.php"])
        #expect(response.status == 404)
        let bearer = try await curl(["-H", "Authorization: Bearer x", sandbox.baseURL + "/api/uploads/7"])
        #expect(bearer.status == 401 && bearer.headers["www-authenticate"] == #"Basic realm="GigHive Upload""#)
    }
}
