import Glibc
import MediaSystem
import Synchronization

/// Standard input, spooled to the data directory: its length is then known, and it can be read again.
public final class SpoolFile: Sendable {
    /// The open file, at an unspecified offset; read it with `pread`. It stays open until the last
    /// reference is released.
    public var descriptor: Int32 { file.descriptor }
    public let byteCount: Int64
    public var path: String { file.path }

    private let file: LockedFile
    /// Whether the file outlives its object, for an upload that may be resumed later.
    private let isKept: Mutex<Bool>

    /// Copies a descriptor to its end in bounded memory, at most `limit` bytes; `reserve` bytes stay free on the disk.
    /// `isCancelled` is called between blocks, and five times a second while no input arrives. Throws `StoreError`
    /// (`.full`, `.notWritable`) or `SpoolError`, and leaves nothing behind.
    public init(
        copying input: Int32,
        to directory: DataDirectory,
        limit: Int64,
        reserve: Int64 = 64 << 20,
        isCancelled: () -> Bool
    ) throws {
        file = try LockedFile.create(prefix: Self.prefix, in: directory)
        isKept = Mutex(false)
        do {
            byteCount = try Self.copy(input, to: file, limit: limit, reserve: reserve, isCancelled: isCancelled)
        } catch {
            file.remove()
            throw error
        }
    }

    /// A file kept by an earlier process.
    private init(keeping file: LockedFile, byteCount: Int64) {
        self.file = file
        self.byteCount = byteCount
        isKept = Mutex(true)
    }

    deinit { release() }

    /// Removes the file unless it is kept. Releasing the last reference does the same, but a thread may still have one
    /// when the program exits.
    public func release() {
        if !isKept.withLock({ $0 }) { remove() }
    }

    /// Removes the file, kept or not.
    public func remove() { file.remove() }

    // MARK: Keeping

    /// Synchronizes the file and keeps it for an upload that may need it again: beyond the lifetime of this object and
    /// this process, until it is removed or cleaned up. If this fails, the file is unchanged.
    public func keep(for uploadID: String, in directory: DataDirectory) throws(StoreError) {
        try UploadID.check(uploadID, path: directory.path)
        try StoreError.check(path, "cannot synchronize", fsync(descriptor))
        try file.rename(prefix: Self.prefix(of: uploadID), in: directory.path)
        try directory.synchronize()
        isKept.withLock { $0 = true }
    }

    /// The file kept for an upload by an earlier process; nil if there is none, or another process has locked it.
    public static func kept(for uploadID: String, in directory: DataDirectory) throws(StoreError) -> SpoolFile? {
        try UploadID.check(uploadID, path: directory.path)
        for name in try directory.entries(withPrefix: prefix(of: uploadID)) {
            guard let file = try LockedFile.existing(directory.file(name)),
                let status = FileStatus(descriptor: file.descriptor)
            else { continue }
            return SpoolFile(keeping: file, byteCount: status.size)
        }
        return nil
    }

    /// Removes the files left by exited processes. A running process's file is locked and stays, as does a file that is
    /// kept for an upload that needs it.
    public static func sweep(in directory: DataDirectory, keeping isNeeded: (_ uploadID: String) -> Bool) {
        // Files that cannot be checked now are removed later.
        guard let names = try? directory.entries(withPrefix: prefix) else { return }
        for name in names {
            if let uploadID = uploadID(ofName: name), isNeeded(uploadID) { continue }
            guard let file = try? LockedFile.existing(directory.file(name)) else { continue }
            file.remove()
        }
    }

    private static func prefix(of uploadID: String) -> String { "\(prefix)\(uploadID)-" }

    /// The upload ID in a file name: the part before the last hyphen.
    private static func uploadID(ofName name: String) -> String? {
        let words = name.dropFirst(prefix.count)
        return words.lastIndex(of: "-").map { String(words[..<$0]) }
    }

    // MARK: Copying

    static let prefix = "spool-"
    private static let blockCount = 1 << 20
    private static let pollMilliseconds: Int32 = 200

    private static func copy(
        _ input: Int32,
        to file: LockedFile,
        limit: Int64,
        reserve: Int64,
        isCancelled: () -> Bool
    ) throws -> Int64 {
        let block = UnsafeMutableRawBufferPointer.allocate(byteCount: blockCount, alignment: 16)
        defer { block.deallocate() }
        var total: Int64 = 0
        while true {
            guard !isCancelled() else { throw SpoolError.cancelled }
            guard let count = try read(input, into: block) else { continue }
            guard count > 0 else { return total }
            guard total + Int64(count) <= limit else { throw SpoolError.tooLarge(limit: limit) }
            try checkFreeSpace(file, needed: Int64(count) + reserve)
            let bytes = UnsafeRawBufferPointer(rebasing: block[..<count])
            let failure = FileBytes.write(bytes, to: file.descriptor, at: total).failure
            if let failure { throw StoreError(errno: failure.code, path: file.path, action: "cannot write") }
            total += Int64(count)
        }
    }

    /// Bytes read, 0 at the end, nil if no data has arrived yet.
    private static func read(_ input: Int32, into block: UnsafeMutableRawBufferPointer) throws -> Int? {
        var waiting = pollfd(fd: input, events: Int16(POLLIN), revents: 0)
        let ready = poll(&waiting, 1, pollMilliseconds)
        guard ready != 0 else { return nil }
        let count = ready < 0 ? -1 : Glibc.read(input, block.baseAddress, block.count)
        guard count < 0 else { return count }
        guard errno == EINTR || errno == EAGAIN else { throw SpoolError.unreadable(errno: errno) }
        return nil
    }

    private static func checkFreeSpace(_ file: LockedFile, needed: Int64) throws(StoreError) {
        var status = statvfs()
        guard fstatvfs(file.descriptor, &status) == 0 else { return }
        let free = FreeSpace.bytes(status)
        guard free >= UInt64(max(needed, 0)) else {
            throw StoreError(.full, path: file.path, detail: "\(free) bytes free, \(needed) needed")
        }
    }
}

/// Why an input was not spooled.
public enum SpoolError: Error, Sendable, Equatable {
    case tooLarge(limit: Int64)
    /// The input could not be read.
    case unreadable(errno: Int32)
    /// The caller canceled.
    case cancelled
}
