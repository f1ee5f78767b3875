internal import Glibc

/// An open directory; closed when this value is destroyed.
package struct DirectoryStream: ~Copyable {
    package struct Entry {
        package var name: [UInt8]
        package var kind: FileKind
    }

    package struct Failure: Error {
        package var code: Int32
    }

    /// A `DIR` owned only by this value.
    private let stream: OpaquePointer

    package init(_ path: [UInt8], followingLinks: Bool) throws(Failure) {
        guard !path.contains(0) else { throw Failure(code: ENOENT) }
        let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (followingLinks ? 0 : O_NOFOLLOW)
        let descriptor = open(path.cString, flags)
        guard descriptor >= 0 else { throw Failure(code: errno) }
        try self.init(owning: descriptor)
    }

    /// Takes ownership of an open directory, even if this initializer throws.
    package init(owning descriptor: Int32) throws(Failure) {
        guard let stream = fdopendir(descriptor) else {
            let code = errno
            close(descriptor)
            throw Failure(code: code)
        }
        self.stream = stream
    }

    deinit {
        closedir(stream)
    }

    package func status() throws(Failure) -> FileIdentity {
        var status = stat()
        guard fstat(dirfd(stream), &status) == 0 else { throw Failure(code: errno) }
        return FileIdentity(status)
    }

    /// Calls `body` with each name, in unspecified order.
    package func forEachName(_ body: ([UInt8]) -> Void) throws(Failure) { try forEach { name, _ in body(name) } }

    /// The entries, sorted by the bytes of their names.
    package func sortedEntries() throws(Failure) -> [Entry] {
        var entries: [Entry] = []
        try forEach { name, type in
            if let kind = kind(ofType: type, name: name) { entries.append(Entry(name: name, kind: kind)) }
        }
        return entries.sorted { $0.name.lexicographicallyPrecedes($1.name) }
    }

    private func forEach(_ body: (_ name: [UInt8], _ type: UInt8) -> Void) throws(Failure) {
        while true {
            // `readdir` returns nil both at the end and on error.
            errno = 0
            guard let entry = readdir(stream) else {
                guard errno == 0 else { throw Failure(code: errno) }
                return
            }
            let name = Self.name(of: entry)
            if name != Array(".".utf8), name != Array("..".utf8) { body(name, entry.pointee.d_type) }
        }
    }

    /// Type and identity of an entry.
    package func kind(
        of name: [UInt8],
        followingLinks: Bool
    ) throws(Failure) -> (kind: FileKind, identity: FileIdentity) {
        var status = stat()
        let flags = followingLinks ? 0 : AT_SYMLINK_NOFOLLOW
        guard fstatat(dirfd(stream), name.cString, &status, flags) == 0 else {
            throw Failure(code: errno)
        }
        return (FileKind(mode: status.st_mode), FileIdentity(status))
    }

    /// The type in the directory entry if known, otherwise from `stat`; nil for a removed entry.
    private func kind(ofType type: UInt8, name: [UInt8]) -> FileKind? {
        switch Int(type) {
        case Int(DT_DIR): .directory
        case Int(DT_REG): .regular
        case Int(DT_LNK): .link
        case Int(DT_UNKNOWN): try? kind(of: name, followingLinks: false).kind
        default: .other
        }
    }

    /// The name is read in place up to its zero byte, since the record may be shorter than the declared 256 bytes; the
    /// next call overwrites it.
    private static func name(of entry: UnsafeMutablePointer<dirent>) -> [UInt8] {
        guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else { return [] }
        let start = UnsafeRawPointer(entry) + offset
        let length = strlen(start.assumingMemoryBound(to: CChar.self))
        return Array(UnsafeRawBufferPointer(start: start, count: length))
    }
}
