import NIOCore

/// Parses a form while it arrives. Nothing is thrown: an invalid form is reported at its end.
final class FormReader {
    /// One part, in the order of their arrival.
    struct Part {
        let header: PartHeader
        /// The part kept in memory; of a longer value, as much as the limit allows.
        var value = ByteBuffer()
        /// The part's bytes, if they are written to the disk.
        var file: IncomingFile?

        var name: String { header.name }
        var text: String { String(buffer: value) }
    }

    /// The destination of a part's bytes.
    enum Fate {
        case kept
        case stored
        case dropped
    }

    private(set) var parts: [Part] = []
    /// The disk refused a write.
    private(set) var couldNotWrite = false
    private var parser: MultipartParser?
    private var isDropping = false
    private let limit: Int
    private let folder: DataFolder?
    private let fate: (_ header: PartHeader, _ before: [Part]) -> Fate

    /// For a content type that is not a form with a boundary, nothing is ever complete. The limit, in bytes of a
    /// part in memory, is far above any field of an upload.
    init(
        _ type: HeaderParameters,
        limit: Int = 1 << 20,
        folder: DataFolder? = nil,
        fate: @escaping (_ header: PartHeader, _ before: [Part]) -> Fate = { _, _ in .kept }
    ) {
        let isForm = type.value.lowercased() == "multipart/form-data"
        parser = isForm ? type["boundary"].flatMap { $0.isEmpty ? nil : MultipartParser(boundary: $0) } : nil
        self.limit = limit
        self.folder = folder
        self.fate = fate
    }

    var isComplete: Bool { parser?.isComplete == true }

    subscript(name: String) -> Part? { parts.last { $0.name == name } }

    func consume(_ chunk: ByteBuffer) {
        do {
            try parser?.consume(chunk) { event in
                switch event {
                case .partBegan(let header): try begin(header)
                case .data(let buffer): try append(buffer)
                case .partEnded: break
                }
            }
        } catch {
            couldNotWrite = error is SystemError
            parser = nil
        }
    }

    private func begin(_ header: PartHeader) throws {
        let fate = fate(header, parts)
        isDropping = fate == .dropped
        let path = fate == .stored ? folder?.newIncomingPath() : nil
        parts.append(Part(header: header, file: try path.map { try IncomingFile(path: $0, isHashed: true) }))
    }

    private func append(_ buffer: ByteBuffer) throws {
        let last = parts.count - 1
        guard !isDropping, last >= 0 else { return }
        if let file = parts[last].file {
            try file.append(buffer)
        } else if parts[last].value.readableBytes + buffer.readableBytes <= limit {
            parts[last].value.writeImmutableBuffer(buffer)
        }
    }
}
