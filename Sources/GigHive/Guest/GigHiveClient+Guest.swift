public import MediaStore
internal import MediaTransport

extension GigHiveClient {
    /// Asks what event a link stands for (`GET /api/upload-token.php`, gighive contract section 6).
    ///
    /// - Throws: `GigHiveError`: `.invalidEventLink` for a link that is malformed, expired or revoked.
    public func guestAccess(_ token: EventToken, displayName: String?) async throws(GigHiveError) -> GuestAccess {
        throw GigHiveError(.internalError, detail: "not built yet")
    }

    /// Asks where a guest's upload stands (`GET /api/guest-status.php`).
    ///
    /// - Returns: nil when the server knows no such upload.
    /// - Throws: `GigHiveError`.
    public func guestStatus(_ receipt: GuestReceipt) async throws(GigHiveError) -> GuestStatus? {
        throw GigHiveError(.internalError, detail: "not built yet")
    }

    /// Hides a guest's upload (`POST /api/guest-delete.php`). The server keeps the file.
    ///
    /// - Throws: `GigHiveError`: `.forbidden` when it is not approved, or not one's own.
    public func guestHide(_ receipt: GuestReceipt) async throws(GigHiveError) {
        throw GigHiveError(.internalError, detail: "not built yet")
    }
}
