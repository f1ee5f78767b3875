import GRDB
import HTTPTypes
import HummingbirdCore

/// `POST /api/photos/upload` (photosync contract 3).
struct PhotoUploadEndpoint {
    let catalog: PhotoCatalog
    let rewriter: PhotoRewriter

    func reply(to exchange: Exchange, from user: UserRecord) async throws -> Reply {
        let contentType = HeaderParameters(exchange.request.headers[.contentType] ?? "")
        let isForm = contentType.value.lowercased() == "multipart/form-data"
        let form = PhotoForm(boundary: isForm ? contentType["boundary"] ?? "" : "", folder: catalog.folder)
        try await exchange.readBody(form.consume)
        if form.couldNotWrite { return .photoSyncError(.internalServerError, "Failed to store file.") }
        guard form.isComplete else { return .notMultipart }
        guard let upload = PhotoUpload(form) else {
            return .photoSyncError(.badRequest, "No file provided or file is empty.")
        }
        if let known = try catalog.photo(hash: upload.hash) { return Self.reply(known, isDuplicate: true) }
        if let refusal = refusal(of: upload) { return refusal }
        return try await store(upload, of: user)
    }

    /// Known bytes are never refused, so this comes after the look-up of the hash.
    private func refusal(of upload: PhotoUpload) -> Reply? {
        if upload.file.size > catalog.settings.maxSize {
            return .photoSyncError(.badRequest, "file size exceeds maximum allowed")
        }
        if PhotoName.contentType(upload.partName) == nil {
            return .photoSyncError(.badRequest, "file extension not allowed")
        }
        return upload.file.size == 0 ? .photoSyncError(.badRequest, "file size must be positive") : nil
    }

    private func store(_ upload: PhotoUpload, of user: UserRecord) async throws -> Reply {
        let photo: PhotoRecord
        let isDuplicate: Bool
        do {
            (photo, isDuplicate) = try catalog.store(upload, of: user)
        } catch is DatabaseError {
            // An unknown device violates the row's foreign key.
            return .photoSyncError(.internalServerError, "Failed to save photo record.")
        } catch is SystemError {
            return .photoSyncError(.internalServerError, "Failed to store file.")
        }
        if !isDuplicate { try await rewriter.add(photo) }
        return Self.reply(photo, isDuplicate: isDuplicate)
    }

    private static func reply(_ photo: PhotoRecord, isDuplicate: Bool) -> Reply {
        .photoSync(
            .ok,
            [
                "id": .string(photo.id),
                "storedPath": .string(photo.path),
                "uploadedAt": .string(photo.uploadedAt.text),
                "isDuplicate": .bool(isDuplicate),
            ]
        )
    }
}
