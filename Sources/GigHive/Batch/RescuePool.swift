internal import MediaStore
internal import Synchronization

/// Rescue files that one upload of a batch after another uses: making one costs more than sending a small file.
final class RescuePool: Sendable {
    private let directory: DataDirectory
    private let idle = Mutex<[RescueFile]>([])

    init(_ directory: DataDirectory) {
        self.directory = directory
    }

    /// A file for an upload, without a reply.
    func file(for uploadID: String) throws(StoreError) -> RescueFile {
        guard let file = idle.withLock({ $0.popLast() }) else {
            return try RescueFile(for: uploadID, in: directory)
        }
        do throws(StoreError) {
            try file.reset(for: uploadID)
            return file
        } catch {
            file.release()
            throw error
        }
    }

    /// Takes a file back whose reply, if any, is committed.
    func giveBack(_ file: RescueFile) {
        idle.withLock { $0.append(file) }
    }

    /// Removes the files that no upload has.
    func release() {
        let files = idle.withLock { idle in
            defer { idle = [] }
            return idle
        }
        for file in files { file.release() }
    }
}

extension Uploader {
    /// A rescue file for an upload.
    func rescueFile(for uploadID: String) throws(StoreError) -> RescueFile {
        guard let rescues else { return try RescueFile(for: uploadID, in: directory) }
        return try rescues.file(for: uploadID)
    }

    /// Ends an upload's use of a rescue file whose reply, if any, is committed.
    func giveBack(_ file: RescueFile) {
        guard let rescues else {
            file.release()
            return
        }
        rescues.giveBack(file)
    }
}
