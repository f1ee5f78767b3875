import Foundation
import Glibc
import MediaTransport
import TestSupport
import Testing

@Suite("TLS")
struct TLSTests {
    /// `openssl s_server` on its own port with a self-signed certificate for `localhost`.
    private struct TLSServer {
        let directory: TemporaryDirectory
        let port: Int
        private let process: ChildProcess

        init() async throws {
            directory = try TemporaryDirectory()
            let request = try await ChildProcess.run(
                "openssl",
                [
                    "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
                    "-keyout", directory.file("key.pem"), "-out", directory.file("cert.pem"),
                ]
            )
            try #require(request.status == 0, "\(request.errors)")
            // The server exits when its standard input is closed.
            process = try ChildProcess(
                "openssl",
                [
                    "s_server", "-accept", "127.0.0.1:0", "-www", "-key", directory.file("key.pem"),
                    "-cert", directory.file("cert.pem"),
                ],
                streams: .pipes
            )
            while true {
                let line = try #require(try await process.nextLine(), "\(process.result.errors)")
                guard line.hasPrefix("ACCEPT ") else { continue }
                port = try #require(Int(line.split(separator: ":").last ?? ""))
                return
            }
        }

        /// The pin as `openssl` computes it.
        func pin() async throws -> String {
            let script =
                "openssl x509 -in \(directory.file("cert.pem")) -pubkey -noout | openssl pkey -pubin -outform der "
                + "| openssl dgst -sha256 -binary | openssl base64 -A"
            return "sha256//" + (try await ChildProcess.run("/bin/sh", ["-c", script])).output
        }
    }

    private func outcome(_ host: String, _ server: TLSServer, _ trust: ServerTrust) async throws -> String {
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
        let server = try await TLSServer()
        let certificate = server.directory.file("cert.pem")
        let pin = try await server.pin()
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
