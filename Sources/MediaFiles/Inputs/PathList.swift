/// Parses lists of paths, as printed by `find`.
package enum PathList {
    package enum Separator: Sendable {
        /// A line feed, optionally preceded by a carriage return. Blank lines are ignored.
        case line
        /// A NUL (`find -print0`).
        case zero
    }

    /// The paths in a list, in order. The last separator is optional. A byte order mark at the start of a list of lines
    /// is ignored. Throws for an empty path or one that contains a NUL, with the number of the entry.
    package static func paths(in bytes: [UInt8], separatedBy separator: Separator) throws(PathListError) -> [[UInt8]] {
        switch separator {
        case .line: try lines(bytes)
        case .zero: try zeroTerminated(bytes)
        }
    }

    private static func lines(_ bytes: [UInt8]) throws(PathListError) -> [[UInt8]] {
        var paths: [[UInt8]] = []
        let lines = bytes.withoutByteOrderMark.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (line, number) in zip(lines, 1...) {
            let path = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
            guard !path.contains(0) else {
                throw PathListError(entry: number, reason: "the path contains a NUL byte")
            }
            if !path.isEmpty { paths.append(Array(path)) }
        }
        return paths
    }

    private static func zeroTerminated(_ bytes: [UInt8]) throws(PathListError) -> [[UInt8]] {
        var entries = bytes.split(separator: 0, omittingEmptySubsequences: false)
        if entries.last?.isEmpty == true { entries.removeLast() }
        if let empty = entries.firstIndex(where: \.isEmpty) {
            throw PathListError(entry: empty + 1, reason: "the path is empty")
        }
        return entries.map(Array.init)
    }
}

package struct PathListError: Error, Sendable, Equatable {
    /// Number of the entry, from 1; for lists of lines, the line number, counting blank lines.
    package var entry: Int
    package var reason: String
}

extension [UInt8] {
    var withoutByteOrderMark: ArraySlice<UInt8> {
        starts(with: [0xEF, 0xBB, 0xBF]) ? self[3...] : self[...]
    }
}

/// Include and exclude patterns, as in `rsync` and `rclone`.
///
/// A file is selected if an include matches it (or there are no includes) and no exclude matches it or an ancestor
/// directory. The order of patterns does not matter. Hidden files are treated like any other file; `.*` excludes them.
public struct PathFilter: Sendable, Equatable {
    /// Patterns of which at least one must match; empty selects all files.
    public var includes: [GlobPattern]
    /// Patterns of which none may match; an excluded directory is not entered.
    public var excludes: [GlobPattern]

    public init(includes: [GlobPattern] = [], excludes: [GlobPattern] = []) {
        self.includes = includes
        self.excludes = excludes
    }

    /// Whether a file is selected, by its path relative to the root of the walk.
    public func accepts(_ relativePath: [UInt8]) -> Bool {
        acceptsFile(relativePath) && !relativePath.ancestors.contains(where: excludesDirectory)
    }

    /// Like `accepts`, for a file that is not in an excluded directory.
    func acceptsFile(_ relativePath: [UInt8]) -> Bool {
        (includes.isEmpty || includes.contains { $0.matches(relativePath) })
            && !excludes.contains { $0.matchesFile(relativePath) }
    }

    func excludesDirectory(_ relativePath: ArraySlice<UInt8>) -> Bool {
        excludes.contains { $0.fits(relativePath) }
    }
}
