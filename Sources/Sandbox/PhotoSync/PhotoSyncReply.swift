import HTTPTypes

/// A handler's way to say that it is done, and how.
struct PhotoSyncRefusal: Error {
    var reply: Reply
}

extension Reply {
    /// A 2xx answer, or an error of the JSON kind (photosync contract 0).
    static func photoSync(_ status: HTTPResponse.Status = .ok, _ value: JSONValue) -> Reply {
        Reply(status: status, origin: .photoSync, body: .goJSON(value))
    }

    /// `{"error":"…"}`: the auth layer, `/api/photos*`, the setup gate.
    static func photoSyncError(_ status: HTTPResponse.Status, _ message: String) -> Reply {
        .photoSync(status, ["error": .string(message)])
    }

    /// A bare sentence, as Go's `http.Error` writes it: sync, download, devices, login.
    static func photoSyncText(_ status: HTTPResponse.Status, _ message: String) -> Reply {
        Reply(
            status: status,
            origin: .photoSync,
            body: .plainText(message + "\n"),
            headers: [("X-Content-Type-Options", "nosniff")]
        )
    }

    /// No such path.
    static let photoSyncNotFound = photoSyncText(.notFound, "404 page not found")
    /// No such method.
    static let photoSyncMethodNotAllowed = Reply(status: .methodNotAllowed, origin: .photoSync, body: .empty)
    static let invalidRequestBody = photoSyncText(.badRequest, "Invalid request body")
    static let photoSyncDatabaseError = photoSyncText(.internalServerError, "Database error")
    static let notMultipart = photoSyncError(.badRequest, "Request must be multipart/form-data.")
}
