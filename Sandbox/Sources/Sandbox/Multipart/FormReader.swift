import NIOCore

/// Parses a form while it is received. Errors are reported at its end.
final class FormReader {
    struct Part {
        let header: PartHeader
        /// The value, truncated if it exceeds the limit.
        var value = ByteBuffer()
        /// The content of a part that is stored on disk.
        var file: IncomingFile?

        var name: String { header.name }
        var text: String { String(buffer: value) }
    }

    enum Handling {
        case kept
        case stored
        case dropped
    }

    private(set) var parts: [Part] = []
    /// Whether writing a file failed.
    private(set) var couldNotWrite = false
    private var parser: MultipartParser?
    private var isDropping = false
    private let limit: Int
    private let folder: DataFolder?
    private let handling: (_ header: PartHeader, _ before: [Part]) -> Handling

    /// `limit` is the maximum size in bytes of a part in memory. A form whose type has no boundary is never complete.
    init(
        _ type: HeaderParameters,
        limit: Int = 1 << 20,
        folder: DataFolder? = nil,
        handling: @escaping (_ header: PartHeader, _ before: [Part]) -> Handling = { _, _ in .kept }
    ) {
        let isForm = type.value.lowercased() == "multipart/form-data"
        parser = isForm ? type["boundary"].flatMap { $0.isEmpty ? nil : MultipartParser(boundary: $0) } : nil
        self.limit = limit
        self.folder = folder
        self.handling = handling
    }

    var isComplete: Bool { parser?.isComplete == true }

    subscript(name: String) -> Part? { parts.last { $0.name == name } }

    func consume(_ chunk: ByteBuffer) {
        do {
            try parser?.consume(chunk) { event in
                switch event {
                case .partBegan(let header): try begin(header)
                case .data(let buffer): try append(buffer)
                }
            }
        } catch {
            couldNotWrite = error is SystemError
            parser = nil
        }
    }

    private func begin(_ header: PartHeader) throws {
        let handling = handling(header, parts)
        isDropping = handling == .dropped
        let path = handling == .stored ? folder?.newIncomingPath() : nil
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
