internal import MediaCore
package import MediaTransport

extension PhotoSyncClient {
    /// Requests the first byte of a photo's file (`Range: bytes=0-0`), which shows how long the stored file is without
    /// downloading it (photosync contract section 6; new facts, 2).
    ///
    /// - Parameters:
    ///   - id: The photo.
    ///   - control: Cancels the request.
    /// - Returns: The length in bytes; 0 for an empty file.
    /// - Throws: `PhotoSyncError`, with the photo's id: `.notFound` when the file is missing, `.unexpectedAnswer` for the
    ///   response of a proxy, or one without a length.
    package func storedLength(
        of id: String,
        control: TransferControl = TransferControl()
    ) async throws(PhotoSyncError) -> Int64 {
        do throws(PhotoSyncError) {
            // A path segment of dots would address another resource (RFC 3986 section 5.2.4).
            guard !["", ".", ".."].contains(id) else {
                throw PhotoSyncError(.unknownPhoto, detail: "not an id of a photo")
            }
            let path = "/api/photos/\(PercentEncoding.encode(id))/download"
            let request = try request(.get, path, headers: [HTTPHeader("Range", "bytes=0-0")])
            let response = try await answer(to: request, control: control)
            guard [200, 206, 416].contains(response.status) else { throw ServerRefusal(response).error() }
            guard let head = DownloadHead(response.head), head.sha256 != nil, let length = head.totalBytes else {
                throw PhotoSyncError(.unexpectedAnswer, detail: "no length of the file", httpStatus: response.status)
            }
            return length
        } catch {
            var error = error
            error.photoID = id
            throw error
        }
    }
}
