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
        let client = try Mediactl(server: proxy.address(host: "localhost"), password: "uploader")

        let first = try await client.run("doctor", "--json")

        let tls = try #require(try Mediactl.records(first.output).first { $0["name"] as? String == "tls" })
        #expect(tls["status"] as? String == "failed")
        #expect(first.exitCode == 6)
        let facts = try #require(tls["facts"] as? [[String: String]])
        let pin = try #require(facts.first { $0["name"] == "pinned_key" }?["value"])
        // Computed by `openssl x509 -pubkey | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64`.
        #expect(pin == proxy.pin)

        let second = try await client.run("doctor", "--json", "--pinned-key", pin)

        #expect(
            try Mediactl.records(second.output).first { $0["name"] as? String == "tls" }?["status"] as? String
                == "passed"
        )
        #expect(
            try Mediactl.records(second.output).first { $0["name"] as? String == "health" }?["status"] as? String
                == "passed"
        )
    }
}
