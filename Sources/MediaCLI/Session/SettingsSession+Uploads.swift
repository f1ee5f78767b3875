internal import GigHive
internal import Tus

extension SettingsSession {
    /// The rules of uploads.
    ///
    /// - Parameters:
    ///   - force: Whether unknown extensions and known files are sent.
    ///   - parallelParts: Parts of a file that are sent at once.
    ///   - guest: The event of a guest.
    /// - Returns: What flags and settings say.
    func uploadOptions(force: Bool = false, parallelParts: Int = 1, guest: GuestAccess? = nil) -> UploadOptions {
        let chunkBytes = settings.chunkSize.value
        let usual = TusSendOptions()
        return UploadOptions(
            maximumBytes: settings.maxBytes.value,
            force: force,
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
