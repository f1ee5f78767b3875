internal import Glibc
internal import MediaFiles
internal import MediaStore

extension PhotoSyncError {
    /// A local file cannot be read.
    static func source(_ error: SourceFileError) -> PhotoSyncError {
        switch error.kind {
        case .notFound: PhotoSyncError(.fileNotFound, path: error.path)
        case .permissionDenied: PhotoSyncError(.fileUnreadable, detail: "permission denied", path: error.path)
        case .isDirectory: PhotoSyncError(.notRegularFile, detail: "it is a directory", path: error.path)
        case .notRegular: PhotoSyncError(.notRegularFile, path: error.path)
        case .empty: PhotoSyncError(.emptyFile, path: error.path)
        case .io(let number):
            PhotoSyncError(.fileUnreadable, detail: String(cString: strerror(number)).lowercased(), path: error.path)
        }
    }
}

extension FileIdentity {
    /// The identity that a status tells.
    init(of status: MediaFiles.FileStatus) {
        self.init(
            device: status.device,
            inode: status.inode,
            size: status.size,
            modificationNanoseconds: status.modificationNanoseconds,
            changeNanoseconds: status.changeNanoseconds
        )
    }

    /// What is at a path, links followed, without opening it; nil for what is no regular file.
    init?(ofRegularFile path: [UInt8]) {
        var status = stat()
        guard !path.contains(0), stat(path.map(CChar.init(bitPattern:)) + [0], &status) == 0,
            status.st_mode & S_IFMT == S_IFREG
        else { return nil }
        self.init(
            device: UInt64(status.st_dev),
            inode: UInt64(status.st_ino),
            size: Int64(status.st_size),
            modificationNanoseconds: Self.nanoseconds(status.st_mtim),
            changeNanoseconds: Self.nanoseconds(status.st_ctim)
        )
    }

    /// Wraps around for times that some file systems make up; the value is only ever compared.
    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}
