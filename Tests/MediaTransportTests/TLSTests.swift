import Foundation
import Glibc
import MediaTransport
import TestSupport
import Testing

@Suite("TLS")
struct TLSTests {
    /// `openssl s_server` on a port of its own with a self-signed certificate for `localhost`.
    private final class TLSServer {
        let process = Process()
        let directory: TemporaryDirectory
        let port: Int

        init() throws {
            directory = try TemporaryDirectory()
            try Self.run([
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout",
                directory.file("key.pem"),
                "-out", directory.file("cert.pem"),
            ])
            let output = Pipe()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
            process.arguments = [
                "s_server", "-accept", "127.0.0.1:0", "-www", "-key", directory.file("key.pem"), "-cert",
                directory.file("cert.pem"),
            ]
            process.standardOutput = output
            process.standardError = FileHandle.nullDevice
            process.standardInput = Pipe()
            try process.run()
            var text = ""
            while !text.contains("ACCEPT 127.0.0.1:") || !text.hasSuffix("\n") {
                let data = output.fileHandleForReading.availableData
                if data.isEmpty { break }
                text += String(decoding: data, as: UTF8.self)
            }
            port =
                text.split(separator: "\n").compactMap { line in
                    line.hasPrefix("ACCEPT ") ? Int(line.split(separator: ":").last ?? "") : nil
                }.first ?? 0
        }

        // A child inherits the blocked signals of the thread that starts it; SIGKILL cannot be blocked.
        deinit { kill(process.processIdentifier, SIGKILL) }

        static func run(_ arguments: [String]) throws {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
            process.arguments = arguments
            process.standardError = FileHandle.nullDevice
            try process.run()
            process.waitUntilExit()
            try #require(process.terminationStatus == 0)
        }

        /// The pin as `openssl` computes it.
        func pin() throws -> String {
            let script =
                "openssl x509 -in \(directory.file("cert.pem")) -pubkey -noout | openssl pkey -pubin -outform der "
                + "| openssl dgst -sha256 -binary | openssl base64 -A"
            let process = Process()
            let output = Pipe()
            process.executableURL = URL(fileURLWithPath: "/bin/sh")
            process.arguments = ["-c", script]
            process.standardOutput = output
            try process.run()
            return "sha256//" + String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
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

    @Test("certificates are checked, and each way to trust one works and no further")
    func trust() async throws {
        let server = try TLSServer()
        let certificate = server.directory.file("cert.pem")
        let pin = try server.pin()
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
