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

/// A received photo with what the form says about it.
struct PhotoUpload {
    var file: IncomingFile
    /// Lower-case hex.
    var hash: String
    /// The name of the form's file part.
    var partName: String
    /// The name that is shown.
    var originalName: String
    var deviceID: String?
    var takenAt: GoTime
    var pixels: ImageFacts.Size?

    /// Nil when the form has no file.
    init?(_ form: PhotoForm) {
        guard let part = form.file, let digest = part.content.finishDigest() else { return nil }
        file = part.content
        hash = hexString(digest)
        partName = part.name
        let name = form.fields["originalFilename"] ?? ""
        originalName = PhotoName.sanitised(name.isEmpty ? part.name : name)
        deviceID = form.fields["deviceId"].flatMap { $0.isEmpty ? nil : $0 }
        let facts = ImageFacts(fileAt: part.content.path)
        pixels = facts.size
        let date = form.fields["dateTaken"] ?? ""
        // A date that cannot be read is no error: the photo is dated now, even when the file knows better.
        takenAt = (date.isEmpty ? facts.takenAt : GoTime(date)) ?? .now()
    }
}

/// Parses an upload's form while it arrives; of several parts with one name the first counts.
final class PhotoForm {
    /// The part called `file`.
    struct File {
        var name: String
        var content: IncomingFile
    }

    private enum Part {
        case none
        case field(name: String, value: ByteBuffer)
        case file(IncomingFile)
    }

    /// Longer field values are cut: no field of an upload is anywhere near.
    private static let fieldLimit = 1 << 20

    private(set) var fields: [String: String] = [:]
    private(set) var file: File?
    /// The disk refused a byte.
    private(set) var couldNotWrite = false
    private var parser: MultipartParser?
    private let folder: DataFolder
    private var part = Part.none

    init(boundary: String, folder: DataFolder) {
        parser = boundary.isEmpty ? nil : MultipartParser(boundary: boundary)
        self.folder = folder
    }

    /// Whether all of a form was seen.
    var isComplete: Bool { parser?.isComplete == true }

    /// Takes the next bytes. Nothing is thrown: a form that went wrong is judged at its end.
    func consume(_ chunk: ByteBuffer) {
        do {
            try parser?.consume(chunk, handle)
        } catch {
            couldNotWrite = error is SystemError
            parser = nil
        }
    }

    private func handle(_ event: MultipartParser.Event) throws {
        switch event {
        case .partBegan(let header): try begin(header)
        case .data(let buffer): try append(buffer)
        case .partEnded:
            if case .field(let name, let value) = part, fields[name] == nil { fields[name] = String(buffer: value) }
            part = .none
        }
    }

    /// Without a file name a part is a field, whatever it is called (photosync contract 3.1).
    private func begin(_ header: PartHeader) throws {
        guard let name = header.fileName, !name.isEmpty else {
            part = .field(name: header.name, value: ByteBuffer())
            return
        }
        guard header.name == "file", file == nil else {
            part = .none
            return
        }
        let content = try IncomingFile(path: folder.newIncomingPath(), hashedBy: .sha256)
        file = File(name: name, content: content)
        part = .file(content)
    }

    private func append(_ buffer: ByteBuffer) throws {
        switch part {
        case .file(let content): try content.append(buffer)
        case .field(let name, var value):
            guard value.readableBytes + buffer.readableBytes <= Self.fieldLimit else { return }
            // Taken out first, so that appending does not copy what is there.
            part = .none
            value.writeImmutableBuffer(buffer)
            part = .field(name: name, value: value)
        case .none: break
        }
    }
}

/// Embeds ids into stored files some time after their upload, as the real server's exiftool does (photosync
/// contract 3.6): hash and length differ from then on.
actor PhotoRewriter {
    private let folder: DataFolder
    private let rewrite: PhotoSyncSettings.Rewrite
    private var pending: [String: Task<Void, Never>] = [:]

    init(folder: DataFolder, rewrite: PhotoSyncSettings.Rewrite) {
        self.folder = folder
        self.rewrite = rewrite
    }

    /// Rewrites the photo when its time has come; at once when there is nothing to wait for.
    func add(_ photo: PhotoRecord) throws {
        switch rewrite {
        case .never: break
        case .after(0): try Self.embed(photo.id, in: folder.photoPath(photo.path))
        case .after(let milliseconds):
            let path = folder.photoPath(photo.path)
            pending[photo.id] = Task {
                try? await Task.sleep(for: .milliseconds(milliseconds))
                // A photo that was deleted meanwhile has nothing to rewrite.
                try? Self.embed(photo.id, in: path)
                pending[photo.id] = nil
            }
        }
    }

    /// Rewrites now what waits for its time; returns how many that were.
    func settle() async -> Int {
        let tasks = Array(pending.values)
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
        return tasks.count
    }

    /// Puts a new file in the old one's place: who has the old one open reads it to its end.
    private static func embed(_ id: String, in path: String) throws {
        let content = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        // exiftool leaves alone what it cannot write.
        guard let stamped = PhotoStamper.stamped(content, with: id) else { return }
        try Data(stamped).write(to: URL(fileURLWithPath: path), options: .atomic)
    }
}

/// What a JPEG file says about itself: its size and when it was taken.
struct ImageFacts: Equatable {
    struct Size: Sendable, Equatable {
        var width: Int
        var height: Int
    }

    /// After rotation.
    var size: Size?
    /// Nil when there is no EXIF date.
    var takenAt: GoTime?

    /// Reads the first 128 KiB; other formats have no facts.
    init(fileAt path: String) {
        guard let file = FileHandle(forReadingAtPath: path) else { return }
        defer { try? file.close() }
        read([UInt8]((try? file.read(upToCount: 128 * 1024)) ?? Data()))
    }

    /// Walks the segments up to the picture (ITU-T T.81 annex B).
    private mutating func read(_ bytes: [UInt8]) {
        guard bytes.starts(with: [0xFF, 0xD8]) else { return }
        var exif = EXIFFacts()
        var offset = 2
        while offset + 4 <= bytes.count, bytes[offset] == 0xFF {
            let marker = bytes[offset + 1]
            let length = Int(bytes[offset + 2]) << 8 | Int(bytes[offset + 3])
            guard length >= 2, offset + 2 + length <= bytes.count else { return }
            let segment = bytes[offset + 4..<offset + 2 + length]
            switch marker {
            case 0xE1: exif = EXIFFacts(Array(segment))
            // SOF0 to SOF15, without DHT, JPG and DAC.
            case 0xC0...0xCF where ![0xC4, 0xC8, 0xCC].contains(marker):
                guard segment.count >= 5 else { return }
                let numbers = Array(segment)
                let height = Int(numbers[1]) << 8 | Int(numbers[2])
                let width = Int(numbers[3]) << 8 | Int(numbers[4])
                size = exif.isTurned ? Size(width: height, height: width) : Size(width: width, height: height)
                takenAt = exif.takenAt
                return
            default: break
            }
            offset += 2 + length
        }
        takenAt = exif.takenAt
    }
}

/// Orientation and date of an EXIF segment (CIPA DC-008).
private struct EXIFFacts {
    /// Whether width and height change places.
    var isTurned = false
    var takenAt: GoTime?

    init() {}

    init(_ segment: [UInt8]) {
        guard segment.starts(with: Array("Exif\0\0".utf8)) else { return }
        let tiff = TIFF(bytes: Array(segment.dropFirst(6)))
        guard let first = tiff.number(at: 4, width: 4) else { return }
        isTurned = (5...8).contains(tiff.value(of: 0x0112, inDirectoryAt: first, width: 2) ?? 1)
        guard let directory = tiff.value(of: 0x8769, inDirectoryAt: first, width: 4),
            let date = tiff.value(of: 0x9003, inDirectoryAt: directory, width: 4)
        else { return }
        takenAt = tiff.date(at: date)
    }

    private struct TIFF {
        let bytes: [UInt8]

        func number(at offset: Int, width: Int) -> Int? {
            guard offset >= 0, offset + width <= bytes.count else { return nil }
            let digits = bytes[offset..<offset + width]
            let isLittleEndian = bytes.first == UInt8(ascii: "I")
            return (isLittleEndian ? digits.reversed() : Array(digits)).reduce(0) { $0 << 8 | Int($1) }
        }

        /// A tag's value or, for long ones, its offset.
        func value(of tag: Int, inDirectoryAt start: Int, width: Int) -> Int? {
            for index in 0..<(number(at: start, width: 2) ?? 0) {
                let entry = start + 2 + index * 12
                if number(at: entry, width: 2) == tag { return number(at: entry + 8, width: width) }
            }
            return nil
        }

        /// `YYYY:MM:DD HH:MM:SS`, the camera's wall clock, taken for UTC.
        func date(at offset: Int) -> GoTime? {
            guard offset >= 0, offset + 19 <= bytes.count else { return nil }
            let text = String(decoding: bytes[offset..<offset + 19], as: UTF8.self)
            return GoTime(text.prefix(10).replacing(":", with: "-") + "T" + text.suffix(8) + "Z")
        }
    }
}
