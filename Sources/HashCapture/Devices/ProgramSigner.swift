internal import CaptureSubmission
internal import Foundation
internal import MediaCore
public import MediaCrypto
internal import MediaFiles

/// Signs with an external program, for keys that OpenSSL cannot open (a security token's own tool, a remote signer).
///
/// The program reads the SHA-256 digest to sign from its standard input: 64 lowercase hexadecimal digits and a line
/// feed. It prints the ECDSA P-256 signature of that digest, in hexadecimal or base64, as DER or as 64 bytes r‖s;
/// whitespace is ignored. It must not hash the digest again, and must exit with 0. It is run without a shell; its
/// standard error is passed to the user. It is terminated after 60 seconds, or when the command is stopped.
///
/// A signature is used only if the registered public key verifies it.
struct ProgramSigner: CaptureSigner {
    let publicKey: VerifyingKey
    let arguments: [String]
    /// Long enough to enter a PIN and touch a token. Another process waits for the counter for the same time.
    var timeLimit = Duration.seconds(60)

    /// Larger than any form of a signature.
    private static let longestOutput = 4096

    func sign(_ message: [UInt8]) async throws(CaptureError) -> [UInt8] {
        let digest = try SHA256Digest.of(message)
        let output = try await run(Array("\(digest.hex)\n".utf8))
        guard let signature = Self.signature(in: output) else {
            throw failed("printed no signature in hexadecimal or base64")
        }
        guard publicKey.isValid(signature, of: message) else {
            throw failed("printed a signature that does not match the registered public key")
        }
        return signature
    }

    /// The signature as 64 bytes r‖s; nil for invalid output.
    static func signature(in output: [UInt8]) -> [UInt8]? {
        let text = String(decoding: output, as: UTF8.self).filter { !$0.isWhitespace }
        // A signature in base64 never consists only of hexadecimal digits: DER begins with `M`, and 64 bytes end with
        // `==`.
        let bytes = HexText.bytes(text) ?? Data(base64Encoded: text).map(Array.init)
        return bytes.flatMap(ECDSASignature.raw)
    }

    private func run(_ input: [UInt8]) async throws(CaptureError) -> [UInt8] {
        var program = ProgramRun(arguments, outputLimit: Self.longestOutput)
        program.timeLimit = timeLimit
        let result: ProgramResult
        do {
            result = try await program.run(input: input)
        } catch .cancelled {
            throw CaptureError(.cancelled)
        } catch {
            throw failed(error.detail)
        }
        if let failure = result.failure { throw failed(failure) }
        return result.output
    }

    private func failed(_ what: String) -> CaptureError {
        CaptureError(.signingFailed, detail: "the signing program \(what)", value: arguments.first)
    }
}

extension VerifyingKey {
    /// Parses a public key: SubjectPublicKeyInfo in PEM or DER, or an uncompressed point of 65 bytes (SEC 1); nil if it
    /// is not a P-256 key.
    public static func reading(_ file: [UInt8]) -> VerifyingKey? {
        (try? VerifyingKey(pem: file)) ?? (try? VerifyingKey(der: file)) ?? (try? VerifyingKey(sec1: file))
    }
}
