internal import MediaFiles
internal import Synchronization

/// A sequentially written file: mode 0600, initially empty.
final class BlobFile: Sendable {
    let file: PartialFile
    private let end = Mutex<Int64>(0)

    /// Number of bytes after which writeback is started again, so syncing the file has little left to do.
    private static let writebackSize: Int64 = 32 << 20

    init(_ name: String, in directory: TargetDirectory) throws(FileWriteError) {
        file = try PartialFile.open(name, in: directory)
        try file.truncate(to: 0)
    }

    /// Only one caller at a time. Returns the new length.
    @discardableResult
    func append(_ bytes: UnsafeRawBufferPointer) throws(FileWriteError) -> Int64 {
        let begin = end.withLock { $0 }
        try file.write(bytes, at: begin)
        let length = begin + Int64(bytes.count)
        end.withLock { $0 = length }
        let (before, now) = (begin / Self.writebackSize, length / Self.writebackSize)
        if now > before { file.beginWriteback(before * Self.writebackSize..<now * Self.writebackSize) }
        return length
    }
}
