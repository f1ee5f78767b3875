internal import CaptureSubmission
internal import MediaFiles

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
        let code: CaptureError.Code =
            switch error.kind {
            case .full: .diskFull
            case .exists: .targetExists
            case .busy: .busy
            case .denied, .unsafe, .io: .targetUnusable
            }
        return CaptureError(code, detail: error.detail, path: path, underlying: error)
    }
}
