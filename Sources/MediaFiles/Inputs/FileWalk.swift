internal import Glibc
internal import MediaSystem

package struct FileWalk: Sendable {
    package struct Found: Sendable, Equatable {
        /// The root as given, with the relative path appended.
        package var path: [UInt8]
        /// Size in bytes at the time of the walk.
        package var byteCount: Int64
    }

    /// An unreadable entry that was skipped.
    package struct Skipped: Sendable, Equatable {
        package var path: [UInt8]
        package var reason: String
        /// Whether the entry is a directory, whose files are then unknown.
        package var isDirectory: Bool
    }

    /// A link to a directory, which was not entered.
    package struct LinkedDirectory: Sendable, Equatable {
        package var path: [UInt8]
        var target: FileIdentity.Key
    }

    /// The files in a directory, sorted by bytes, followed by the files in its subdirectories.
    package struct Result: Sendable, Equatable {
        package var files: [Found]
        package var skipped: [Skipped]
        /// Files and directories that match one of the reported excludes; paths have the same form as the paths of
        /// files.
        package var excluded: [[UInt8]] = []
        /// FIFOs, sockets and devices accepted by the filter, and links to them.
        package var irregular: [[UInt8]] = []
        /// Links to directories that no exclude matches.
        package var linkedDirectories: [LinkedDirectory] = []
        /// The directories that were read.
        var directories: Set<FileIdentity.Key> = []
    }

    package var filter: PathFilter
    /// Like the excludes of the filter, but the matches are reported.
    package var reportedExcludes: [GlobPattern]

    package init(filter: PathFilter = PathFilter(), reportedExcludes: [GlobPattern] = []) {
        self.filter = filter
        self.reportedExcludes = reportedExcludes
    }

    /// Follows links.
    package static func isDirectory(_ path: [UInt8]) -> Bool {
        FileKind.of(path) == .directory
    }

    /// Links to directories whose files were not found under a different path by any of these walks.
    package static func unreadLinks(of results: [Result]) -> [[UInt8]] {
        let read = results.reduce(into: Set<FileIdentity.Key>()) { $0.formUnion($1.directories) }
        return results.flatMap(\.linkedDirectories).filter { !read.contains($0.target) }.map(\.path)
    }

    /// All selected regular files in a directory, recursively. Links to files are followed, links to directories are
    /// only reported, and directories are never entered twice. Hidden files are included; FIFOs, sockets and devices
    /// are only reported, and never opened.
    ///
    /// Unreadable directories and dangling links are skipped. The root itself may be a link.
    ///
    /// `isStopped` is called before each directory; if it returns true, the walk ends, and the files found so far are
    /// returned.
    package func files(below root: [UInt8], until isStopped: () -> Bool = { false }) -> Result {
        var walk = RunningWalk(root: root, filter: filter, reportedExcludes: reportedExcludes)
        return walk.run(until: isStopped)
    }
}

/// A walk in progress. Pending directories are in a list, so depth does not require recursion.
private struct RunningWalk {
    let root: [UInt8]
    let filter: PathFilter
    let reportedExcludes: [GlobPattern]
    /// Pending directories, relative to the root; the last one is read next.
    var waiting: [[UInt8]] = [[]]
    var result = FileWalk.Result(files: [], skipped: [])

    mutating func run(until isStopped: () -> Bool) -> FileWalk.Result {
        while !isStopped(), let directory = waiting.popLast() {
            read(directory)
        }
        return result
    }

    private mutating func read(_ directory: [UInt8]) {
        let path = absolute(directory)
        do {
            // Only the root may be a link: a directory that was replaced by a link after its parent was read is not
            // entered.
            let stream = try DirectoryStream(path, followingLinks: directory.isEmpty)
            let status = try stream.status()
            guard result.directories.insert(FileIdentity.Key(status)).inserted else { return }
            take(try stream.sortedEntries(), of: directory, in: stream)
        } catch {
            skip(path, error, isDirectory: true)
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
                guard !filter.excludesDirectory(relative[...]) else { continue }
                if reportedExcludes.contains(where: { $0.fits(relative[...]) }) {
                    result.excluded.append(absolute(relative))
                } else {
                    directories.append(relative)
                }
            case .link:
                let target = try? stream.kind(of: entry.name, followingLinks: true)
                if let target, target.kind == .directory {
                    takeLink(relative, to: target.identity)
                } else {
                    takeFile(relative, entry, in: stream)
                }
            case .regular, .other:
                takeFile(relative, entry, in: stream)
            }
        }
        waiting += directories.reversed()
    }

    private mutating func takeLink(_ relative: [UInt8], to directory: FileIdentity) {
        guard !filter.excludesDirectory(relative[...]), !reportedExcludes.contains(where: { $0.fits(relative[...]) })
        else { return }
        let key = FileIdentity.Key(directory)
        result.linkedDirectories.append(FileWalk.LinkedDirectory(path: absolute(relative), target: key))
    }

    private mutating func takeFile(
        _ relative: [UInt8],
        _ entry: DirectoryStream.Entry,
        in stream: borrowing DirectoryStream
    ) {
        guard filter.acceptsFile(relative) else { return }
        guard !reportedExcludes.contains(where: { $0.matchesFile(relative) }) else {
            result.excluded.append(absolute(relative))
            return
        }
        do {
            let (kind, identity) = try stream.kind(of: entry.name, followingLinks: true)
            switch kind {
            case .regular: result.files.append(FileWalk.Found(path: absolute(relative), byteCount: identity.size))
            case .other: result.irregular.append(absolute(relative))
            case .directory, .link: break
            }
        } catch {
            skip(absolute(relative), error, isDirectory: false)
        }
    }

    private mutating func skip(_ path: [UInt8], _ error: DirectoryStream.Failure, isDirectory: Bool) {
        let reason = SystemError.words(error.code)
        result.skipped.append(FileWalk.Skipped(path: path, reason: reason, isDirectory: isDirectory))
    }

    private func absolute(_ relative: [UInt8]) -> [UInt8] {
        guard !relative.isEmpty else { return root }
        return root.joined(withName: relative)
    }
}

extension [UInt8] {
    func joined(withName name: [UInt8]) -> [UInt8] {
        last == UInt8(ascii: "/") ? self + name : self + [UInt8(ascii: "/")] + name
    }
}
