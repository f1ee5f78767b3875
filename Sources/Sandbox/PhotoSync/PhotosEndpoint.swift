import Foundation
import HTTPTypes

/// `/api/photos` without its files: check, browse, get, delete (photosync contract 3.7 and 8).
struct PhotosEndpoint {
    let catalog: PhotoCatalog

    func check(_ body: [UInt8]) throws -> Reply {
        guard let given = try? GoFields(body: body).strings("hashes") else {
            return .photoSyncError(.badRequest, "Invalid request body.")
        }
        guard !given.isEmpty else { return .photoSyncError(.badRequest, "At least one hash is required.") }
        guard given.count <= 1000 else {
            return .photoSyncError(.badRequest, "Maximum 1000 hashes can be checked at once.")
        }
        var seen: Set<String> = []
        let hashes = given.map { $0.trimmingCharacters(in: .whitespacesAndNewlines).lowercased() }
            .filter { seen.insert($0).inserted }
        let known = try catalog.known(hashes)
        return .photoSync(
            .ok,
            [
                "existing": .array(known.map(JSONValue.string)),
                "missing": .array(hashes.filter { !known.contains($0) }.map(JSONValue.string)),
            ]
        )
    }

    func browse(_ query: QueryParameters) throws -> Reply {
        let skip = max(0, query["skip"].flatMap { Int($0) } ?? 0)
        let wanted = query["take"].flatMap { Int($0) } ?? 0
        let take = (1...100).contains(wanted) ? wanted : 50
        let (photos, total) = try catalog.browse(skip: skip, take: take)
        return .photoSync(
            .ok,
            [
                "photos": .array(photos.map(Self.item)),
                "totalCount": .int(total),
                "skip": .int(skip),
                "take": .int(take),
            ]
        )
    }

    /// Of any user: the real server does not look whose it is.
    func photo(_ id: String) throws -> Reply {
        guard let photo = try catalog.photo(id) else { return .photoSyncError(.notFound, "Photo not found.") }
        return .photoSync(.ok, Self.item(photo))
    }

    /// Of any user, at once.
    func delete(_ id: String) throws -> Reply {
        guard try catalog.delete(id) else { return .photoSyncError(.notFound, "Photo not found.") }
        return Reply(status: .noContent, origin: .photoSync, body: .empty)
    }

    private static func item(_ photo: PhotoRecord) -> JSONValue {
        [
            "id": .string(photo.id),
            "originalFilename": .string(photo.name),
            "storedPath": .string(photo.path),
            "fileSize": .int(photo.size),
            "dateTaken": .string(photo.takenAt.text),
            "uploadedAt": .string(photo.uploadedAt.text),
        ]
    }
}
