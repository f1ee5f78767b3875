internal import CFileSystem
internal import Glibc
internal import MediaCore
package import MediaSystem
package import Outcomes

/// A file that is written in the directory of its target under a temporary name, and renamed only when it is complete.
///
/// It is locked by `flock`, so a second process cannot write to it; the lock is released when the process exits. The
/// written bytes are kept for a later process, which opens the file by the same name and resumes.
///
/// Not for concurrent use: calling `write` on one thread, then the other methods on another, is allowed.
package final class PartialFile: Sendable {
    /// The temporary name.
    package let name: [UInt8]
    package let directory: TargetDirectory
    /// Open for reading and writing for the lifetime of the object.
    package let descriptor: Int32

    private init(name: [UInt8], directory: TargetDirectory, descriptor: Int32) {
        self.name = name
        self.directory = directory
        self.descriptor = descriptor
    }

    deinit {
        // Closing is not sufficient: a child forked by another thread shares the lock until its exec.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    package var path: [UInt8] { directory.path(of: name) }

    /// Creates the file (0600), or opens the one left by an earlier process, and locks it.
    ///
    /// - Throws: `.busy` if another process has locked it, or has replaced it each time; `.unsafe` for anything other
    ///   than a regular file that belongs to this user and has no other name; such an entry is not changed.
    package static func open(_ name: String, in directory: TargetDirectory) throws(FileWriteError) -> PartialFile {
        let bytes = Array(name.utf8)
        // The former owner may rename or remove the file between our open and our lock: open it again.
        for _ in 0..<10 {
            if let file = try lock(bytes, in: directory) { return file }
        }
        throw FileWriteError(.busy, path: directory.path(of: bytes))
    }

    private static func lock(_ name: [UInt8], in directory: TargetDirectory) throws(FileWriteError) -> PartialFile? {
        let path = directory.path(of: name)
        let known = O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY
        let cName = name.cString
        var descriptor = openat(directory.descriptor, cName, known | O_CREAT | O_EXCL, 0o600)
        // The directory was removed: no other process is involved, and waiting would not help.
        if descriptor < 0, errno == ENOENT { throw FileWriteError(errno: ENOENT, path: directory.path) }
        if descriptor < 0, errno == EEXIST { descriptor = openat(directory.descriptor, cName, known, 0) }
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw FileWriteError(errno: errno, path: path)
        }
        let file = PartialFile(name: name, directory: directory, descriptor: descriptor)
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            if errno == EWOULDBLOCK { throw FileWriteError(.busy, path: path) }
            throw FileWriteError(errno: errno, path: path)
        }
        guard try file.hasItsName() else { return nil }
        let mine = try file.systemStatus()
        // Writing would also change a second name of the file, and another user could read their file's new content.
        guard mine.st_mode & S_IFMT == S_IFREG, mine.st_nlink == 1, mine.st_uid == geteuid() else {
            throw FileWriteError(.unsafe, path: path)
        }
        return file
    }

    private func systemStatus() throws(FileWriteError) -> stat {
        var status = stat()
        try directory.check(name) { fstat(descriptor, &status) }
        return status
    }

    /// Whether the temporary name still refers to this file, not to a file that another process has created since then.
    private func hasItsName() throws(FileWriteError) -> Bool {
        guard let named = try directory.systemStatus(of: name) else { return false }
        let mine = try systemStatus()
        return named.st_ino == mine.st_ino && named.st_dev == mine.st_dev
    }

    package func status() throws(FileWriteError) -> FileIdentity { FileIdentity(try systemStatus()) }

    // MARK: Writing

    /// Reserves space for a file of `byteCount` bytes, to detect a full disk before the first byte arrives. The length,
    /// which shows how much was written, does not change.
    ///
    /// - Throws: `.full`. A file system that cannot reserve space is not an error.
    package func reserve(_ byteCount: Int64) throws(FileWriteError) {
        guard byteCount > 0 else { return }
        let code = reserve_space(descriptor, byteCount)
        // EFBIG: larger than any file here can be.
        guard code != ENOSPC, code != EDQUOT, code != EFBIG else { throw FileWriteError(.full, path: path) }
    }

    /// Writes all bytes at an offset. If this throws, some bytes may have been written.
    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(FileWriteError) {
        if let failure = FileBytes.write(bytes, to: descriptor, at: offset).failure {
            throw FileWriteError(errno: failure.code, path: path)
        }
    }

    /// Starts writing a range to disk, so `seal` has little left to wait for.
    package func beginWriteback(_ range: Range<Int64>) {
        begin_writeback(descriptor, range.lowerBound, Int64(range.count))
    }

    /// Truncates the file, including reserved space.
    package func truncate(to byteCount: Int64) throws(FileWriteError) {
        try directory.check(name) { ftruncate(descriptor, off_t(byteCount)) }
    }

    /// Releases the space reserved after the last byte, and waits until the rest is on disk. Blocks. Returns the
    /// resulting status.
    package func sync() throws(FileWriteError) -> FileIdentity {
        try truncate(to: status().size)
        try directory.check(name) { fsync(descriptor) }
        return try status()
    }

    // MARK: Finishing

    /// Sets mode 0600 regardless of the umask, releases reserved space, and syncs the file to disk. Blocks.
    package func makePrivate() throws(FileWriteError) {
        try directory.check(name) { fchmod(descriptor, 0o600) }
        _ = try sync()
    }

    /// Gives the file the permissions of an ordinary new file and a modification time, and syncs it to disk. Blocks.
    /// Returns the resulting status.
    ///
    /// `modificationMicroseconds` counts from 1970 and may be negative; the file system may store it with lower
    /// precision. nil means the time of the last write.
    @discardableResult
    package func seal(modificationMicroseconds: Int64? = nil) throws(FileWriteError) -> FileIdentity {
        try directory.check(name) { fchmod(descriptor, 0o666 & ~FileCreationMask.current) }
        let unchanged = timespec(tv_sec: 0, tv_nsec: Self.unchanged)
        let times = [unchanged, modificationMicroseconds.map(Self.time) ?? unchanged]
        try directory.check(name) { futimens(descriptor, times) }
        try directory.check(name) { fsync(descriptor) }
        return try status()
    }

    /// `UTIME_OMIT` from utimensat(2), a macro that is not imported into Swift.
    private static let unchanged = (1 << 30) - 2

    /// Nanoseconds count upward, even before 1970.
    private static func time(_ microseconds: Int64) -> timespec {
        let (seconds, rest) = microseconds.flooredDivision(by: 1_000_000)
        return timespec(tv_sec: Int(seconds), tv_nsec: Int(rest) * 1000)
    }

    /// Gives the file its final name without replacing anything, and syncs the name to disk. Blocks.
    ///
    /// - Throws: `.exists` if a file with this name exists; `.unsynced` if only the sync failed. After any other error,
    ///   the file has its temporary name.
    package func publish(as name: String) throws(FileWriteError) -> FileIdentity {
        try publish(as: Array(name.utf8))
    }

    /// Like `publish(as:)` with a string, for a name that need not be UTF-8.
    @discardableResult
    package func publish(as name: [UInt8]) throws(FileWriteError) -> FileIdentity {
        try directory.rename(self.name, to: name)
        try syncName(name)
        return try status()
    }

    private func syncName(_ name: [UInt8]) throws(FileWriteError) {
        do throws(FileWriteError) {
            try directory.synchronize()
        } catch {
            throw FileWriteError(.unsynced(reason: error.detail), path: directory.path(of: name))
        }
    }

    /// Removes the file if it has its temporary name. Once it has its final name, the temporary name may belong to
    /// another process's file, which is not removed. As long as this file has the temporary name, other processes
    /// cannot take it.
    package func discard() throws(FileWriteError) {
        if try hasItsName() { try directory.remove(name) }
    }
}

extension PartialFile {
    /// Gives the file its final name, replacing any existing file, and syncs the name to disk. Blocks. `new` need not
    /// be UTF-8. Readers find the old file or this one, never a partial file.
    ///
    /// - Throws: `.unsynced` if only the sync failed. After any other error, the file has its temporary name.
    package func publish(replacing new: [UInt8]) throws(FileWriteError) {
        try directory.check(new) {
            renameat(directory.descriptor, name.cString, directory.descriptor, new.cString)
        }
        try syncName(new)
    }
}

/// The umask of this process. `umask(2)` can only be read by setting it, which affects other threads; the kernel also
/// reports it in `/proc`.
enum FileCreationMask {
    /// The current umask; 0077 if it cannot be determined.
    static var current: mode_t {
        let descriptor = open("/proc/self/status", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return 0o077 }
        defer { close(descriptor) }
        // The line `Umask:` is the second one in the file, so 512 bytes are sufficient.
        var bytes = [UInt8](repeating: 0, count: 512)
        let count = read(descriptor, &bytes, bytes.count)
        guard count > 0 else { return 0o077 }
        return parse(String(decoding: bytes[..<count], as: UTF8.self)) ?? 0o077
    }

    static func parse(_ status: String) -> mode_t? {
        guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix("Umask:") }) else { return nil }
        return mode_t(line.dropFirst(6).drop { $0 == "\t" || $0 == " " }, radix: 8)
    }
}

package struct FileWriteError: Error, Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
        /// No space left, or the quota is exhausted.
        case full
        /// No permission, or a read-only file system.
        case denied
        /// The name is taken; nothing was replaced.
        case exists
        /// Another process has locked or replaced the file.
        case busy
        /// An entry that must not be written through: a symbolic link, a device, another user's file.
        case unsafe
        /// The file is complete and has its name, but a crash may lose the name.
        case unsynced(reason: String)
        /// Any other system error.
        case io(errno: Int32)
    }

    package var kind: Kind
    /// The file or directory, as bytes.
    package var path: [UInt8]

    package init(_ kind: Kind, path: [UInt8]) {
        self.kind = kind
        self.path = path
    }

    init(errno code: Int32, path: [UInt8]) {
        let kind: Kind =
            switch code {
            case ENOSPC, EDQUOT: .full
            case EACCES, EPERM, EROFS: .denied
            case EEXIST: .exists
            // The errors from O_NOFOLLOW and O_DIRECTORY for a link, or for a file in place of a directory.
            case ELOOP, ENOTDIR: .unsafe
            default: .io(errno: code)
            }
        self.init(kind, path: path)
    }

    /// The outcome code for an operation that wrote the file.
    package var code: OutcomeCode {
        switch kind {
        case .full: .diskFull
        case .denied, .unsafe, .unsynced, .io: .targetUnusable
        case .exists: .targetExists
        case .busy: .busy
        }
    }

    /// The message from the system, or from mediactl.
    package var detail: String {
        switch kind {
        case .full: "no space left on the disk"
        case .denied: "not writable"
        case .exists: "a file with this name exists"
        case .busy: "another process has locked or replaced it"
        case .unsafe: "a link or a file of another type has this name"
        case .unsynced(let reason): "it is complete, but could not be synced to disk: \(reason)"
        case .io(let code): SystemError.words(code)
        }
    }
}
