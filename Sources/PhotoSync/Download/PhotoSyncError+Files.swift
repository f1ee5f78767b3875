internal import MediaFiles
internal import MediaStore

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
}
