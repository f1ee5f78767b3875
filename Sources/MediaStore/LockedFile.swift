import CFileSystem
import Glibc
internal import MediaCore
import MediaSystem
import Synchronization

/// An open file with an exclusive `flock`, which shows whether its owner is alive. The lock is always released when the
/// process exits, and is not inherited by programs that it starts.
package final class LockedFile: Sendable {
    private struct Name {
        var path: String
        var isRemoved = false
    }

    /// Open for reading and writing while the object exists.
    let descriptor: Int32
    private let name: Mutex<Name>

    private init(path: String, descriptor: Int32) {
        name = Mutex(Name(path: path))
        self.descriptor = descriptor
    }

    var path: String { name.withLock { $0.path } }

    deinit {
        // Unlocked explicitly: a child forked by another thread shares the lock until its exec, so closing
        // may not release it.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// Creates a file under a new name (`prefix` and random characters) and locks it.
    static func create(prefix: String, in directory: DataDirectory) throws(StoreError) -> LockedFile {
        while true {
            let path = directory.file(prefix + RandomName.make())
            // A process that looks for abandoned files may take the lock, or the file, between the two steps: in that
            // case, repeat both.
            if let file = try lock(path, flags: O_CREAT | O_EXCL) { return file }
        }
    }

    /// Opens or creates a file and locks it; nil if it is already locked.
    static func openOrCreate(_ path: String) throws(StoreError) -> LockedFile? {
        while true {
            if let file = try lock(path, flags: O_CREAT) { return file }
            if try FileStatus(at: path) != nil { return nil }
        }
    }

    /// Opens or creates a file and locks it; blocks the thread until the lock is free.
    ///
    /// - Throws: `.busy` if that takes longer than `limit`.
    static func waiting(for path: String, limit: Duration, _ reason: String = "") throws(StoreError) -> LockedFile {
        let deadline = ContinuousClock.now + limit
        while true {
            if let lock = try openOrCreate(path) { return lock }
            guard ContinuousClock.now < deadline else { throw StoreError(.busy, path: path, detail: reason) }
            usleep(1000)
        }
    }

    /// Like `waiting`, but blocks no thread; canceling interrupts the wait.
    ///
    /// - Throws: `StoreError`, `.busy` after `timeout`; `CancellationError`.
    static func awaiting(_ path: String, timeout: Duration, _ reason: String) async throws -> LockedFile {
        let deadline = ContinuousClock.now + timeout
        var pause = Duration.milliseconds(2)
        while true {
            try Task.checkCancellation()
            if let lock = try openOrCreate(path) { return lock }
            guard ContinuousClock.now < deadline else { throw StoreError(.busy, path: path, detail: reason) }
            try await Task.sleep(for: pause)
            pause = min(pause * 2, .milliseconds(100))
        }
    }

    /// Locks a file that exists; nil if it is already locked, missing, or not a regular file.
    static func existing(_ path: String) throws(StoreError) -> LockedFile? {
        guard let status = try FileStatus(at: path), status.isRegularFile else { return nil }
        return try lock(path, flags: 0)
    }

    /// Opens an unlocked file for reading; it cannot be locked while the object exists. The file system may be
    /// read-only. nil if the file is locked, missing, or not a regular file.
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
        let result = flock(descriptor, operation | LOCK_NB)
        if result < 0, errno == EWOULDBLOCK { return nil }
        try StoreError.check(path, "cannot lock", result)
        // Before `flock`, the former owner may have removed the name, and a third process created a new file.
        guard let mine = FileStatus(descriptor: descriptor), let named = try FileStatus(at: path),
            mine.key == named.key
        else { return nil }
        if flags & O_CREAT != 0, mine.permissions != 0o600 {
            // The umask may have removed the owner's own permissions.
            try StoreError.check(path, "cannot set permissions", fchmod(descriptor, 0o600))
        }
        return file
    }

    /// Removes the name and releases the lock. Later calls do nothing: the name may belong to a different file.
    func remove() {
        name.withLock { name in
            guard !name.isRemoved else { return }
            name.isRemoved = true
            unlink(name.path)
            flock(descriptor, LOCK_UN)
        }
    }

    /// Releases the lock. The file is kept. The lock is also released with the last reference; a caller that must not
    /// lose it earlier keeps the object alive by calling this at the end.
    package func unlock() { flock(descriptor, LOCK_UN) }

    /// Gives the file a new name (`prefix` and random characters). Not synced.
    func rename(prefix: String, in directory: String) throws(StoreError) {
        let newPath = "\(directory)/\(prefix)\(RandomName.make())"
        try name.withLock { name throws(StoreError) in
            guard !name.isRemoved else { throw StoreError(.other, path: name.path, detail: "was removed") }
            try StoreError.check(name.path, "cannot rename", Glibc.rename(name.path, newPath))
            name.path = newPath
        }
    }

    /// Writes all bytes at an offset; if this throws, some of them may have been written.
    func write(_ bytes: [UInt8], at offset: Int64) throws(StoreError) {
        let failure = bytes.withUnsafeBytes { FileBytes.write($0, to: descriptor, at: offset).failure }
        if let failure { throw StoreError(errno: failure.code, path: path, action: "cannot write") }
    }
}

extension LockedFile {
    /// Locks the registration of this machine with a capture server: a second registration in the meantime would leave
    /// a device on the server that no machine uses. Waits for the current owner, without blocking a thread; canceling
    /// interrupts the wait.
    ///
    /// - Throws: `StoreError`, `.busy` after a minute; `CancellationError`.
    package static func ofRegistration(with server: String, in directory: DataDirectory) async throws -> LockedFile {
        let name = "registration-" + String(server.utf8.fnv1a, radix: 16)
        let reason = "another process is registering this machine"
        return try await awaiting(directory.lockFile(name), timeout: .seconds(60), reason)
    }

    func readAll() throws(StoreError) -> [UInt8] {
        guard let status = FileStatus(descriptor: descriptor) else {
            throw StoreError(errno: errno, path: path, action: "cannot examine")
        }
        return try readBytes(descriptor, of: path, count: Int(status.size))
    }
}

/// A lock on one byte of a file that many locks share, in `locks` of the data directory. It is always released when the
/// process exits.
///
/// The byte is at the hash of a name, because creating and removing a file for each name costs more than sending a
/// small file. Two names with the same hash (63 bits) would only make one owner wait for another.
package final class LockedByte: Sendable {
    private let file: LockFile
    private let offset: Int64
    private let isReleased = Atomic(true)

    /// Opens the file; nothing is locked.
    convenience init(_ name: String, of path: String) throws(StoreError) {
        self.init(at: Self.offset(of: name), of: try LockFile(creating: path))
    }

    /// Uses one open file, shared by all such locks of this process. `lock` must not be called.
    convenience init(_ name: String, ofShared path: String) throws(StoreError) {
        self.init(at: Self.offset(of: name), of: try LockFile.shared(path))
    }

    /// Opens a file for a lock on one of its bytes; nothing is locked.
    convenience init(at offset: Int64, of path: String) throws(StoreError) {
        self.init(at: offset, of: try LockFile(path))
    }

    private init(at offset: Int64, of file: LockFile) {
        self.file = file
        self.offset = offset
    }

    deinit { release() }

    /// Tries to take the lock; false if another process (or another object in this process) has it.
    func tryLock() throws(StoreError) -> Bool {
        guard try file.tryLock(offset) else { return false }
        isReleased.store(false, ordering: .releasing)
        return true
    }

    /// Takes the lock; blocks the thread until it is free.
    func lock() throws(StoreError) {
        try file.lock(offset)
        isReleased.store(false, ordering: .releasing)
    }

    /// Releases the lock. The lock is also released with the last reference; a caller that must not lose it earlier
    /// keeps the object alive by calling this at the end.
    package func release() {
        guard !isReleased.exchange(true, ordering: .acquiringAndReleasing) else { return }
        file.unlock(offset)
    }

    private static func offset(of name: String) -> Int64 {
        // Not negative; the last offset is excluded because no byte can follow it.
        Int64(min(name.utf8.fnv1a >> 1, UInt64(Int64.max - 1)))
    }
}

/// A file whose bytes are locked, open while the object exists.
///
/// The locks belong to the open file description: they conflict with those of every other description, including those
/// of this process, and not with each other. If several locks share a description, the set `owned` excludes a second
/// owner.
private final class LockFile: Sendable {
    /// An open file stays in the table, and is closed with its last lock.
    private struct Open {
        weak var file: LockFile?
    }

    private static let open = Mutex<[String: Open]>([:])

    private let path: String
    private let descriptor: Int32
    private let owned = Mutex<Set<Int64>>([])

    init(_ path: String, flags: Int32 = 0) throws(StoreError) {
        descriptor = try openFile(path, O_RDWR | flags)
        self.path = path
    }

    convenience init(creating path: String) throws(StoreError) {
        try self.init(path, flags: O_CREAT)
        // The umask may have removed the owner's own permissions.
        if let status = FileStatus(descriptor: descriptor), status.permissions != 0o600 {
            fchmod(descriptor, 0o600)
        }
    }

    deinit { close(descriptor) }

    /// The file, which is opened unless this process already has it open.
    static func shared(_ path: String) throws(StoreError) -> LockFile {
        try open.withLock { open throws(StoreError) in
            if let file = open[path]?.file { return file }
            let file = try LockFile(creating: path)
            open = open.filter { $0.value.file != nil }
            open[path] = Open(file: file)
            return file
        }
    }

    func tryLock(_ offset: Int64) throws(StoreError) -> Bool {
        try owned.withLock { owned throws(StoreError) in
            guard !owned.contains(offset) else { return false }
            let code = lock_byte(descriptor, offset, true)
            if code == EAGAIN || code == EACCES { return false }
            try check(code)
            owned.insert(offset)
            return true
        }
    }

    /// Blocks the thread. The file must not be shared: the system grants the same byte to one description again.
    func lock(_ offset: Int64) throws(StoreError) {
        try check(await_byte(descriptor, offset))
        owned.withLock { _ = $0.insert(offset) }
    }

    func unlock(_ offset: Int64) {
        owned.withLock { owned in
            // Unlocked explicitly: a child forked by another thread shares the lock until its exec, so closing
            // may not release it.
            _ = lock_byte(descriptor, offset, false)
            owned.remove(offset)
        }
    }

    private func check(_ code: Int32) throws(StoreError) {
        guard code == 0 else { throw StoreError(errno: code, path: path, action: "cannot lock") }
    }
}

/// The lock on an upload, held by its one live owner: one of the locks of all uploads, in `locks` of
/// the data directory.
package typealias UploadLock = LockedByte

/// Held while a process adopts the responses of exited processes. Other processes wait, to avoid reading a journal that
/// is about to change.
package typealias AdoptionLock = LockedByte

extension LockedByte {
    /// Tries to lock an upload; nil if another process (or another object in this process) has locked it.
    package static func acquire(_ uploadID: String, in directory: DataDirectory) throws(StoreError) -> UploadLock? {
        try UploadID.check(uploadID, path: directory.path)
        let byte = try LockedByte(uploadID, ofShared: directory.lockFile("uploads"))
        return try byte.tryLock() ? byte : nil
    }

    /// Waits for the adoption lock, on a thread that may block. Canceling the task does not interrupt the wait.
    package static func acquire(in directory: DataDirectory) async throws(StoreError) -> AdoptionLock {
        let byte = try LockedByte("adoption", of: directory.lockFile("uploads"))
        try await BlockingWork.run { () throws(StoreError) in try byte.lock() }
        return byte
    }
}
