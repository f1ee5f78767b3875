internal import MediaTransport

extension GigHiveClient {
    /// Checks that the login is an admin's, by a request without ids, which deletes nothing: the server reports which body
    /// it expects of this user (gighive contract 5.4, trap T25).
    ///
    /// - Throws: `GigHiveError`: `.forbidden` with `neededLogin` for an uploader, `.unauthorized` for every other user.
    public func requireAdmin() async throws(GigHiveError) {
        let response = try await send(post("/db/delete_media_files.php", json: "{}"), control: TransferControl())
        let reply = DeleteReply.parse(response.body)
        // Any other 400 does not show the role; the deletion itself will.
        guard response.status != 400 || reply.neededLogin == .admin else { return }
        var error = GigHiveError.answered(
            response.head,
            message: reply.message ?? reply.error,
            isJSON: reply.error != nil
        )
        if reply.neededLogin == .admin {
            error = GigHiveError(.forbidden, httpStatus: response.status)
            error.neededLogin = .admin
        }
        throw error
    }
}
