internal import Foundation
internal import MediaFiles
internal import Tapes

/// A file for other programs, readable as any new file is: whole, or not there.
enum ExportedFile {
    /// Writes a file.
    ///
    /// - Throws: `TapesError` `.targetExists`, `.targetUnusable`, `.diskFull`; nothing is left behind then.
    static func write(_ bytes: [UInt8], to path: [UInt8], replacing isReplacing: Bool) throws(TapesError) {
        do throws(FileWriteError) {
            let name = path.nameOfPath
            guard !name.isEmpty, let directory = try TargetDirectory.open(path.directoryOfPath, creating: false) else {
                throw FileWriteError(.io(errno: ENOENT), path: path)
            }
            try WholeFile(in: directory, audience: .everybody).write(bytes, as: name, replacing: isReplacing)
        } catch {
            throw TapesError(error, path: path)
        }
    }
}

extension TapesError {
    fileprivate init(_ error: FileWriteError, path: [UInt8]) {
        let code: Code =
            switch error.kind {
            case .exists: .targetExists
            case .full: .diskFull
            default: .targetUnusable
            }
        self.init(code, detail: code == .targetUnusable ? error.detail : "", path: path, underlying: error)
    }
}
