internal import Foundation
internal import MediaFiles
internal import Tapes

/// A file for other programs, readable as any new file is: whole, or not there.
enum ExportedFile {
    /// Writes a file.
    ///
    /// - Throws: `TapesError` `.targetExists`, `.targetUnusable`, `.diskFull`; nothing is left behind then.
    static func write(_ bytes: [UInt8], to path: [UInt8], replacing isReplacing: Bool) throws(TapesError) {
        let slash = path.lastIndex(of: UInt8(ascii: "/"))
        let parent = slash.map { $0 == 0 ? [UInt8(ascii: "/")] : Array(path[..<$0]) } ?? [UInt8(ascii: ".")]
        let name = slash.map { Array(path[($0 + 1)...]) } ?? path
        do throws(FileWriteError) {
            guard !name.isEmpty, let directory = try TargetDirectory.open(parent, creating: false) else {
                throw FileWriteError(.io(errno: ENOENT), path: path)
            }
            let file = try PartialFile.open(".\(UUID().uuidString.lowercased()).part", in: directory)
            do throws(FileWriteError) {
                try Self.write(bytes, to: file)
                _ = try file.seal(modificationMicroseconds: Int64(Date().timeIntervalSince1970 * 1_000_000))
                if isReplacing {
                    try file.publish(replacing: name)
                } else {
                    try file.publish(as: name)
                }
            } catch {
                try? file.discard()
                throw error
            }
        } catch {
            throw TapesError(error, path: path)
        }
    }

    private static func write(_ bytes: [UInt8], to file: PartialFile) throws(FileWriteError) {
        let result = bytes.withUnsafeBytes { buffer in
            Result { () throws(FileWriteError) in try file.write(buffer, at: 0) }
        }
        try result.get()
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
