import Foundation
import HTTPTypes

/// What happens to files on a server's disk while their rows stay (photosync contract, new fact 2).
extension PhotoControl {
    func damage(_ id: String, _ body: [UInt8]) throws -> Reply {
        let fields = try GoFields(body: body)
        guard let photo = try catalog.photo(id), PhotoName.isSafe(photo.path) else { return .webServerError(.notFound) }
        let file = URL(fileURLWithPath: catalog.folder.photoPath(photo.path))
        switch try fields.string("action") {
        case "remove":
            guard unlink(file.path) == 0 else { return .webServerError(.notFound) }
        case "empty":
            try Data().write(to: file, options: .atomic)
        case "truncate":
            let count = try fields.int("bytes") ?? 0
            try Data(contentsOf: file).prefix(max(0, count)).write(to: file, options: .atomic)
        case "replace":
            guard let content = Data(base64Encoded: try fields.string("base64") ?? "") else { throw UnreadableJSON() }
            try content.write(to: file, options: .atomic)
        case "swap":
            guard let otherID = try fields.string("with"), let other = try catalog.photo(otherID),
                PhotoName.isSafe(other.path)
            else {
                return .webServerError(.notFound)
            }
            let otherFile = URL(fileURLWithPath: catalog.folder.photoPath(other.path))
            let content = try Data(contentsOf: file)
            try Data(contentsOf: otherFile).write(to: file, options: .atomic)
            try content.write(to: otherFile, options: .atomic)
        default: throw UnreadableJSON()
        }
        return Self.changed(true)
    }

    /// Stores the thumbnail of a photo, whatever its bytes are.
    func addThumbnail(_ id: String, _ body: [UInt8]) throws -> Reply {
        guard let photo = try catalog.photo(id) else { return .webServerError(.notFound) }
        guard let content = Data(base64Encoded: try GoFields(body: body).string("base64") ?? "") else {
            throw UnreadableJSON()
        }
        try content.write(to: URL(fileURLWithPath: try catalog.folder.makeThumbnailPath(photo.id)), options: .atomic)
        return Self.changed(true)
    }
}
