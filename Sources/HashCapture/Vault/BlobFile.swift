internal import CaptureSubmission
internal import MediaFiles
internal import Synchronization

/// A sequentially written file: mode 0600, initially empty, on disk after `sync`.
final class BlobFile: Sendable {
    private let file: PartialFile
    private let end = Mutex<Int64>(0)

    /// Number of bytes after which writeback is started again, so `sync` has little left to do.
    private static let writebackSize: Int64 = 32 << 20

    init(_ name: String, in directory: TargetDirectory) throws(FileWriteError) {
        file = try PartialFile.open(name, in: directory)
        try file.truncate(to: 0)
    }

    /// Reserves space to detect a full disk before the first byte.
    func reserve(_ byteCount: Int64) throws(FileWriteError) {
        do {
            try file.reserve(byteCount)
        } catch {
            discard()
            throw error
        }
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

    /// Syncs the file to disk. Blocks.
    func sync() throws(FileWriteError) { _ = try file.sync() }

    /// Renames the file without replacing anything, and syncs the directory. Blocks.
    func publish(as name: [UInt8]) throws(FileWriteError) { try file.publish(as: name) }

    func discard() { try? file.discard() }
}

struct ExportTarget: Sendable {
    let directory: TargetDirectory
    /// The file name, as bytes; may be invalid UTF-8.
    let name: [UInt8]
    let temporaryName: String

    /// Opens the directory, and checks that the name is free; publishing checks it again.
    ///
    /// - Throws: `.targetExists`, `.targetUnusable`.
    init(_ path: [UInt8], temporaryName: String) throws(CaptureError) {
        name = path.nameOfPath
        let parent = path.directoryOfPath
        self.temporaryName = temporaryName
        guard !name.isEmpty, name != Array(".".utf8), name != Array("..".utf8) else {
            throw CaptureError(.targetUnusable, detail: "not a file name", path: path)
        }
        do {
            guard let directory = try TargetDirectory.open(parent, creating: false) else {
                throw CaptureError(.targetUnusable, detail: "no such directory", path: parent)
            }
            guard try directory.status(of: name) == nil else { throw FileWriteError(.exists, path: path) }
            self.directory = directory
        } catch let error as FileWriteError {
            throw Self.failure(error, path: path)
        } catch {
            throw .ofVault(error)
        }
    }

    static func failure(_ error: FileWriteError, path: [UInt8]) -> CaptureError {
        CaptureError(error.code, detail: error.detail, path: path, underlying: error)
    }
}
