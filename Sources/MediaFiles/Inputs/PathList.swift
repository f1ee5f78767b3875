/// A list of paths, as `find` writes it.
package enum PathList {
    /// What ends a path.
    package enum Separator: Sendable {
        /// A line feed; a carriage return before it belongs to the path's end of line. Blank lines do not count.
        case line
        /// A zero byte (`find -print0`).
        case zero
    }

    /// The paths of a list, in order. The last one needs no separator after it.
    ///
    /// A byte order mark at the start of a list of lines is not part of the first path.
    ///
    /// - Throws: `PathListError`, with the number of the entry, for an empty path or one that holds a zero byte.
    package static func paths(in bytes: [UInt8], separatedBy separator: Separator) throws(PathListError) -> [[UInt8]] {
        switch separator {
        case .line: try lines(bytes)
        case .zero: try zeroTerminated(bytes)
        }
    }

    private static func lines(_ bytes: [UInt8]) throws(PathListError) -> [[UInt8]] {
        var paths: [[UInt8]] = []
        var number = 0
        for line in bytes.withoutByteOrderMark.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            number += 1
            let path = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
            guard !path.contains(0) else {
                throw PathListError(entry: number, reason: "the path holds a zero byte")
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

/// A list that cannot be read.
package struct PathListError: Error, Sendable, Equatable {
    /// Number of the entry, from 1; in a list of lines that of the line, blank ones included.
    package var entry: Int
    /// What is wrong, in words.
    package var reason: String
}

extension [UInt8] {
    /// Everything after the mark that some editors put at the start of a text in UTF-8.
    var withoutByteOrderMark: ArraySlice<UInt8> {
        starts(with: [0xEF, 0xBB, 0xBF]) ? self[3...] : self[...]
    }
}

/// Include and exclude patterns, as `rsync` and `rclone` users know them.
///
/// A file is wanted when an include fits it (or there is none) and no exclude fits it or a directory it lies in. The order
/// of patterns does not matter. Hidden files are files like any other; `.*` excludes them.
public struct PathFilter: Sendable, Equatable {
    /// Patterns of which one must fit; empty for everything.
    public var includes: [GlobPattern]
    /// Patterns of which none may fit; an excluded directory is not entered.
    public var excludes: [GlobPattern]

    /// Makes a filter.
    public init(includes: [GlobPattern] = [], excludes: [GlobPattern] = []) {
        self.includes = includes
        self.excludes = excludes
    }

    /// Whether a file is wanted, whose path below the root of the walk has no leading slash.
    public func accepts(_ relativePath: [UInt8]) -> Bool {
        acceptsFile(relativePath) && !relativePath.ancestors.contains(where: excludesDirectory)
    }

    /// Whether a file is wanted that lies in no excluded directory.
    func acceptsFile(_ relativePath: [UInt8]) -> Bool {
        (includes.isEmpty || includes.contains { $0.matches(relativePath) })
            && !excludes.contains { $0.matches(relativePath) }
    }

    /// Whether a directory is not to be entered.
    func excludesDirectory(_ relativePath: ArraySlice<UInt8>) -> Bool {
        excludes.contains { $0.matchesDirectory(relativePath) }
    }
}
