internal import MediaCore
public import MediaTransport
internal import Synchronization

/// The state of the server's file for a photo, as shown by a request for one byte (photosync contract, new fact 2).
public enum StoredFile: Sendable, Equatable {
    /// A file of this many bytes; may be empty.
    case present(byteCount: Int64)
    /// The server has no file. Not inferred from a proxy's 404.
    case missing
}

extension PhotoSyncClient {
    /// `GET /api/photos/{id}/download` with `Range: bytes=0-0`: whether the server has the file, and its length. If the
    /// server ignores the range, the transfer is stopped after the response head.
    ///
    /// - Throws: `PhotoSyncError`, with the photo's ID; `.unexpectedResponse` for a response without a length, or
    ///   without `X-PhotoSync-Hash`, such as a page from a proxy.
    public func storedFile(
        of id: String,
        control: TransferControl = TransferControl()
    ) async throws(PhotoSyncError) -> StoredFile {
        let probe = LengthProbe()
        var request = try request(
            .get,
            Self.path(of: id, "/download"),
            headers: [HTTPHeader("Range", "bytes=0-0")]
        )
        request.destination = .receiver(probe)
        request.verdict = { ServerRefusal.verdict(probe.refusal.completed($0)) }
        do throws(PhotoSyncError) {
            let response = probe.refusal.completed(try await response(to: request, control: control))
            if let head = probe.head { return try Self.storedFile(head) }
            let refusal = ServerRefusal(response)
            if refusal.isOfMissingPhoto { return .missing }
            throw refusal.error()
        } catch {
            // The probe stops the transfer of a whole file.
            if error.code != .cancelled, let head = probe.head { return try Self.storedFile(head) }
            throw error.at(photo: id)
        }
    }

    private static func storedFile(_ head: DownloadHead) throws(PhotoSyncError) -> StoredFile {
        // The server sends this header with every download (contract section 6).
        guard head.sha256 != nil else { throw .withoutHash(head.status) }
        guard let total = head.totalBytes else {
            throw PhotoSyncError(.unexpectedResponse, detail: "no length", httpStatus: head.status)
        }
        return .present(byteCount: total)
    }

    /// `GET /api/photos/{id}`: whether the photo is in the server's database, with or without its file (contract
    /// section 8).
    ///
    /// - Throws: `PhotoSyncError`.
    func isListed(_ id: String, control: TransferControl) async throws(PhotoSyncError) -> Bool {
        let response = try await response(to: request(.get, Self.path(of: id)), control: control)
        switch response.status {
        case 200: return response.head.mediaType == "application/json"
        case 404: return false
        default: throw ServerRefusal(response).error()
        }
    }
}

extension PhotoSyncClient {
    /// `DELETE /api/photos/{id}`: immediately removes the photo and its file for every user, regardless of the owner
    /// (contract section 8). To be used only for photos in the user's own listing.
    ///
    /// - Throws: `PhotoSyncError`. Deleting a photo that was already deleted is not an error.
    func delete(_ id: String, control: TransferControl) async throws(PhotoSyncError) {
        let response = try await response(to: request(.delete, Self.path(of: id)), control: control)
        guard [200, 204, 404].contains(response.status) else { throw ServerRefusal(response).error() }
    }
}

/// Receives the head of a download, and only a few bytes of its body.
private final class LengthProbe: ResponseReceiver {
    private struct Whole: Error {}

    /// The body of an error response.
    let refusal = BodyPrefix()
    private let accepted = Mutex<DownloadHead?>(nil)

    /// nil if the download was refused.
    var head: DownloadHead? { accepted.withLock { $0 } }

    func begin(_ head: HTTPResponseHead) throws {
        guard [200, 206, 416].contains(head.status), let found = DownloadHead(head) else { return }
        accepted.withLock { $0 = found }
        if head.status == 200, (found.byteCount ?? .max) > 1 { throw Whole() }
    }

    func receive(_ bytes: UnsafeRawBufferPointer) throws {
        if head == nil { refusal.receive(bytes) }
    }
}
