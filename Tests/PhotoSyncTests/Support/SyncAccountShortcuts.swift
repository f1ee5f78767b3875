import MediaStore
import MediaSystem

@testable import PhotoSync

extension SyncAccount {
    /// Stores a copy of a photo in the library.
    func keepCopy(
        of photoID: String,
        at path: [UInt8],
        _ state: PhotoCopy.State = .present,
        _ source: PhotoCopy.Source = .downloaded,
        temporaryName: String? = nil,
        sha256: String? = nil,
        serverSHA256: String,
        identity: FileIdentity? = nil
    ) async throws {
        let copy = PhotoCopy(
            server: server,
            photoID: photoID,
            path: path,
            temporaryName: temporaryName,
            state: state,
            source: source,
            sha256: sha256,
            serverSHA256: serverSHA256,
            identity: identity
        )
        try await library.keep([copy])
    }

    /// This account with a different device, or without one.
    func with(deviceID: String?) -> SyncAccount {
        SyncAccount(client: client, deviceID: deviceID, index: index, library: library)
    }
}
