internal import MediaStore
internal import MediaSystem

/// The locks of a running upload: its source on this server, and its row in the journal.
enum UploadOwnership {
    /// The lock on a file and a host, so only one process on this machine uploads it; nil for a source without an
    /// identity, which no other process can open. Throws `.uploadInProgress`.
    static func ofSource(
        _ upload: PreparedUpload,
        host: String,
        in directory: DataDirectory
    ) throws(GigHiveError) -> UploadLock? {
        guard let identity = upload.identity else { return nil }
        return try acquire(
            SourceLock.name(of: identity, host: host),
            in: directory,
            detail: "another upload of this file is in progress",
            path: upload.path
        )
    }

    /// The lock on a row. Throws `.uploadInProgress`.
    static func ofRow(_ record: UploadRecord, in directory: DataDirectory) throws(GigHiveError) -> UploadLock {
        try acquire(record.uploadID, in: directory, detail: "upload \(record.uploadID) is running", path: record.path)
    }

    private static func acquire(
        _ name: String,
        in directory: DataDirectory,
        detail: String,
        path: [UInt8]
    ) throws(GigHiveError) -> UploadLock {
        guard let lock = try GigHiveError.stored(UploadLock.acquire(name, in: directory)) else {
            throw GigHiveError(.uploadInProgress, detail: detail, isRetryable: true, path: path)
        }
        return lock
    }
}

/// The names of locks for uploads on one server.
enum SourceLock {
    /// At most 40 lowercase letters, digits and hyphens, as `UploadLock` requires.
    static func name(of identity: FileIdentity, host: String) -> String {
        ["f", String(identity.inode, radix: 36), String(identity.device, radix: 36), hash(of: host)]
            .joined(separator: "-")
    }

    /// The name of the lock for a slot among the unfinished uploads on a host; guests have separate slots.
    static func name(ofSlotOn host: String, isGuest: Bool) -> String {
        [isGuest ? "g" : "p", hash(of: host)].joined(separator: "-")
    }

    /// FNV-1a, 32 bits: a collision of two hosts only makes an upload wait, or reports it as in progress.
    private static func hash(of host: String) -> String {
        String(host.utf8.reduce(UInt32(2_166_136_261)) { ($0 ^ UInt32($1)) &* 16_777_619 }, radix: 36)
    }
}
