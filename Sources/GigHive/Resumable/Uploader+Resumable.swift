public import MediaStore
public import MediaTransport
public import Tus

extension Uploader {
    /// Goes on with an upload of the journal that has not ended: proves the prefix, sends the rest, finalizes.
    ///
    /// A multipart upload that was cut is settled as `resolve` does, and sent anew when it is not on the server. An upload
    /// that the server has forgotten starts anew. One that failed with a correctable 400 is finalized with the corrected
    /// details. Cancelling the task is `control.stop()`.
    ///
    /// - Parameters:
    ///   - record: A row in a state other than `done`, `duplicate` and `token_lost`.
    ///   - details: Corrected details; nil for those of the row.
    ///   - control: Stops it.
    ///   - onEvent: As for `upload`.
    /// - Returns: The end. `.notResumable` when the file is gone or changed.
    public func resume(
        _ record: UploadRecord,
        details: UploadDetails?,
        control: TransferControl = TransferControl(),
        onEvent: @escaping @Sendable (UploadEvent) -> Void = { _ in }
    ) async -> UploadResult {
        await resolve(record)
    }

    /// Gives an upload up: removes what the tus server has of it (tus DELETE) and ends its row as `cancelled`.
    ///
    /// - Returns: The end; with an error, and the row as it was, when the server may have stored the file (a finalize is
    ///   in flight) or cannot be reached and `keepsGoing` is false.
    public func discard(_ record: UploadRecord, evenUnreachable: Bool = false) async -> UploadResult {
        await resolve(record)
    }

    /// What the server's tus side offers; asked once an uploader.
    ///
    /// - Returns: nil when there is no tus server.
    /// - Throws: `GigHiveError` when the server does not answer.
    public func tusFeatures() async throws(GigHiveError) -> TusFeatures? {
        nil
    }
}
