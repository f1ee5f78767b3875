internal import Glibc
internal import MediaSystem

/// Finds files below directories.
package struct FileWalk: Sendable {
    /// A file that was found.
    package struct Found: Sendable, Equatable {
        /// The path: the root as given, then the names below it.
        package var path: [UInt8]
        /// Length in bytes when it was found.
        package var byteCount: Int64

        package init(path: [UInt8], byteCount: Int64) {
            self.path = path
            self.byteCount = byteCount
        }
    }

    /// Something that could not be read, and why; the walk goes on.
    package struct Skipped: Sendable, Equatable {
        /// The path.
        package var path: [UInt8]
        /// The system's words.
        package var reason: String
    }

    /// What a walk has found: the files of a directory in the order of their bytes, then those of its directories.
    package struct Result: Sendable, Equatable {
        /// The files.
        package var files: [Found]
        /// What could not be read.
        package var skipped: [Skipped]

        package init(files: [Found], skipped: [Skipped]) {
            self.files = files
            self.skipped = skipped
        }
    }

    /// Which files are wanted.
    package var filter: PathFilter

    package init(filter: PathFilter = PathFilter()) {
        self.filter = filter
    }

    /// Whether a path leads to a directory (links followed).
    package static func isDirectory(_ path: [UInt8]) -> Bool {
        FileKind.of(path) == .directory
    }

    /// All wanted regular files below a directory. Links to files are followed, links to directories are not, and a
    /// directory is never entered twice. Hidden files count; FIFOs, sockets and devices do not, and are never opened.
    ///
    /// A directory that cannot be read, and a wanted file that cannot be looked at (a link that leads nowhere), is skipped.
    /// The root itself may be a link.
    ///
    /// - Parameters:
    ///   - root: Where to begin.
    ///   - isStopped: Asked before each directory; when it says so, the walk ends with what it has found.
    /// - Returns: The files, and what could not be read.
    package func files(below root: [UInt8], until isStopped: () -> Bool = { false }) -> Result {
        var walk = RunningWalk(root: root, filter: filter)
        return walk.run(until: isStopped)
    }
}

/// One walk. Directories that wait are kept in a list, not on the stack, so that depth costs no recursion.
private struct RunningWalk {
    private let root: [UInt8]
    private let filter: PathFilter
    /// Directories still to be read, below the root; the last is the next.
    private var waiting: [[UInt8]] = [[]]
    private var entered: Set<Identity> = []
    private var result = FileWalk.Result(files: [], skipped: [])

    /// What tells a directory from all others, by whatever way it is reached.
    private struct Identity: Hashable {
        var device: UInt64
        var inode: UInt64
    }

    init(root: [UInt8], filter: PathFilter) {
        self.root = root
        self.filter = filter
    }

    mutating func run(until isStopped: () -> Bool) -> FileWalk.Result {
        while !isStopped(), let directory = waiting.popLast() {
            read(directory)
        }
        return result
    }

    private mutating func read(_ directory: [UInt8]) {
        let path = absolute(directory)
        do {
            // Only the root may be a link: what has become one since its parent was read is not entered.
            let stream = try DirectoryStream(path, followingLinks: directory.isEmpty)
            let status = try stream.status()
            guard entered.insert(Identity(device: status.device, inode: status.inode)).inserted else { return }
            take(try stream.sortedEntries(), of: directory, in: stream)
        } catch {
            skip(path, error)
        }
    }

    private mutating func take(
        _ entries: [DirectoryStream.Entry],
        of directory: [UInt8],
        in stream: borrowing DirectoryStream
    ) {
        var directories: [[UInt8]] = []
        for entry in entries {
            let relative = directory.isEmpty ? entry.name : directory + [UInt8(ascii: "/")] + entry.name
            switch entry.kind {
            case .directory:
                if !filter.excludesDirectory(relative[...]) { directories.append(relative) }
            case .regular, .link:
                takeFile(relative, entry, in: stream)
            case .other:
                break
            }
        }
        waiting += directories.reversed()
    }

    private mutating func takeFile(
        _ relative: [UInt8],
        _ entry: DirectoryStream.Entry,
        in stream: borrowing DirectoryStream
    ) {
        guard filter.acceptsFile(relative) else { return }
        do {
            let (kind, byteCount) = try stream.kind(of: entry.name, followingLinks: true)
            guard kind == .regular else { return }
            result.files.append(FileWalk.Found(path: absolute(relative), byteCount: byteCount))
        } catch {
            skip(absolute(relative), error)
        }
    }

    private mutating func skip(_ path: [UInt8], _ error: DirectoryStream.Failure) {
        let reason = SystemError.words(error.code)
        result.skipped.append(FileWalk.Skipped(path: path, reason: reason))
    }

    private func absolute(_ relative: [UInt8]) -> [UInt8] {
        guard !relative.isEmpty else { return root }
        return root.joined(withName: relative)
    }
}

extension [UInt8] {
    /// The path of something in this directory.
    func joined(withName name: [UInt8]) -> [UInt8] {
        last == UInt8(ascii: "/") ? self + name : self + [UInt8(ascii: "/")] + name
    }
}
