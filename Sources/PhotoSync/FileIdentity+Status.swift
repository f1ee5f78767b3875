internal import MediaFiles
internal import MediaStore

extension FileIdentity {
    /// The identity that a status tells.
    init(_ status: MediaFiles.FileStatus) {
        self.init(
            device: status.device,
            inode: status.inode,
            size: status.size,
            modificationNanoseconds: status.modificationNanoseconds,
            changeNanoseconds: status.changeNanoseconds
        )
    }

    /// The regular file that a path leads to, links followed, without opening it; nil when it leads to none.
    init?(ofRegularFile path: [UInt8]) {
        guard let status = MediaFiles.FileStatus(ofRegularFile: path) else { return nil }
        self.init(status)
    }
}
