internal import CFileSystem
internal import Glibc
package import MediaSystem

/// A file that is being written beside its place, under a temporary name, and gets its own name only when it is whole.
///
/// It is held by `flock`, so that no second process writes it; the lock ends with the process, however that ends. What was
/// written stays for a later process, which opens the same name and goes on.
///
/// Not for several threads at once: `write` on one, then the rest on another, is fine.
package final class PartialFile: Sendable {
    /// The temporary name.
    package let name: [UInt8]
    /// Where it lies.
    package let directory: TargetDirectory
    /// Open for reading and writing until the last reference goes.
    package let descriptor: Int32

    private init(name: [UInt8], directory: TargetDirectory, descriptor: Int32) {
        self.name = name
        self.directory = directory
        self.descriptor = descriptor
    }

    deinit {
        // Not left to close: a child forked by another thread shares the lock until its exec.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// Its path, as bytes.
    package var path: [UInt8] { directory.path(of: name) }

    /// Makes the file (0600), or opens the one that an earlier process left, and locks it.
    ///
    /// - Throws: `FileWriteError`: `.busy` when another process writes it; `.unsafe` for anything but a regular file with
    ///   this one name that belongs to this user, which is left alone.
    package static func open(_ name: String, in directory: TargetDirectory) throws(FileWriteError) -> PartialFile {
        let bytes = Array(name.utf8)
        // The former owner may rename or remove the file between our open and our lock: then once more.
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
        guard let named = try directory.systemStatus(of: name), let mine = try? file.systemStatus(),
            named.st_ino == mine.st_ino, named.st_dev == mine.st_dev
        else { return nil }
        // A second name would be written through; somebody else's file could be read by them.
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

    /// Length, times and identity.
    package func status() throws(FileWriteError) -> FileIdentity { FileIdentity(try systemStatus()) }

    // MARK: Writing

    /// Reserves space, so that a full disk shows before the first byte comes. The length does not change, and tells how
    /// much was written.
    ///
    /// - Parameter byteCount: Of the whole file.
    /// - Throws: `FileWriteError`: `.full`. A file system that cannot reserve is no error.
    package func reserve(_ byteCount: Int64) throws(FileWriteError) {
        guard byteCount > 0 else { return }
        let code = reserve_space(descriptor, byteCount)
        // EFBIG: larger than any file here can be.
        guard code != ENOSPC, code != EDQUOT, code != EFBIG else { throw FileWriteError(.full, path: path) }
    }

    /// Writes all bytes at an offset.
    ///
    /// - Throws: `FileWriteError`; a part may have been written.
    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(FileWriteError) {
        if let failure = FileBytes.write(bytes, to: descriptor, at: offset).failure {
            throw FileWriteError(errno: failure.code, path: path)
        }
    }

    /// Has the disk begin with what was written to a range, so that `seal` finds little left to wait for.
    package func beginWriteback(_ range: Range<Int64>) {
        begin_writeback(descriptor, range.lowerBound, Int64(range.count))
    }

    /// Drops what lies behind an offset, reserved space too.
    package func truncate(to byteCount: Int64) throws(FileWriteError) {
        try directory.check(name) { ftruncate(descriptor, off_t(byteCount)) }
    }

    /// Gives back what was reserved behind the last byte, and waits until the others are on the disk. Blocks, and returns the
    /// file as it is then.
    package func settle() throws(FileWriteError) -> FileIdentity {
        try truncate(to: status().size)
        try directory.check(name) { fsync(descriptor) }
        return try status()
    }

    // MARK: The end

    /// Gives the file to its owner alone, who may read and write it whatever the mask says, and waits until it is on the
    /// disk. Blocks.
    package func makePrivate() throws(FileWriteError) {
        try directory.check(name) { fchmod(descriptor, 0o600) }
        _ = try settle()
    }

    /// Gives the file the rights of an ordinary new one and its time, and waits until it is on the disk. Blocks.
    ///
    /// - Parameter modificationMicroseconds: Since 1970, also before; a file system keeps what it can. Nil for the time of the
    ///   last write.
    /// - Returns: The file as it is then.
    /// - Throws: `FileWriteError`.
    @discardableResult
    package func seal(modificationMicroseconds: Int64? = nil) throws(FileWriteError) -> FileIdentity {
        try directory.check(name) { fchmod(descriptor, 0o666 & ~FileCreationMask.current) }
        let unchanged = timespec(tv_sec: 0, tv_nsec: Self.unchanged)
        let times = [unchanged, modificationMicroseconds.map(Self.time) ?? unchanged]
        try directory.check(name) { futimens(descriptor, times) }
        try directory.check(name) { fsync(descriptor) }
        return try status()
    }

    /// `UTIME_OMIT` of utimensat(2), a macro that Swift does not see.
    private static let unchanged = (1 << 30) - 2

    /// Nanoseconds count upwards, also before 1970.
    private static func time(_ microseconds: Int64) -> timespec {
        var (seconds, rest) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
        if rest < 0 {
            seconds -= 1
            rest += 1_000_000
        }
        return timespec(tv_sec: Int(seconds), tv_nsec: Int(rest) * 1000)
    }

    /// Gives the file its name, replacing nothing, and waits until that is on the disk. Blocks.
    ///
    /// - Returns: The file under its name.
    /// - Throws: `FileWriteError`: `.exists` when the name is taken; the file keeps its temporary name then.
    package func publish(as name: String) throws(FileWriteError) -> FileIdentity {
        try publish(as: Array(name.utf8))
    }

    /// The same for a name that need not be UTF-8.
    @discardableResult
    package func publish(as name: [UInt8]) throws(FileWriteError) -> FileIdentity {
        try directory.rename(self.name, to: name)
        try directory.synchronize()
        return try status()
    }

    /// Removes the file.
    package func discard() throws(FileWriteError) { try directory.remove(name) }
}

extension PartialFile {
    /// Gives the file its name in the place of whatever had it, and waits until that is on the disk. Blocks.
    ///
    /// - Parameter new: Need not be UTF-8. Readers find the file that had it, or this one; never a part.
    /// - Throws: `FileWriteError`; the file may have its name already when only the waiting failed.
    package func publish(replacing new: [UInt8]) throws(FileWriteError) {
        try directory.check(new) {
            renameat(directory.descriptor, name.cString, directory.descriptor, new.cString)
        }
        try directory.synchronize()
    }
}

/// The umask of this process. `umask(2)` can only be read by setting it, which other threads would feel; the kernel tells it
/// in `/proc` as well.
enum FileCreationMask {
    /// The mask; 0077 where it cannot be told.
    static var current: mode_t {
        let descriptor = open("/proc/self/status", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return 0o077 }
        defer { close(descriptor) }
        // The line is the second of about sixty.
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

/// Why a file could not be written.
package struct FileWriteError: Error, Sendable, Equatable {
    /// The cause.
    package enum Kind: Sendable, Equatable {
        /// No space left, or the quota is used up.
        case full
        /// No permission, or a read-only file system.
        case denied
        /// The name is taken; nothing was replaced.
        case exists
        /// Another process is writing it.
        case busy
        /// Something stands there that is not to be written through: a symbolic link, a device, somebody else's file.
        case unsafe
        /// Anything else the system reports.
        case io(errno: Int32)
    }

    /// The cause.
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
            // What O_NOFOLLOW and O_DIRECTORY say of a link, or of a file in a directory's place.
            case ELOOP, ENOTDIR: .unsafe
            default: .io(errno: code)
            }
        self.init(kind, path: path)
    }

    /// The system's words, or ours.
    package var detail: String {
        switch kind {
        case .full: "no space left on the disk"
        case .denied: "not writable"
        case .exists: "the name is taken"
        case .busy: "another process is writing it"
        case .unsafe: "a link or something else that is no ordinary file or directory is in the way"
        case .io(let code): SystemError.words(code)
        }
    }
}
