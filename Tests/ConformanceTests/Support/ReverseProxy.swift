import Foundation
import Glibc
import TestSupport

/// nginx with TLS in front of another server, in a typical configuration.
///
/// - `/…`: forwards bodies up to `largestBody`, buffered first or not; the response contains the protocol in
///   `X-Protocol`.
/// - `/private/…`: requires `uploader` / `secret`, and otherwise behaves like `/…`.
/// - `/small/…`: rejects bodies above 1 MiB.
final class ReverseProxy {
    /// The authority that signed the server's certificate (PEM).
    let authority: String
    /// The server's public key, `sha256//…`.
    let pin: String
    private let server: ForeignServer
    private let directory: TemporaryDirectory

    /// - Parameters:
    ///   - backend: The server's address.
    ///   - largestBody: Larger bodies are rejected by their announced length.
    ///   - isBuffering: Whether bodies are read completely before the backend gets a byte; otherwise, nginx passes them
    ///     on as they arrive.
    /// - Throws: An error if nginx cannot be started.
    init(before backend: String, largestBody: String = "1g", isBuffering: Bool = true) async throws {
        let directory = try TemporaryDirectory()
        self.directory = directory
        let certificates = try await ForeignProgram.run(
            "\(ForeignProgram.scripts)/make-certificates.sh",
            [directory.path]
        )
        guard certificates.status == 0 else { throw ForeignProgram.Failure(certificates.errors) }
        authority = directory.file("ca.pem")
        pin = try String(contentsOfFile: directory.file("pin.txt"), encoding: .utf8)
            .trimmingCharacters(in: .whitespacesAndNewlines)
        let hash = try await ForeignProgram.run(
            try ForeignProgram.path(of: "openssl"),
            ["passwd", "-apr1", "secret"]
        )
        try "uploader:\(hash.output)".write(toFile: directory.file("users"), atomically: true, encoding: .utf8)
        server = try await ForeignServer(try ForeignProgram.path(of: "nginx")) { port in
            let settings = Self.settings(
                port: port,
                backend: backend,
                largestBody: largestBody,
                isBuffering: isBuffering,
                directory: directory.path
            )
            try settings.write(toFile: directory.file("nginx.conf"), atomically: true, encoding: .utf8)
            return ["-p", directory.path, "-e", directory.file("error.log"), "-c", directory.file("nginx.conf")]
        }
    }

    var port: Int { server.port }

    /// `https://HOST:PORT`.
    func address(host: String = "localhost") -> String { "https://\(host):\(server.port)" }

    private static func settings(
        port: Int,
        backend: String,
        largestBody: String,
        isBuffering: Bool,
        directory: String
    ) -> String {
        """
        \(geteuid() == 0 ? "user root;" : "")
        daemon off;
        master_process off;
        pid \(directory)/nginx.pid;
        error_log \(directory)/error.log;
        events { worker_connections 64; }
        http {
            access_log off;
            client_body_temp_path \(directory)/body;
            proxy_temp_path \(directory)/proxy;
            fastcgi_temp_path \(directory)/fastcgi;
            uwsgi_temp_path \(directory)/uwsgi;
            scgi_temp_path \(directory)/scgi;
            client_max_body_size \(largestBody);
            proxy_http_version 1.1;
            proxy_request_buffering \(isBuffering ? "on" : "off");
            proxy_set_header Host $http_host;
            add_header X-Protocol $server_protocol always;
            server {
                listen 127.0.0.1:\(port) ssl http2;
                ssl_certificate \(directory)/server.pem;
                ssl_certificate_key \(directory)/server.key;
                location / { proxy_pass \(backend); }
                location /small/ { client_max_body_size 1m; proxy_pass \(backend); }
                location /private/ {
                    auth_basic "GigHive Upload";
                    auth_basic_user_file \(directory)/users;
                    proxy_pass \(backend);
                }
            }
        }
        """
    }
}

extension ForeignProgram {
    /// PHP's own server, with `scripts/dump.php` behind every path.
    static func php(environment: [String: String] = [:]) async throws -> ForeignServer {
        try await ForeignServer(
            announcing: try path(of: "php"),
            ["-d", "upload_max_filesize=1G", "-d", "post_max_size=1G", "-S", "127.0.0.1:0", "\(scripts)/dump.php"],
            environment: environment
        )
    }
}
