internal import CaptureSubmission
internal import MediaCrypto
internal import MediaFiles
internal import MediaStore

extension CaptureError {
    /// Runs a step of the vault and tells its failure as the vault's.
    static func inVault<Value>(_ body: () throws -> Value) throws(CaptureError) -> Value {
        do { return try body() } catch { throw ofVault(error) }
    }

    /// What an error of a lower layer means for the vault.
    static func ofVault(_ error: any Error) -> CaptureError {
        switch error {
        case let error as CaptureError: error
        case is CancellationError: CaptureError(.cancelled)
        case let error as FileWriteError:
            CaptureError(
                error.kind == .full ? .diskFull : .vaultUnusable,
                detail: error.detail,
                path: error.path,
                underlying: error
            )
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
