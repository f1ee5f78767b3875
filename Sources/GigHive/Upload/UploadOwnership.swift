internal import MediaStore
internal import MediaSystem

/// The locks of a running upload: its source on this server, and its row of the journal.
enum UploadOwnership {
    /// Becomes the only one on this machine that uploads a file to a host.
    ///
    /// - Returns: nil for a source without identity, which nobody else can name.
    /// - Throws: `GigHiveError` with code `.uploadInProgress`, or a store that fails.
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

    /// Becomes the only owner of a row.
    ///
    /// - Throws: `GigHiveError` with code `.uploadInProgress`, or a store that fails.
    static func ofRow(_ record: UploadRecord, in directory: DataDirectory) throws(GigHiveError) -> UploadLock {
        try acquire(
            record.uploadID,
            in: directory,
            detail: "upload \(record.uploadID) is running",
            path: record.path
        )
    }

    private static func acquire(
        _ name: String,
        in directory: DataDirectory,
        detail: String,
        path: [UInt8]
    ) throws(GigHiveError) -> UploadLock {
        let lock: UploadLock?
        do {
            lock = try UploadLock.acquire(name, in: directory)
        } catch {
            throw .store(error)
        }
        guard let lock else {
            throw GigHiveError(.uploadInProgress, detail: detail, isRetryable: true, path: path)
        }
        return lock
    }
}

/// The lock that one file on one server has while it is uploaded.
enum SourceLock {
    /// A name of at most 40 lower-case letters, digits and hyphens, as `UploadLock` wants it.
    static func name(of identity: FileIdentity, host: String) -> String {
        ["f", String(identity.inode, radix: 36), String(identity.device, radix: 36), hash(of: host)]
            .joined(separator: "-")
    }

    /// The same for a place among the unfinished uploads on a host; guests have places of their own.
    static func name(ofPlaceOn host: String, isGuest: Bool) -> String {
        [isGuest ? "g" : "p", hash(of: host)].joined(separator: "-")
    }

    /// FNV-1a, 32 bits: two hosts that collide only make one upload wait for another.
    private static func hash(of host: String) -> String {
        String(host.utf8.reduce(UInt32(2_166_136_261)) { ($0 ^ UInt32($1)) &* 16_777_619 }, radix: 36)
    }
}
