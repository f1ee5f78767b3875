import NIOCore

/// Takes an upload's form apart while it arrives; of several parts with one name the first counts.
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
