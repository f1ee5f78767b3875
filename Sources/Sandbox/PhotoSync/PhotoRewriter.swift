import Foundation

/// Embeds ids into stored files some time after their upload, as the real server's exiftool does (photosync
/// contract 3.6): hash and length differ from then on.
actor PhotoRewriter {
    private let folder: DataFolder
    private let rewrite: PhotoSyncSettings.Rewrite
    private var pending: [String: Task<Void, Never>] = [:]

    init(folder: DataFolder, rewrite: PhotoSyncSettings.Rewrite) {
        self.folder = folder
        self.rewrite = rewrite
    }

    /// Rewrites the photo when its time has come; at once when there is nothing to wait for.
    func add(_ photo: PhotoRecord) throws {
        switch rewrite {
        case .never: break
        case .after(0): try Self.embed(photo.id, in: folder.photoPath(photo.path))
        case .after(let milliseconds):
            let path = folder.photoPath(photo.path)
            pending[photo.id] = Task {
                try? await Task.sleep(for: .milliseconds(milliseconds))
                // A photo that was deleted meanwhile has nothing to rewrite.
                try? Self.embed(photo.id, in: path)
                pending[photo.id] = nil
            }
        }
    }

    /// Rewrites now what waits for its time; returns how many that were.
    func settle() async -> Int {
        let tasks = Array(pending.values)
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
        return tasks.count
    }

    /// Puts a new file in the old one's place: who has the old one open reads it to its end.
    private static func embed(_ id: String, in path: String) throws {
        var content = try Data(contentsOf: URL(fileURLWithPath: path))
        let note = Data("PhotoSync:\(id)".utf8)
        if content.starts(with: [0xFF, 0xD8]) {
            // A comment segment after the start of the image (ITU-T T.81 B.2.4.5).
            let length = note.count + 2
            content.insert(contentsOf: [0xFF, 0xFE, UInt8(length >> 8), UInt8(length & 255)] + note, at: 2)
        } else {
            content += note
        }
        try content.write(to: URL(fileURLWithPath: path), options: .atomic)
    }
}
