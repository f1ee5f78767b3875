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

    /// Creates the error of a wait for a lock, which throws `StoreError` or `CancellationError`.
    init(locking error: any Error) {
        if let error = error as? StoreError { self.init(error) } else { self.init(.cancelled) }
    }

    /// Creates the error of a file that could not be written; `code` applies unless the disk is full.
    init(writing error: FileWriteError, as code: OutcomeCode, cause: String = "") {
        let code = error.kind == .full ? .diskFull : code
        self.init(code, detail: cause + error.detail, path: error.path, underlying: error)
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
        case let error as FileWriteError: CaptureError(writing: error, as: .vaultUnusable)
        case let error as StoreError:
            CaptureError(
                error.kind == .full ? .diskFull : .vaultUnusable,
                detail: error.detail,
                path: Array(error.path.utf8),
                underlying: error
            )
        case let error as CryptoError: CaptureError(.vaultUnusable, detail: error.detail, underlying: error)
        default: CaptureError(.internalError, detail: "\(type(of: error))")
        }
    }
}
