import Foundation
import GRDB
import HTTPTypes
import HummingbirdCore
import NIOCore

/// `POST /api/photos/upload` (photosync contract 3).
struct PhotoUploadEndpoint {
    let catalog: PhotoCatalog
    let rewriter: PhotoRewriter

    func response(to exchange: Exchange, from user: UserRecord) async throws -> Response {
        // A part without a file name is a field (photosync contract 3.1).
        let form = FormReader(exchange.contentType, folder: catalog.folder) { header, before in
            guard header.fileName?.isEmpty == false else { return .kept }
            return header.name == "file" && !before.contains { $0.file != nil } ? .stored : .dropped
        }
        if let seconds = exchange.plan[.bodyTimeout]?.seconds {
            try await exchange.channel.triggerUserOutboundEvent(BodyDeadline(seconds: seconds)).get()
        }
        try await exchange.readBody(form.consume)
        if form.couldNotWrite { return .photoSyncError(.internalServerError, "Failed to store file.") }
        guard form.isComplete else { return .notMultipart }
        guard let upload = PhotoUpload(form) else {
            return .photoSyncError(.badRequest, "No file provided or file is empty.")
        }
        if let known = try catalog.photo(hash: upload.hash) { return Self.response(known, isDuplicate: true) }
        // The size is checked after the hash, because known bytes are never refused.
        if upload.file.size > catalog.settings.maxSize {
            return .photoSyncError(.badRequest, "file size exceeds maximum allowed")
        }
        if PhotoName.contentType(upload.partName) == nil {
            return .photoSyncError(.badRequest, "file extension not allowed")
        }
        if upload.file.size == 0 { return .photoSyncError(.badRequest, "file size must be positive") }
        do {
            let (photo, isDuplicate) = try catalog.store(upload, of: user)
            if !isDuplicate { try await rewriter.add(photo) }
            return Self.response(photo, isDuplicate: isDuplicate)
        } catch is DatabaseError {
            // An unknown device violates the row's foreign key.
            return .photoSyncError(.internalServerError, "Failed to save photo record.")
        } catch is SystemError {
            return .photoSyncError(.internalServerError, "Failed to store file.")
        }
    }

    private static func response(_ photo: PhotoRecord, isDuplicate: Bool) -> Response {
        let response: JSONValue = [
            "id": .string(photo.id), "storedPath": .string(photo.path), "uploadedAt": .string(photo.uploadedAt.text),
            "isDuplicate": .bool(isDuplicate),
        ]
        return .photoSync(.ok, response)
    }
}

/// A received photo and its fields; the first of several fields with the same name counts.
struct PhotoUpload {
    var file: IncomingFile
    var hash: String
    /// The name of the form's file part.
    var partName: String
    var originalName: String
    var deviceID: String?
    var takenAt: Timestamp
    var pixels: ImageFacts.Size?

    init?(_ form: FormReader) {
        guard let part = form.parts.first(where: { $0.file != nil }), let file = part.file,
            let digest = file.finishDigest()
        else { return nil }
        func field(_ name: String) -> String? {
            let text = form.parts.first { $0.name == name && $0.header.fileName?.isEmpty ?? true }?.text
            return text?.isEmpty == false ? text : nil
        }
        self.file = file
        hash = hexString(digest)
        partName = part.header.fileName ?? ""
        originalName = PhotoName.sanitized(field("originalFilename") ?? partName)
        deviceID = field("deviceId")
        let facts = ImageFacts(fileAt: file.path)
        pixels = facts.size
        // With an invalid date, the photo gets the current date, even if the file contains one.
        let date = field("dateTaken")
        takenAt = (date == nil ? facts.takenAt : date.flatMap { Timestamp($0, isWallClock: true) }) ?? .now()
    }
}

/// Embeds IDs into stored files after their upload, like exiftool on the real server (photosync contract 3.6). This
/// changes their hash and length.
actor PhotoRewriter {
    private let folder: DataFolder
    /// In milliseconds; a negative value means never.
    private let delay: Int
    private var pending: [String: Task<Void, Never>] = [:]

    init(folder: DataFolder, delay: Int) {
        self.folder = folder
        self.delay = delay
    }

    /// Rewrites the photo after the delay.
    func add(_ photo: PhotoRecord) throws {
        let path = folder.photoPath(photo.path)
        if delay == 0 { try Self.embed(photo.id, in: path) }
        guard delay > 0 else { return }
        pending[photo.id] = Task {
            try? await Task.sleep(for: .milliseconds(delay))
            // The photo may have been deleted.
            try? Self.embed(photo.id, in: path)
            pending[photo.id] = nil
        }
    }

    /// Rewrites the pending photos now, and returns their number.
    func rewritePending() async -> Int {
        let tasks = Array(pending.values)
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
        return tasks.count
    }

    /// Replaces the file, so that one that is already open does not change.
    private static func embed(_ id: String, in path: String) throws {
        let content = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        // exiftool does not change files that it cannot write.
        guard let stamped = PhotoStamper.stamped(content, with: id) else { return }
        try Data(stamped).write(to: URL(fileURLWithPath: path), options: .atomic)
    }
}
