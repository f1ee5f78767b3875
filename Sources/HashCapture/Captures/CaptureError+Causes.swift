internal import CaptureSubmission
internal import Glibc
internal import MediaCrypto
internal import MediaFiles
internal import MediaStore
internal import MediaSystem

extension CaptureError {
    init(_ error: StoreError) {
        let (isBusy, path) = (error.kind == .busy, Array(error.path.utf8))
        let code: OutcomeCode = error.kind == .full ? .diskFull : isBusy ? .busy : .storeUnusable
        self.init(code, detail: error.description, isRetryable: isBusy, path: path, underlying: error)
    }

    static func stored<Value>(_ value: @autoclosure () throws(StoreError) -> Value) throws(CaptureError) -> Value {
        do throws(StoreError) { return try value() } catch { throw CaptureError(error) }
    }

    init(hashing path: [UInt8], _ error: any Error) {
        switch error {
        case is CancellationError: self.init(.cancelled, path: path)
        case let error as CaptureError: self = error
        case let error as CryptoError where error.systemError == nil:
            self.init(.sourceChanged, detail: error.detail, path: path)
        case let error as CryptoError: self.init(.fileUnreadable, detail: error.detail, path: path)
        default: self.init(.internalError, detail: "\(type(of: error))", path: path)
        }
    }
}

extension SHA256Digest {
    /// Throws if the file changes while it is read (trap 17). Cancellation throws `.cancelled`.
    static func of(_ file: SourceFile) async throws(CaptureError) -> SHA256Digest {
        let digest: SHA256Digest
        do {
            digest = try await ofFile(descriptor: file.descriptor, byteCount: file.status.size)
        } catch {
            throw CaptureError(hashing: file.path, error)
        }
        guard (try? file.currentStatus()) == file.status else {
            throw CaptureError(.sourceChanged, detail: "the file changed while it was being hashed", path: file.path)
        }
        return digest
    }
}

extension CaptureError {
    static func inVault<Value>(_ body: () throws -> Value) throws(CaptureError) -> Value {
        do { return try body() } catch { throw ofVault(error) }
    }

    static func ofVault(_ error: any Error) -> CaptureError {
        switch error {
        case let error as CaptureError: error
        case is CancellationError: CaptureError(.cancelled)
        case let error as FileWriteError: ofVault(error, isFull: error.kind == .full, error.detail, error.path)
        case let error as StoreError:
            ofVault(error, isFull: error.kind == .full, error.detail, Array(error.path.utf8))
        case let error as CryptoError: CaptureError(.vaultUnusable, detail: error.detail, underlying: error)
        default: CaptureError(.internalError, detail: "\(type(of: error))")
        }
    }

    private static func ofVault(
        _ error: any Error & Sendable,
        isFull: Bool,
        _ detail: String,
        _ path: [UInt8]
    ) -> CaptureError {
        CaptureError(isFull ? .diskFull : .vaultUnusable, detail: detail, path: path, underlying: error)
    }
}
