internal import Glibc
internal import MediaFiles
internal import MediaSystem

/// Lists and manifests: files of any kind, or standard input.
enum InputFile {
    /// Far above the size of a list with a million paths.
    private static let limit = 512 << 20

    /// Reads the whole input on a thread that may block. The name `-` means standard input; `flag` is used in messages.
    static func bytes(_ name: String, flag: String, in context: CommandContext) async throws(UserFacingError) -> [UInt8]
    {
        let (standardInput, path) = (context.standardInput, RawArguments.bytes(of: name))
        do {
            return try await BlockingWork.run { () throws(WholeInput.Failure) in
                name == "-"
                    ? try WholeInput.all(from: standardInput, limit: limit)
                    : try WholeInput.all(at: path, limit: limit)
            }
        } catch {
            let what = name == "-" ? "standard input" : ErrorCatalog.quoted(path)
            throw .usage("\(flag): cannot read \(what): \(error.reason)", hint: error.hint)
        }
    }

    static func paths(
        _ name: String,
        flag: String,
        _ separator: PathList.Separator,
        in context: CommandContext
    ) async throws(UserFacingError) -> [[UInt8]] {
        let bytes = try await bytes(name, flag: flag, in: context)
        do {
            return try PathList.paths(in: bytes, separatedBy: separator)
        } catch {
            throw UserFacingError.usage("\(flag): entry \(error.entry): \(ErrorCatalog.clean(error.reason))")
        }
    }
}

/// Input that can be read twice: a regular file, or an unlinked copy of a pipe in the temporary directory, readable
/// only by this user and freed when the process exits.
final class SeekableInput: Sendable {
    /// Number of bytes from the starting position at the time of opening.
    let byteCount: Int64
    private let descriptor: Int32
    private let start: Int64

    /// Opens a file of any kind. Blocks.
    convenience init(at path: [UInt8]) throws(WholeInput.Failure) {
        let descriptor = try WholeInput.opened(path)
        defer { close(descriptor) }
        try self.init(copying: descriptor)
    }

    /// Reads from the current position of a descriptor, which stays open. Blocks until a pipe is closed.
    init(copying descriptor: Int32) throws(WholeInput.Failure) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .system(errno) }
        if status.st_mode & S_IFMT == S_IFREG {
            let own = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
            guard own >= 0 else { throw .system(errno) }
            self.descriptor = own
            start = max(Int64(lseek(descriptor, 0, SEEK_CUR)), 0)
            byteCount = max(Int64(status.st_size) - start, 0)
        } else {
            let copy = try Self.unnamedFile()
            do throws(WholeInput.Failure) {
                byteCount = try Self.copy(descriptor, to: copy)
            } catch {
                close(copy)
                throw error
            }
            self.descriptor = copy
            start = 0
        }
    }

    deinit { close(descriptor) }

    /// Returns fewer than `count` bytes only at the end.
    func read(at offset: Int64, count: Int) throws(WholeInput.Failure) -> [UInt8] {
        do throws(FileBytes.Failure) {
            return try FileBytes.read(descriptor, at: start + offset, count: count)
        } catch {
            throw .system(error.code)
        }
    }

    private static func unnamedFile() throws(WholeInput.Failure) -> Int32 {
        var template = Array("\(getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp")/mediactl-XXXXXX".utf8CString)
        // mkstemp uses mode 0600.
        let descriptor = mkstemp(&template)
        guard descriptor >= 0 else { throw .system(errno) }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        unlink(template)
        return descriptor
    }

    private static func copy(_ source: Int32, to target: Int32) throws(WholeInput.Failure) -> Int64 {
        var count: Int64 = 0
        var failure: WholeInput.Failure?
        try WholeInput.chunks(from: source) { bytes in
            if let code = FileBytes.write(bytes, to: target, at: count).failure?.code { failure = .system(code) }
            count += Int64(bytes.count)
            return failure == nil
        }
        if let failure { throw failure }
        return count
    }
}

/// Reads files of any kind to their end, including pipes and inherited standard input. Blocks.
enum WholeInput {
    enum Failure: Error, Equatable {
        /// The `errno` from opening or reading.
        case system(Int32)
        /// Larger than the limit, in bytes.
        case tooLarge(limit: Int)
        case notUTF8
        case notRegular
        case foreign
        case writableByOthers
        case cancelled

        static let missing = Failure.system(ENOENT)

        /// Lowercase, no final period.
        var reason: String {
            switch self {
            case .missing: "no such file"
            case .system(let code): SystemError.words(code)
            case .tooLarge(let limit): "it is larger than \(limit >> 20) MiB"
            case .notUTF8: "it is not UTF-8"
            case .notRegular: "it is not a regular file"
            case .foreign: "it belongs to another user"
            case .writableByOthers: "other users can write to it"
            case .cancelled: "interrupted"
            }
        }

        var hint: String? { self == .missing ? ErrorCatalog.missingHint : nil }
    }

    /// Reads at most `limit` bytes; throws `.tooLarge` if there are more.
    static func all(at path: [UInt8], limit: Int) throws(Failure) -> [UInt8] {
        let descriptor = try opened(path)
        defer { close(descriptor) }
        return try all(from: descriptor, limit: limit)
    }

    /// O_NONBLOCK: opening a FIFO does not wait for a writer; reading does.
    static func opened(_ path: [UInt8]) throws(Failure) -> Int32 {
        let descriptor = open(path.cString, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { throw .system(errno) }
        return descriptor
    }

    /// Reads to the end. The descriptor stays open and may be an inherited non-blocking pipe. `isCancelled` is called
    /// ten times per second while no data arrives.
    static func all(
        from descriptor: Int32,
        limit: Int,
        isCancelled: () -> Bool = { false }
    ) throws(Failure) -> [UInt8] {
        var bytes: [UInt8] = []
        try chunks(from: descriptor, isCancelled: isCancelled) { chunk in
            bytes += chunk
            return bytes.count <= limit
        }
        guard bytes.count <= limit else { throw .tooLarge(limit: limit) }
        return bytes
    }

    /// Reads to the end like `all` and passes each chunk to `body` until it returns false.
    static func chunks(
        from descriptor: Int32,
        isCancelled: () -> Bool = { false },
        _ body: (UnsafeRawBufferPointer) -> Bool
    ) throws(Failure) {
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            guard !isCancelled() else { throw .cancelled }
            // A FIFO without a writer would be read as empty, but is not ready.
            var event = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&event, 1, 100) > 0 else { continue }
            let got = read(descriptor, &chunk, chunk.count)
            if got < 0, errno == EINTR || errno == EAGAIN { continue }
            guard got >= 0 else { throw .system(errno) }
            guard got > 0 else { return }
            guard chunk.withUnsafeBytes({ body(UnsafeRawBufferPointer(rebasing: $0[..<got])) }) else { return }
        }
    }
}

/// Paths are bytes and not necessarily UTF-8.
extension [UInt8] {
    /// `directory` and this path, if it is relative; not normalized.
    func prefixed(with directory: String) -> [UInt8] {
        first == UInt8(ascii: "/") ? self : Array(directory.utf8) + [UInt8(ascii: "/")] + self
    }
}
