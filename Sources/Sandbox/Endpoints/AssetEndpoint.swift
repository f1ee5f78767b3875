import HTTPTypes

/// `GET /api/uploads/<id>`: the cheap question whether an asset exists (gighive contract 2.5).
struct AssetEndpoint {
    let catalog: Catalog

    func reply(id: Int) throws -> Reply {
        guard let place = try catalog.asset(id) else { return .json(.notFound, ["error": "Not Found"]) }
        let asset = place.asset
        guard catalog.dialect >= .d3 else { return .json(.ok, fileJSON(place)) }
        return .json(
            .ok,
            [
                "id": .int(asset.id),
                "asset_id": .int(asset.id),
                "file_name": .string(asset.fileName),
                "file_ext": .string(asset.fileExtension),
                "file_type": .string(asset.kind.rawValue),
                "mime_type": .string(asset.mimeType),
                "size_bytes": .int(asset.size),
                "checksum_sha256": .string(asset.checksum),
                "duration_seconds": JSONValue(asset.duration),
                "source_relpath": .string(asset.sourceName),
            ]
        )
    }

    private func fileJSON(_ place: AssetPlace) -> JSONValue {
        let asset = place.asset
        return [
            "id": .int(asset.id),
            "file_name": .string(asset.fileName),
            "file_type": .string(asset.kind.rawValue),
            "mime_type": .string(asset.mimeType),
            "size_bytes": .int(asset.size),
            "checksum_sha256": .string(asset.checksum),
            "session_id": JSONValue(place.eventID),
            "seq": JSONValue(place.position),
            "created_at": .string(asset.createdAt),
        ]
    }
}
