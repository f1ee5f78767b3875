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
