import Foundation
import TestSupport
import Testing

/// `mediactl doctor` with a server that has a self-signed certificate: it prints the pin with which the next call
/// works.
@Suite("Doctor and TLS")
struct DoctorTLSTests {
    @Test("an untrusted certificate is reported with its pin, and the pin is accepted")
    func pin() async throws {
        let sandbox = try await SandboxProcess.start()
        let proxy = try await ReverseProxy(before: sandbox.baseURL)
        let client = try BuiltClientTests.client(of: proxy.address(host: "localhost"))

        let first = try await client.run(["doctor", "--json"])

        let tls = try #require(try first.records().first { $0["name"] as? String == "tls" })
        #expect(tls["status"] as? String == "failed")
        #expect(first.exitCode == 6)
        let facts = try #require(tls["facts"] as? [[String: String]])
        let pin = try #require(facts.first { $0["name"] == "pinned_key" }?["value"])
        // Computed by `openssl x509 -pubkey | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64`.
        #expect(pin == proxy.pin)

        let second = try await client.run(["doctor", "--json", "--pinned-key", pin])

        for name in ["tls", "health"] {
            let check = try second.records().first { $0["name"] as? String == name }
            #expect(check?["status"] as? String == "passed", "\(name)")
        }
    }
}
