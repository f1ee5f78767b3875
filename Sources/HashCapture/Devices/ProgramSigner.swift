internal import CaptureSubmission
internal import Foundation
internal import MediaCore
internal import MediaCrypto
internal import MediaFiles

/// Signs by an external program, for keys that nothing else reaches (a security token's own tool, a remote signer).
///
/// The program gets, on its standard input, the SHA-256 digest that is to be signed: 64 lower-case hexadecimal digits and a
/// line feed. It prints the ECDSA P-256 signature of that digest, in hexadecimal or in base64, as DER or as 64 bytes r‖s;
/// blanks and line breaks in it do not count. It must not hash again, and ends with exit code 0. No shell sees its
/// arguments; what it says on standard error is the user's to read.
///
/// A signature is used only when the registered public key proves it.
struct ProgramSigner: CaptureSigner {
    let publicKey: VerifyingKey
    private let arguments: [String]

    /// More than any form of a signature.
    private static let longestOutput = 4096

    init(_ arguments: [String], publicKey: VerifyingKey) {
        self.arguments = arguments
        self.publicKey = publicKey
    }

    func sign(_ message: [UInt8]) async throws(CaptureError) -> [UInt8] {
        let digest = try SHA256Digest.of(message)
        let output = try await run(Array("\(digest.hex)\n".utf8))
        guard let signature = Self.signature(in: output) else {
            throw failed("printed no signature in hexadecimal or base64")
        }
        guard publicKey.isValid(signature, of: message) else {
            throw failed("printed a signature that does not fit the registered public key")
        }
        return signature
    }

    /// The signature as 64 bytes r‖s; nil for anything else.
    static func signature(in output: [UInt8]) -> [UInt8]? {
        let text = String(decoding: output, as: UTF8.self).filter { !$0.isWhitespace }
        // No signature in base64 consists of hexadecimal digits alone: DER begins with `M`, and 64 bytes end with `==`.
        let bytes = HexText.bytes(text) ?? Data(base64Encoded: text).map(Array.init)
        return bytes.flatMap(ECDSASignature.raw)
    }

    private func run(_ input: [UInt8]) async throws(CaptureError) -> [UInt8] {
        let program = ProgramRun(
            arguments,
            searchPath: ProcessInfo.processInfo.environment["PATH"] ?? "",
            outputLimit: Self.longestOutput
        )
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
