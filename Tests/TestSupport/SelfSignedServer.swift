import Testing

/// `openssl s_server` on its own port with a certificate for `localhost` that it signed itself.
public struct SelfSignedServer: Sendable {
    /// The path of its certificate.
    public let certificate: String
    /// The port it listens on.
    public let port: Int
    private let process: ChildProcess
    private let directory: TemporaryDirectory

    /// Starts the server and waits until it is listening.
    /// - Throws: An error if `openssl` fails.
    public init() async throws {
        directory = try TemporaryDirectory()
        certificate = directory.file("cert.pem")
        let key = directory.file("key.pem")
        let request = try await ChildProcess.run(
            "openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out",
                certificate,
            ]
        )
        try #require(request.status == 0, "\(request.errors)")
        // The server exits when its standard input is closed.
        process = try ChildProcess(
            "openssl",
            ["s_server", "-accept", "127.0.0.1:0", "-www", "-key", key, "-cert", certificate],
            streams: .pipes
        )
        while true {
            let line = try #require(try await process.nextLine(), "\(process.result.errors)")
            guard line.hasPrefix("ACCEPT ") else { continue }
            port = try #require(Int(line.split(separator: ":").last ?? ""))
            return
        }
    }
}
