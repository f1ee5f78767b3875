internal import MediaSystem

/// The content of a file, with a limit on how much of it is read.
final class BoundedContent {
    /// Length in bytes.
    let count: Int64
    private let source: Source
    /// Number of reads left: sufficient to find the header of any real file, but limits the work for a hostile file
    /// with a million boxes.
    private var readsLeft: Int

    private enum Source {
        /// The file keeps its descriptor open for the lifetime of this value.
        case file(SourceFile)
        case memory([UInt8])
    }

    init(of file: SourceFile, reads: Int = 4_096) {
        source = .file(file)
        count = file.status.size
        readsLeft = reads
    }

    init(_ bytes: [UInt8]) {
        source = .memory(bytes)
        count = Int64(bytes.count)
        readsLeft = 4_096
    }

    /// Reads exactly `count` bytes; nil beyond the end, after an error, and after too many reads.
    func bytes(at offset: Int64, count: Int) -> [UInt8]? {
        guard offset >= 0, offset <= self.count - Int64(count), readsLeft > 0 else { return nil }
        readsLeft -= 1
        switch source {
        case .file(let file):
            guard let bytes = try? FileBytes.read(file.descriptor, at: offset, count: count) else { return nil }
            return bytes.count == count ? bytes : nil
        case .memory(let bytes): return Array(bytes[Int(offset)..<Int(offset) + count])
        }
    }

    /// A big-endian integer; nil as for `bytes`.
    func bigEndian(at offset: Int64, count: Int) -> UInt64? {
        bytes(at: offset, count: count)?.bigEndian(at: 0, count: count)
    }

    var whole: Span { Span(start: 0, end: count) }
}

/// A range of a file.
struct Span {
    var start: Int64
    var end: Int64

    var count: Int64 { end - start }

    /// The range after the first `count` bytes; nil if there are fewer.
    func dropping(_ count: Int64) -> Span? { self.count >= count ? Span(start: start + count, end: end) : nil }
}

extension [UInt8] {
    /// A big-endian integer; nil beyond the end.
    func bigEndian(at offset: Int, count: Int) -> UInt64? {
        guard offset >= 0, count <= 8, offset + count <= self.count else { return nil }
        return self[offset..<offset + count].reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// A little-endian integer; nil beyond the end.
    func littleEndian(at offset: Int, count: Int) -> UInt64? {
        guard offset >= 0, count <= 8, offset + count <= self.count else { return nil }
        return self[offset..<offset + count].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Four characters; empty beyond the end.
    func fourCharacters(at offset: Int) -> String {
        guard offset + 4 <= count else { return "" }
        return String(decoding: self[offset..<offset + 4], as: UTF8.self)
    }
}
