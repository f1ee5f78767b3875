internal import MediaFiles

/// The place of a video, checked before any work is done.
struct RenderTarget: Sendable {
    let directory: TargetDirectory
    let name: [UInt8]
    /// What ffmpeg calls the container.
    let container: String

    private static let containers = ["mp4": "mp4", "mov": "mov", "mkv": "matroska"]

    /// Opens the place. Blocks.
    ///
    /// - Throws: `TapesError` `.targetUnusable`, `.targetExists`.
    init(_ path: [UInt8], replacing isReplacing: Bool, originals: [[UInt8]]) throws(TapesError) {
        let name = path.nameOfPath
        self.name = name
        let end = name.lastIndex(of: UInt8(ascii: ".")).map { String(decoding: name[($0 + 1)...], as: UTF8.self) }
        guard let end, let container = Self.containers[end.lowercased()] else {
            throw TapesError(.targetUnusable, detail: "the name of a video ends in .mp4, .mov or .mkv", path: path)
        }
        self.container = container
        let parent = path.directoryOfPath
        do {
            guard !name.contains(0), let directory = try TargetDirectory.open(parent, creating: false) else {
                throw TapesError(.targetUnusable, detail: "there is no such directory", path: parent)
            }
            self.directory = directory
        } catch let error as FileWriteError {
            throw TapesError(error)
        } catch let error as TapesError {
            throw error
        } catch {
            throw TapesError(.internalError, detail: "\(error)", path: path)
        }
        try ExportTarget.check(self.path, replacing: isReplacing, originals: originals)
    }

    /// As bytes.
    var path: [UInt8] { directory.path(of: name) }
}

extension TapesError {
    /// The same for the place of a video.
    init(_ error: FileWriteError) {
        let code: Code =
            switch error.kind {
            case .full: .diskFull
            case .exists: .targetExists
            default: .targetUnusable
            }
        self.init(code, detail: error.detail, path: error.path, underlying: error)
    }
}
