internal import GigHive
internal import Tus

extension SettingsSession {
    /// The rules of uploads.
    ///
    /// - Parameters:
    ///   - anyExtension: Whether files with unknown extensions are sent.
    ///   - again: Whether files that are already in the event are uploaded.
    ///   - parallelParts: Parts of a file that are sent at once.
    ///   - guest: The event of a guest.
    /// - Returns: What flags and settings say.
    func uploadOptions(
        anyExtension: Bool = false,
        again: Bool = false,
        parallelParts: Int = 1,
        guest: GuestAccess? = nil
    ) -> UploadOptions {
        let chunkBytes = settings.chunkSize.value
        let usual = TusSendOptions()
        return UploadOptions(
            maximumBytes: settings.maxBytes.value,
            anyExtension: anyExtension,
            again: again,
            retry: retryPolicy,
            timeouts: timeouts,
            settleTime: settings.settleTimeout.value,
            transport: settings.transport.value,
            chunks: TusSendOptions(
                chunkBytes: chunkBytes,
                minimumChunkBytes: min(usual.minimumChunkBytes, chunkBytes),
                maximumChunkBytes: max(usual.maximumChunkBytes, chunkBytes),
                retry: retryPolicy
            ),
            parallelParts: parallelParts,
            guest: guest
        )
    }
}
