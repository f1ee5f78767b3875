internal import CaptureSubmission
internal import MediaFiles
internal import Synchronization

/// A file of bytes that come in order: 0600, empty at first, on the disk after `settle`.
final class BlobFile: Sendable {
    private let file: PartialFile
    private let end = Mutex<Int64>(0)

    /// So much is handed to the disk at once while more comes, so that `settle` finds little left.
    private static let writebackSize: Int64 = 32 << 20

    init(_ name: String, in directory: TargetDirectory) throws(FileWriteError) {
        file = try PartialFile.open(name, in: directory)
        try file.truncate(to: 0)
    }

    /// Reserves space, so that a full disk shows before the first byte.
    func reserve(_ byteCount: Int64) throws(FileWriteError) {
        do {
            try file.reserve(byteCount)
        } catch {
            discard()
            throw error
        }
    }

    /// Writes bytes behind those before. One caller at a time.
    ///
    /// - Returns: The length now.
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

    /// Waits until all bytes are on the disk. Blocks.
    func settle() throws(FileWriteError) { _ = try file.settle() }

    /// Gives the file its name, replacing nothing, and waits for the disk. Blocks.
    func publish(as name: [UInt8]) throws(FileWriteError) { try file.publish(as: name) }

    /// Removes the file under its temporary name.
    func discard() { try? file.discard() }
}

/// Where an export goes.
struct ExportTarget: Sendable {
    let directory: TargetDirectory
    /// As bytes; need not be UTF-8.
    let name: [UInt8]
    let temporaryName: String

    /// Opens the directory, and looks whether the name is free; it is looked at again at the end.
    ///
    /// - Throws: `CaptureError` `.targetExists`, `.targetUnusable`.
    init(_ path: [UInt8], temporaryName: String) throws(CaptureError) {
        name = path.nameOfPath
        let parent = path.directoryOfPath
        self.temporaryName = temporaryName
        guard !name.isEmpty, name != Array(".".utf8), name != Array("..".utf8) else {
            throw CaptureError(.targetUnusable, detail: "names no file", path: path)
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

    /// What a failed write means for an export.
    static func failure(_ error: FileWriteError, path: [UInt8]) -> CaptureError {
        let code: OutcomeCode =
            switch error.kind {
            case .full: .diskFull
            case .exists: .targetExists
            case .busy: .busy
            case .denied, .unsafe, .io: .targetUnusable
            }
        return CaptureError(code, detail: error.detail, path: path, underlying: error)
    }
}
