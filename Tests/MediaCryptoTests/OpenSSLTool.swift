import Foundation
import MediaCrypto
import TestSupport

/// The `openssl` program: an independent implementation of digests, keys and signatures.
enum OpenSSLTool {
    /// The tool failed; its standard error.
    struct Refusal: Error { var text: String }

    /// The SHA-256 of a file, in hexadecimal.
    static func sha256(ofFile path: String) throws -> String {
        String(try ChildProcess.run("openssl", ["dgst", "-sha256", "-r", path]).output.prefix(64))
    }

    /// Runs the tool, and returns its output.
    /// - Throws: `Refusal` if it fails.
    @discardableResult
    static func run(_ arguments: String...) async throws -> [UInt8] { try await run(arguments) }

    @discardableResult
    static func run(_ arguments: [String]) async throws -> [UInt8] {
        let result = try await ChildProcess.run("openssl", arguments)
        guard result.status == 0 else { throw Refusal(text: result.errors) }
        return Array(result.output.utf8)
    }

    /// Whether the tool accepts a signature (DER or r‖s) of a message.
    static func verifies(_ signature: [UInt8], of message: [UInt8], key: VerifyingKey) async throws -> Bool {
        let directory = try TemporaryDirectory()
        let files: KeyValuePairs = [
            "message": message, "key.pem": try key.pem(), "signature": ECDSASignature.der(from: signature) ?? [],
        ]
        for (name, content) in files { try Data(content).write(to: URL(filePath: directory.file(name))) }
        let result = try await ChildProcess.run(
            "openssl",
            [
                "dgst", "-sha256", "-verify", directory.file("key.pem"), "-signature", directory.file("signature"),
                directory.file("message"),
            ]
        )
        return result.output == "Verified OK\n" && result.status == 0
    }
}
