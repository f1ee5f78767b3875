internal import MediaCrypto
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport

/// Hashes one file after the other through one buffer. Used by one thread.
final class FileReader {
    /// Fits into the cache of a core, and makes calls to the system rare enough.
    private static let bufferSize = 256 << 10

    private let control: TransferControl
    private let onRead: @Sendable (Int) -> Void
    private let buffer: UnsafeMutableRawBufferPointer
    private var hasher: SHA256Hasher

    init(control: TransferControl, onRead: @escaping @Sendable (Int) -> Void) throws(PhotoSyncError) {
        do {
            hasher = try SHA256Hasher()
        } catch {
            throw PhotoSyncError(.internalError, detail: error.detail)
        }
        self.control = control
        self.onRead = onRead
        // Owned: freed in `deinit`, never handed out.
        buffer = .allocate(byteCount: Self.bufferSize, alignment: 4_096)
    }

    deinit {
        buffer.deallocate()
    }

    /// The digest of a file that stays as it is meanwhile.
    func digest(of path: [UInt8]) throws(PhotoSyncError) -> TreeHashing.Digest {
        let file: SourceFile
        do {
            file = try SourceFile(path: path)
        } catch {
            throw PhotoSyncError.source(error)
        }
        hasher.reset()
        try read(file)
        guard let status = try? file.currentStatus(), status == file.status else {
            throw PhotoSyncError(.sourceChanged, detail: "the file changed while it was read", path: path)
        }
        do {
            return TreeHashing.Digest(
                sha256: try hasher.snapshot().hex,
                identity: file.status,
                isFromCache: false
            )
        } catch {
            throw PhotoSyncError(.internalError, detail: error.detail, path: path)
        }
    }

    private func read(_ file: SourceFile) throws(PhotoSyncError) {
        var done: Int64 = 0
        while done < file.status.size {
            if control.isStopRequested { throw PhotoSyncError(.cancelled, path: file.path) }
            let wanted = Int(min(Int64(buffer.count), file.status.size - done))
            let got: Int
            do {
                let window = UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])
                got = try FileBytes.read(file.descriptor, at: done, into: window)
            } catch {
                throw PhotoSyncError.source(SourceFileError(.io(errno: error.code), path: file.path))
            }
            guard got > 0 else {
                throw PhotoSyncError(.sourceChanged, detail: "the file became shorter", path: file.path)
            }
            hasher.update(UnsafeRawBufferPointer(rebasing: buffer[..<got]))
            done += Int64(got)
            onRead(got)
        }
    }
}
