internal import Glibc
internal import MediaFiles
internal import MediaSystem

extension PhotoSyncError {
    /// A file that could not be written.
    init(_ error: FileWriteError) {
        let code: Code =
            switch error.kind {
            case .full: .diskFull
            case .denied, .unsafe, .io: .targetUnusable
            case .exists: .targetExists
            case .busy: .busy
            }
        self.init(code, detail: error.detail, isRetryable: error.kind == .busy, path: error.path)
    }

    /// A local file cannot be read.
    static func source(_ error: SourceFileError) -> PhotoSyncError {
        switch error.kind {
        case .notFound: PhotoSyncError(.fileNotFound, path: error.path)
        case .permissionDenied: PhotoSyncError(.fileUnreadable, detail: "permission denied", path: error.path)
        case .isDirectory: PhotoSyncError(.notRegularFile, detail: "it is a directory", path: error.path)
        case .notRegular: PhotoSyncError(.notRegularFile, path: error.path)
        case .empty: PhotoSyncError(.emptyFile, path: error.path)
        case .io(let number):
            PhotoSyncError(.fileUnreadable, detail: SystemError.words(number), path: error.path)
        }
    }
}
