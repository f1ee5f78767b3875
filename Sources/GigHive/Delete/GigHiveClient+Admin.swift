internal import MediaTransport

extension GigHiveClient {
    /// Checks that the login is an admin's, by a request without ids, which deletes nothing: the server reports which body
    /// it expects of this user (gighive contract 5.4, trap T25).
    ///
    /// - Throws: `GigHiveError`: `.forbidden` with `neededLogin` for an uploader, `.unauthorized` for every other user.
    public func requireAdmin() async throws(GigHiveError) {
        let (response, reply) = try await deletionWithoutIDs()
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

    /// Whether the login is an admin's, by the same request; nil if the response does not show it.
    ///
    /// - Throws: `GigHiveError` when there is no response.
    func isAdmin() async throws(GigHiveError) -> Bool? {
        let (response, reply) = try await deletionWithoutIDs()
        guard response.status == 400, let login = reply.neededLogin else { return nil }
        // The server expects an admin's body of an admin, which an uploader would have to log in for.
        return login == .uploader
    }

    private func deletionWithoutIDs() async throws(GigHiveError) -> (response: HTTPResponse, reply: DeleteReply) {
        let response = try await send(post("/db/delete_media_files.php", json: "{}"), control: TransferControl())
        return (response, DeleteReply.parse(response.body))
    }
}
