internal import CaptureSubmission
internal import Foundation
internal import Glibc
internal import MediaCrypto
internal import MediaFiles
internal import MediaStore
internal import MediaSystem

/// Keys of this machine, in files, OpenSSL providers, or external programs.
struct DeviceKey: Sendable {
    /// Maximum length of a key file in bytes; a key takes up a few hundred.
    private static let longestFile = 16_384

    let directory: DataDirectory

    /// Opens the key of a device, and verifies that it is the registered one.
    ///
    /// - Throws: `.keyUnusable`.
    func signer(for device: CaptureDeviceRecord) async throws(CaptureError) -> any CaptureSigner {
        let registered: VerifyingKey
        do {
            registered = try VerifyingKey(sec1: device.publicKey)
        } catch {
            throw CaptureError(.keyUnusable, detail: "the registration has no valid public key", underlying: error)
        }
        let signer = try await signer(at: device.keySource, publicKey: registered)
        guard signer.publicKey == registered else {
            let provider = device.keySource.provider
            throw CaptureError(.keyUnusable, detail: "it is not the registered key").with(\.keyProvider, provider)
        }
        return signer
    }

    /// Opens an existing key. The public key is required for an external program, and ignored for other sources.
    ///
    /// - Throws: `.keyUnusable`.
    func signer(
        at source: CaptureDeviceRecord.KeySource,
        publicKey: VerifyingKey?
    ) async throws(CaptureError) -> any CaptureSigner {
        switch source {
        case .file(let name):
            return KeySigner(key: try read(path(of: name)), provider: nil)
        case .provider(let uri, let provider, _):
            let key = try await BlockingWork.run { () throws(CaptureError) in
                try Self.usable(uri, provider: provider, SigningKey.open(uri: uri, provider: provider))
            }
            return KeySigner(key: key, provider: provider)
        case .command(let arguments):
            guard let publicKey else {
                throw CaptureError(.keyUnusable, detail: "a signing program requires its public key")
            }
            return ProgramSigner(publicKey: publicKey, arguments: arguments)
        }
    }

    // MARK: Files

    /// Generates a key and writes it to a new file in the key directory, named after the server.
    func make(for server: String) throws(CaptureError) -> (name: String, signer: any CaptureSigner) {
        let key = try Self.usable("", SigningKey.generate())
        let pem = try Self.usable("", key.pem())
        let place = try CaptureError.stored(directory.make(.captureKeys))
        do throws(FileWriteError) {
            return (try write(pem, stem: Self.stem(of: server), in: place), KeySigner(key: key, provider: nil))
        } catch {
            throw CaptureError(writing: error, as: .keyUnusable, cause: "the key cannot be stored: ")
        }
    }

    /// Removes a key file written by `make`, but not a file specified by the user. If removal fails, the file is kept.
    func remove(_ source: CaptureDeviceRecord.KeySource) {
        guard case .file(let name) = source, !name.contains("/"),
            let keys = try? TargetDirectory.open(Array(directory.path(of: .captureKeys).utf8), creating: false)
        else { return }
        try? keys.remove(Array(name.utf8))
        try? keys.synchronize()
    }

    private func write(_ pem: [UInt8], stem: String, in place: String) throws(FileWriteError) -> String {
        let path = Array(place.utf8)
        guard let keys = try TargetDirectory.open(path, creating: false) else {
            throw FileWriteError(.unsafe, path: path)
        }
        // Earlier keys are not replaced, since they may be registered with a different server.
        var number = 1
        while true {
            let name = number == 1 ? "\(stem).pem" : "\(stem)-\(number).pem"
            do throws(FileWriteError) {
                try WholeFile(in: keys, audience: .owner).write(pem, as: Array(name.utf8), replacing: false)
                return name
            } catch {
                guard error.kind == .exists, number < 1000 else { throw error }
                number += 1
            }
        }
    }

    /// `capture.example.org_8443`: the address without scheme, with `_` for characters other than letters, digits, `.`
    /// and `-`.
    static func stem(of server: String) -> String {
        let rest = server.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false).dropFirst(2).joined()
        let letters = rest.lowercased().map { letter in
            letter.isASCII && (letter.isLetter || letter.isNumber || letter == "." || letter == "-") ? letter : "_"
        }
        let stem = String(letters.prefix(100)).drop { $0 == "." || $0 == "-" }
        return stem.isEmpty ? "server" : String(stem)
    }

    private func path(of name: String) -> String {
        name.contains("/") ? name : "\(directory.path(of: .captureKeys))/\(name)"
    }

    private func read(_ path: String) throws(CaptureError) -> SigningKey {
        let bytes = Array(path.utf8)
        let file: SourceFile
        let pem: [UInt8]
        do throws(SourceFileError) {
            file = try SourceFile(path: bytes)
            pem = try file.prefix(Self.longestFile)
        } catch {
            let cause = CaptureError(error)
            let detail = cause.detail.isEmpty ? "the key file is missing" : cause.detail
            throw CaptureError(.keyUnusable, detail: detail, path: bytes, underlying: error)
        }
        var status = stat()
        guard fstat(file.descriptor, &status) == 0, status.st_mode & 0o077 == 0 else {
            throw CaptureError(
                .keyUnusable,
                detail: "other users can read the key; its mode must be 0600",
                path: bytes
            )
        }
        return try Self.usable(path, SigningKey.read(pem: pem))
    }

    private static func usable<Value>(
        _ place: String,
        provider: String? = nil,
        _ value: @autoclosure () throws(CryptoError) -> Value
    ) throws(CaptureError) -> Value {
        do throws(CryptoError) {
            return try value()
        } catch {
            let detail = error.detail
            throw CaptureError(.keyUnusable, detail: detail, value: place, underlying: error)
                .with(\.keyProvider, provider)
        }
    }
}

struct KeySigner: CaptureSigner {
    let key: SigningKey
    /// nil for a key in memory. Signing in hardware blocks for a while, so it must not run on Swift's cooperative
    /// threads.
    let provider: String?

    var publicKey: VerifyingKey { key.publicKey }

    func sign(_ message: [UInt8]) async throws(CaptureError) -> [UInt8] {
        let key = key
        let work: @Sendable () throws(CryptoError) -> [UInt8] = { () throws(CryptoError) in try key.sign(message) }
        let signature: [UInt8]
        do throws(CryptoError) {
            signature = provider == nil ? try work() : try await BlockingWork.run(work)
        } catch {
            throw CaptureError(.signingFailed, detail: error.detail, underlying: error).with(\.keyProvider, provider)
        }
        guard publicKey.isValid(signature, of: message) else {
            throw CaptureError(.signingFailed, detail: "the key produced an invalid signature")
        }
        return signature
    }
}

extension CaptureDeviceRecord.KeySource {
    /// The key's OpenSSL provider; nil for a file or a program.
    var provider: String? {
        if case .provider(_, let provider, _) = self { provider } else { nil }
    }
}
