import Foundation
import TestSupport
import Testing

/// A P-256 key whose signatures are made by the `openssl` tool.
struct OpenSSLKey: Sendable {
    private let folder: TemporaryDirectory
    /// SEC 1, uncompressed.
    let point: [UInt8]

    init() async throws {
        let folder = try TemporaryDirectory()
        self.folder = folder
        _ = try await output(
            of: ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"]
                + ["-out", folder.file("key.pem")]
        )
        _ = try await output(
            of: ["openssl", "pkey", "-in", folder.file("key.pem"), "-pubout", "-out", folder.file("public.pem")]
        )
        let text = try String(contentsOfFile: folder.file("public.pem"), encoding: .utf8)
        let der = try #require(Data(base64Encoded: text.split(separator: "\n").dropFirst().dropLast().joined()))
        point = Array(der.suffix(65))
    }

    /// The public half in PEM.
    var publicFile: String { folder.file("public.pem") }

    /// ECDSA with SHA-256, in DER.
    func sign(_ message: some Sequence<UInt8>) async throws -> [UInt8] {
        let name = try folder.write(UUID().uuidString, message)
        _ = try await output(
            of: ["openssl", "dgst", "-sha256", "-sign", folder.file("key.pem"), "-out", name + ".sig", name]
        )
        return Array(try Data(contentsOf: URL(fileURLWithPath: name + ".sig")))
    }
}
