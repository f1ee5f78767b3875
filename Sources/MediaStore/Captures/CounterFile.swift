import Glibc
import MediaSystem
import Synchronization

/// The signature counter of one device, in its own file. It is locked during an exchange with the server: a server
/// accepts counters only in ascending order (hash-only contract 3.1, trap 12).
///
/// The file contains the last counter taken, in decimal, and a line feed. It is always replaced as a whole; therefore
/// the lock is on a different file, with the other locks in the data directory.
package final class CounterFile: Sendable {
    private struct State {
        var lock: LockedFile?
        var last: UInt32
    }

    private let path: String
    private let directory: String
    private let state: Mutex<State>

    private init(path: String, directory: String, lock: LockedFile, last: UInt32) {
        self.path = path
        self.directory = directory
        state = Mutex(State(lock: lock, last: last))
    }

    /// Opens and locks the counter of a device (UUID in lower or upper case), waiting for another process, or object,
    /// that has locked it: `.busy` after `timeout`. No thread waits; canceling interrupts the wait. A file without a
    /// counter is `.corrupt`, and never reset.
    package static func lock(
        device: String,
        in directory: DataDirectory,
        timeout: Duration = .seconds(60)
    ) async throws -> CounterFile {
        let name = device.lowercased()
        guard CaptureID.isValid(name) else {
            throw StoreError(.other, path: directory.path, detail: "\"\(device)\" is not a device ID")
        }
        let counters = try directory.make(.captureCounters)
        let lock = try await LockedFile.awaiting(
            directory.lockFile("counter-" + name),
            timeout: timeout,
            "another process is sending as this device"
        )
        let path = counters + "/" + name
        return CounterFile(path: path, directory: counters, lock: lock, last: try CounterText.read(path))
    }

    /// Takes the next `count` counters and returns the first; they are recorded on disk as used when this returns.
    /// Throws `.other` if too few are left below 2³², and after `release`. A counter whose write failed partway is not
    /// taken again by this object.
    package func take(_ count: UInt32) throws(StoreError) -> UInt32 {
        try state.withLock { state throws(StoreError) in
            guard state.lock != nil else { throw StoreError(.other, path: path, detail: "the counter was released") }
            let (last, isOverflow) = state.last.addingReportingOverflow(count)
            guard count > 0, !isOverflow else {
                throw StoreError(.other, path: path, detail: "no counters below 2^32 are left")
            }
            let first = state.last + 1
            try CounterText.replace(path, with: last, in: directory) { state.last = last }
            return first
        }
    }

    /// The last counter taken; 0 before the first.
    package var last: UInt32 { state.withLock { $0.last } }

    /// Releases the lock to let another exchange begin. The lock is also released with the last reference, which may be
    /// as early as its last use: a caller that must exclude others calls this at the end.
    package func release() {
        state.withLock { $0.lock = nil }
    }
}

private enum CounterText {
    /// The counter in a file; 0 if there is none.
    static func read(_ path: String) throws(StoreError) -> UInt32 {
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ENOENT { return 0 }
            throw StoreError(errno: errno, path: path, action: "cannot open")
        }
        defer { close(descriptor) }
        try FileStatus.requireOwnFile(FileStatus(descriptor: descriptor), at: path)
        // A counter has at most 10 digits.
        let text = String(decoding: try readBytes(descriptor, of: path, count: 12), as: UTF8.self)
        // Strict: a partial number must not be read as a smaller one.
        guard let value = UInt32(text.dropLast()), "\(value)\n" == text else {
            throw StoreError(.corrupt, path: path, detail: "no valid counter; not reset, since counters only increase")
        }
        return value
    }

    /// Replaces the file and waits for the disk. Even after an error, the file contains either the old counter or the
    /// new one; `replaced` is called once it may contain the new one.
    static func replace(
        _ path: String,
        with value: UInt32,
        in directory: String,
        replaced: () -> Void
    ) throws(StoreError) {
        let draft = path + ".new"
        // Left by a process that exited: this process has the lock.
        unlink(draft)
        let descriptor = try openFile(draft, O_WRONLY | O_CREAT | O_EXCL, "cannot create")
        do throws(StoreError) {
            defer { close(descriptor) }
            // The umask may have removed the owner's own permissions.
            try StoreError.check(draft, "cannot set permissions", fchmod(descriptor, 0o600))
            let text = Array("\(value)\n".utf8)
            let failure = text.withUnsafeBytes { FileBytes.write($0, to: descriptor, at: 0).failure }
            if let failure { throw StoreError(errno: failure.code, path: draft, action: "cannot write") }
            try StoreError.check(draft, "cannot synchronize", fsync(descriptor))
        } catch {
            unlink(draft)
            throw error
        }
        try StoreError.check(path, "cannot replace", rename(draft, path))
        replaced()
        try DataDirectory.synchronize(directory)
    }
}
