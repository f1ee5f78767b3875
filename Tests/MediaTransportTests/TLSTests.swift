import MediaTransport
import TestSupport
import Testing

@Suite("TLS")
struct TLSTests {
    /// The pin as `openssl` computes it.
    private func pin(of server: SelfSignedServer) async throws -> String {
        let script =
            "openssl x509 -in \(server.certificate) -pubkey -noout | openssl pkey -pubin -outform der "
            + "| openssl dgst -sha256 -binary | openssl base64 -A"
        return "sha256//" + (try await ChildProcess.run("/bin/sh", ["-c", script])).output
    }

    private func outcome(_ host: String, _ server: SelfSignedServer, _ trust: ServerTrust) async throws -> String {
        let http = try client(trust: trust)
        let url = try ServerURL("https://\(host):\(server.port)").resource("/")
        do throws(TransportError) {
            return String(try await http.execute(HTTPRequest(.get, url, repeatability: .safe)).status)
        } catch {
            #expect(error.isBeforeRequest)
            return "\(error.kind)"
        }
    }

    @Test("certificates are checked, and each way to trust one works and trusts nothing else")
    func trust() async throws {
        let server = try await SelfSignedServer()
        let certificate = server.certificate
        let pin = try await pin(of: server)
        #expect(try await outcome("localhost", server, ServerTrust()) == "certificateUntrusted")
        #expect(try await outcome("localhost", server, ServerTrust(caFile: certificate)) == "200")
        #expect(try await outcome("127.0.0.1", server, ServerTrust(caFile: certificate)) == "certificateNameMismatch")
        #expect(try await outcome("127.0.0.1", server, ServerTrust(insecure: true)) == "200")
        #expect(try await outcome("127.0.0.1", server, ServerTrust(pinnedKey: pin)) == "200")
        let wrongPin = "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
        #expect(try await outcome("localhost", server, ServerTrust(pinnedKey: wrongPin)) == "pinnedKeyMismatch")
        #expect(
            try await outcome("localhost", server, ServerTrust(pinnedKey: wrongPin, insecure: true))
                == "pinnedKeyMismatch"
        )
        #expect(try await outcome("localhost", server, ServerTrust(caFile: "/no/such/file")) == "tls")
    }
}
