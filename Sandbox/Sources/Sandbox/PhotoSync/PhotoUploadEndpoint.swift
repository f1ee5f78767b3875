import Foundation
import GRDB
import HTTPTypes
import HummingbirdCore
import NIOCore

/// `POST /api/photos/upload` (photosync contract 3).
struct PhotoUploadEndpoint {
    let catalog: PhotoCatalog
    let rewriter: PhotoRewriter

    func reply(to exchange: Exchange, from user: UserRecord) async throws -> Reply {
        // Without a file name a part is a field, regardless of its name (photosync contract 3.1).
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
        if let known = try catalog.photo(hash: upload.hash) { return Self.reply(known, isDuplicate: true) }
        // Known bytes are never rejected, so this follows the lookup of the hash.
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
            return Self.reply(photo, isDuplicate: isDuplicate)
        } catch is DatabaseError {
            // An unknown device violates the row's foreign key.
            return .photoSyncError(.internalServerError, "Failed to save photo record.")
        } catch is SystemError {
            return .photoSyncError(.internalServerError, "Failed to store file.")
        }
    }

    private static func reply(_ photo: PhotoRecord, isDuplicate: Bool) -> Reply {
        let reply: JSONValue = [
            "id": .string(photo.id), "storedPath": .string(photo.path), "uploadedAt": .string(photo.uploadedAt.text),
            "isDuplicate": .bool(isDuplicate),
        ]
        return .photoSync(.ok, reply)
    }
}

/// A received photo with the form's fields; of several fields with one name the first counts.
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
        // An invalid date is not an error: the photo gets the current time, even if the file contains a date.
        let date = field("dateTaken")
        takenAt = (date == nil ? facts.takenAt : date.flatMap { Timestamp($0, isWallClock: true) }) ?? .now()
    }
}

/// Embeds ids into stored files some time after their upload, like the real server's exiftool (photosync contract
/// 3.6): hash and length differ from then on.
actor PhotoRewriter {
    private let folder: DataFolder
    /// Milliseconds; negative is never.
    private let delay: Int
    private var pending: [String: Task<Void, Never>] = [:]

    init(folder: DataFolder, delay: Int) {
        self.folder = folder
        self.delay = delay
    }

    /// Rewrites the photo when it is due; at once without a delay.
    func add(_ photo: PhotoRecord) throws {
        let path = folder.photoPath(photo.path)
        if delay == 0 { try Self.embed(photo.id, in: path) }
        guard delay > 0 else { return }
        pending[photo.id] = Task {
            try? await Task.sleep(for: .milliseconds(delay))
            // A photo deleted in the meantime is not rewritten.
            try? Self.embed(photo.id, in: path)
            pending[photo.id] = nil
        }
    }

    /// Rewrites all pending photos now; returns their number.
    func settle() async -> Int {
        let tasks = Array(pending.values)
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
        return tasks.count
    }

    /// Replaces the old file by a new one: readers that have the old one open read it to its end.
    private static func embed(_ id: String, in path: String) throws {
        let content = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        // exiftool does not change files that it cannot write.
        guard let stamped = PhotoStamper.stamped(content, with: id) else { return }
        try Data(stamped).write(to: URL(fileURLWithPath: path), options: .atomic)
    }
}
