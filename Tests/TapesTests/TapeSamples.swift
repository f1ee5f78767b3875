import Foundation
import MediaStore

extension ClipRecord {
    /// A new clip of an original, by default an image.
    init(_ source: [UInt8], of tapeID: String, kind: Kind = .image) {
        self.init(id: UUID().uuidString.lowercased(), tapeID: tapeID, kind: kind, source: source)
    }
}

extension LibraryStore {
    /// Creates a tape with clips of these images, and returns its ID.
    func makeTape(_ title: String, _ images: [[UInt8]] = [], at date: Date = Date()) throws -> String {
        let id = UUID().uuidString.lowercased()
        try create(TapeRecord(id: id, title: title, createdAt: date))
        try addImages(images, to: id, now: date)
        return id
    }

    func addImages(_ images: [[UInt8]], to tapeID: String, at position: Int? = nil, now: Date = Date()) throws {
        _ = try addClips(images.map { ClipRecord($0, of: tapeID) }, to: tapeID, at: position, now: now)
    }

    /// `associated`, `pending_association unreachable`; `gone` if there is no such tape.
    func state(ofTape tapeID: String) throws -> String {
        guard let tape = try self.tape(tapeID) else { return "gone" }
        return tape.association.rawValue + (tape.reason.map { " " + $0.rawValue } ?? "")
    }
}
