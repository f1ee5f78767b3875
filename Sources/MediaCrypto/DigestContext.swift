internal import COpenSSL
internal import MediaSystem

/// The digests that this library can compute.
public enum DigestAlgorithm: String, Sendable, CaseIterable {
    /// SHA-256 (FIPS 180-4), 32 bytes.
    case sha256 = "SHA-256"
    /// SHA-1 (FIPS 180-4), 20 bytes. Broken as a proof of identity, but sufficient to detect damage in transfer.
    case sha1 = "SHA-1"

    /// OpenSSL's description of the algorithm; nil if OpenSSL does not provide the algorithm.
    fileprivate var type: OpaquePointer? { (self == .sha256 ? FetchedDigest.sha256 : .sha1).type }

    /// The digest of a range of an open file, read with `pread` on its own thread; the file offset does not change.
    ///
    /// Canceling stops the reading after at most one block of 1 MiB and throws `CancellationError`.
    ///
    /// `descriptor` must stay open until this returns.
    ///
    /// - Throws: `CryptoError`, with `systemError` if reading failed; also thrown if the file ends early.
    public func digest(ofFile descriptor: Int32, from offset: Int64 = 0, byteCount: Int64) async throws -> [UInt8] {
        try await BlockingWork.runCancellable { isCancelled in
            var context = try DigestContext(self)
            try FileReading.read(descriptor, from: offset, byteCount: byteCount) { block in
                if isCancelled() { throw CancellationError() }
                context.update(block)
            }
            return try context.snapshot()
        }
    }
}

/// A running digest that uses one of OpenSSL's algorithms. Not thread-safe; one owner.
struct DigestContext: ~Copyable {
    /// An `EVP_MD_CTX`, owned: created in `init`, freed in `deinit`, never exposed.
    private let context: OpaquePointer
    private let algorithm: DigestAlgorithm
    /// The first failure; reported by `snapshot`, so the hot path need not throw.
    private var failure: CryptoError?

    init(_ algorithm: DigestAlgorithm) throws(CryptoError) {
        guard let context = EVP_MD_CTX_new() else { throw .fromOpenSSL("out of memory") }
        guard EVP_DigestInit_ex(context, algorithm.type, nil) == 1 else {
            EVP_MD_CTX_free(context)
            throw .fromOpenSSL("cannot start \(algorithm.rawValue)")
        }
        self.context = context
        self.algorithm = algorithm
    }

    deinit {
        EVP_MD_CTX_free(context)
    }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress, failure == nil else { return }
        if EVP_DigestUpdate(context, start, bytes.count) != 1 {
            failure = .fromOpenSSL("cannot continue \(algorithm.rawValue)")
        }
    }

    mutating func reset() {
        let restarted = EVP_DigestInit_ex(context, algorithm.type, nil) == 1
        failure = restarted ? nil : .fromOpenSSL("cannot start \(algorithm.rawValue)")
    }

    /// Copies the state of another digest, which stays usable.
    mutating func resume(from other: borrowing DigestContext) {
        failure = other.failure
        if EVP_MD_CTX_copy_ex(context, other.context) != 1 {
            failure = .fromOpenSSL("cannot copy \(algorithm.rawValue)")
        }
    }

    /// The digest of everything added so far; more may follow.
    func snapshot() throws(CryptoError) -> [UInt8] {
        if let failure { throw failure }
        // Finalizing ends a context, so it is done on a copy.
        guard let copy = EVP_MD_CTX_new() else { throw .fromOpenSSL("out of memory") }
        defer { EVP_MD_CTX_free(copy) }
        var bytes = [UInt8](repeating: 0, count: Int(EVP_MD_get_size(algorithm.type)))
        guard EVP_MD_CTX_copy_ex(copy, context) == 1, EVP_DigestFinal_ex(copy, &bytes, nil) == 1 else {
            throw .fromOpenSSL("cannot finish \(algorithm.rawValue)")
        }
        return bytes
    }
}

/// An algorithm that was looked up among OpenSSL's providers: `EVP_sha256()` would be looked up again for each file.
///
/// `@unchecked Sendable`: the description is constant, and OpenSSL counts its references atomically (EVP_MD_fetch(3)).
/// This reference is never released, so the description exists until the process exits.
private struct FetchedDigest: @unchecked Sendable {
    static let sha256 = FetchedDigest(type: EVP_MD_fetch(nil, "SHA2-256", nil))
    static let sha1 = FetchedDigest(type: EVP_MD_fetch(nil, "SHA1", nil))

    let type: OpaquePointer?
}
