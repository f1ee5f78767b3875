import Foundation

/// Bytes of a stored file that an answer carries.
struct StoredRange: Sendable {
    private enum Source {
        case path(String)
        case file(OpenFile)
    }

    private var source: Source
    var offset: Int
    var count: Int
    /// Whether the first byte goes out wrong.
    var isCorrupted = false

    /// A file that is opened when its bytes are sent.
    init(path: String, offset: Int, count: Int) {
        source = .path(path)
        self.offset = offset
        self.count = count
    }

    init(file: OpenFile, offset: Int, count: Int) {
        source = .file(file)
        self.offset = offset
        self.count = count
    }

    func open() throws -> OpenFile {
        switch source {
        case .file(let file): return file
        case .path(let path):
            guard let file = OpenFile(path: path) else { throw SystemError(call: "open", code: errno) }
            return file
        }
    }
}
