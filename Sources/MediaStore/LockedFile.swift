import Glibc
import MediaSystem
import Synchronization

/// An open file held by an exclusive `flock`, so that it can be told whether its owner lives. The lock ends with the
/// process, however it ends, and is not inherited by programs it starts.
final class LockedFile: Sendable {
    private struct Name {
        var path: String
        var isRemoved = false
    }

    /// Open for reading and writing as long as the object lives.
    let descriptor: Int32
    private let name: Mutex<Name>

    private init(path: String, descriptor: Int32) {
        name = Mutex(Name(path: path))
        self.descriptor = descriptor
    }

    var path: String { name.withLock { $0.path } }

    deinit {
        // Not left to close: a child forked by another thread shares the lock until its exec.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// Creates a file under a new name (`prefix` and random characters) and locks it.
    static func create(prefix: String, in directory: DataDirectory) throws(StoreError) -> LockedFile {
        while true {
            let path = directory.file(prefix + RandomName.make())
            // Whoever looks for abandoned files may take the lock, or the file, between the two steps: start afresh.
            if let file = try lock(path, flags: O_CREAT | O_EXCL) { return file }
        }
    }

    /// Opens or creates a file and locks it.
    ///
    /// - Returns: nil when somebody else holds it.
    static func openOrCreate(_ path: String) throws(StoreError) -> LockedFile? {
        while true {
            if let file = try lock(path, flags: O_CREAT) { return file }
            if try FileStatus(at: path) != nil { return nil }
        }
    }

    /// Locks a file that exists.
    ///
    /// - Returns: nil when somebody else holds it, or it is gone, or it is not a regular file.
    static func existing(_ path: String) throws(StoreError) -> LockedFile? {
        guard let status = try FileStatus(at: path), status.isRegularFile else { return nil }
        return try lock(path, flags: 0)
    }

    /// Opens a file for reading that nobody has locked; nobody can lock it as long as the object lives. The file system may
    /// be read-only.
    ///
    /// - Returns: nil when somebody holds it, or it is gone, or it is not a regular file.
    static func reading(_ path: String) throws(StoreError) -> LockedFile? {
        guard let status = try FileStatus(at: path), status.isRegularFile else { return nil }
        return try lock(path, access: O_RDONLY, flags: 0, LOCK_SH)
    }

    private static func lock(
        _ path: String,
        access: Int32 = O_RDWR,
        flags: Int32,
        _ operation: Int32 = LOCK_EX
    ) throws(StoreError) -> LockedFile? {
        let descriptor = open(path, access | O_NOFOLLOW | O_CLOEXEC | flags, 0o600)
        guard descriptor >= 0 else {
            if errno == EEXIST || (errno == ENOENT && flags & O_CREAT == 0) { return nil }
            throw StoreError(errno: errno, path: path, action: "cannot open")
        }
        let file = LockedFile(path: path, descriptor: descriptor)
        guard flock(descriptor, operation | LOCK_NB) == 0 else {
            if errno == EWOULDBLOCK { return nil }
            throw StoreError(errno: errno, path: path, action: "cannot lock")
        }
        // The former owner may have removed the name, and a third process made a new file, while we waited.
        guard let mine = FileStatus(descriptor: descriptor), let named = try FileStatus(at: path),
            mine.isSameFile(as: named)
        else { return nil }
        if flags & O_CREAT != 0, mine.permissions != 0o600 {
            // The umask may have taken the owner's own rights away.
            guard fchmod(descriptor, 0o600) == 0 else {
                throw StoreError(errno: errno, path: path, action: "cannot set permissions")
            }
        }
        return file
    }

    /// Removes the name and lets the lock go. Only the first call does something: afterwards the name may be another's.
    func remove() {
        name.withLock { name in
            guard !name.isRemoved else { return }
            name.isRemoved = true
            unlink(name.path)
            flock(descriptor, LOCK_UN)
        }
    }

    /// Releases the lock. The file stays.
    func unlock() { flock(descriptor, LOCK_UN) }

    /// Gives the file another new name (`prefix` and random characters). Not synchronised.
    ///
    /// - Throws: `StoreError`; `.other` after `remove`.
    func rename(prefix: String, in directory: String) throws(StoreError) {
        let newPath = "\(directory)/\(prefix)\(RandomName.make())"
        let error = name.withLock { name -> StoreError? in
            guard !name.isRemoved else { return StoreError(.other, path: name.path, detail: "was removed") }
            guard Glibc.rename(name.path, newPath) == 0 else {
                return StoreError(errno: errno, path: name.path, action: "cannot rename")
            }
            name.path = newPath
            return nil
        }
        if let error { throw error }
    }

    /// Writes all bytes at an offset.
    ///
    /// - Returns: How many were written before the disk refused; the error then.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> (count: Int, error: StoreError?) {
        let (count, failure) = FileBytes.write(bytes, to: descriptor, at: offset)
        return (count, failure.map { StoreError(errno: $0.code, path: path, action: "cannot write") })
    }
}

extension LockedFile {
    /// The whole content.
    func readAll() throws(StoreError) -> [UInt8] {
        guard let status = FileStatus(descriptor: descriptor) else {
            throw StoreError(errno: errno, path: path, action: "cannot examine")
        }
        do {
            return try FileBytes.read(descriptor, at: 0, count: Int(status.size))
        } catch {
            throw StoreError(errno: error.code, path: path, action: "cannot read")
        }
    }
}
