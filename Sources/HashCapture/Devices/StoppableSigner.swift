internal import CaptureSubmission
internal import MediaCore
internal import MediaCrypto
internal import MediaTransport

/// A signer that a stop interrupts immediately, since no request is in transit while it signs.
struct StoppableSigner: CaptureSigner {
    let signer: any CaptureSigner
    let control: TransferControl

    var publicKey: VerifyingKey { signer.publicKey }

    func sign(_ message: [UInt8]) async throws(CaptureError) -> [UInt8] {
        let signer = signer
        return try await control.canceling { () throws(CaptureError) in try await signer.sign(message) }
    }
}

extension TransferControl {
    /// Runs a step. Both a stop and the cancellation of the task cancel it.
    ///
    /// - Throws: `CaptureError` `.cancelled` after a stop, even if the step has finished; errors thrown by `step`.
    func canceling<Value: Sendable>(
        _ step: @escaping @Sendable () async throws(CaptureError) -> Value
    ) async throws(CaptureError) -> Value {
        guard !isStopRequested else { throw CaptureError(.cancelled) }
        let work = Task { await Result(awaiting: step) }
        let observer = observeStop { work.cancel() }
        defer { endObserving(observer) }
        let result = await withTaskCancellationHandler {
            await work.value
        } onCancel: {
            work.cancel()
        }
        guard !isStopRequested else { throw CaptureError(.cancelled) }
        return try result.get()
    }
}
