/// Finds files below directories.
public struct FileWalk: Sendable {
    /// A file that was found.
    public struct Found: Sendable, Equatable {
        /// The path: the root as given, then the names below it.
        public var path: [UInt8]
        /// Length in bytes when it was found.
        public var byteCount: Int64
    }

    /// Something that could not be read, and why; the walk goes on.
    public struct Skipped: Sendable, Equatable {
        /// The path.
        public var path: [UInt8]
        /// The system's words.
        public var reason: String
    }

    /// What a walk has found: files in the order of their bytes, directory by directory.
    public struct Result: Sendable, Equatable {
        /// The files.
        public var files: [Found]
        /// What could not be read.
        public var skipped: [Skipped]
    }

    /// Which files are wanted.
    public var filter: PathFilter

    /// Makes a walk.
    public init(filter: PathFilter = PathFilter()) {
        self.filter = filter
    }

    /// Whether a path leads to a directory (links followed).
    public static func isDirectory(_ path: [UInt8]) -> Bool { false }

    /// All wanted regular files below a directory. Links to files are followed, links to directories are not, and a
    /// directory is never entered twice.
    public func files(below root: [UInt8]) -> Result { Result(files: [], skipped: []) }
}

/// Include and exclude patterns, as `rsync` and `rclone` users know them.
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

    /// Whether a file is wanted.
    ///
    /// - Parameter relativePath: Its path below the root of the walk, without a leading slash.
    public func accepts(_ relativePath: [UInt8]) -> Bool { true }
}

/// A glob: `*`, `?`, `[a-z]`, `[!x]`, `{a,b}`, and `**` across directories. Without a slash it is matched against the
/// last component, else against the whole path below the root. Case matters.
public struct GlobPattern: Sendable, Equatable {
    /// The pattern as given.
    public var text: String

    /// Reads a pattern.
    ///
    /// - Throws: `GlobError` that says what is wrong with it (an open bracket, an empty pattern).
    public init(_ text: String) throws(GlobError) {
        self.text = text
    }

    /// Whether a path fits.
    public func matches(_ relativePath: [UInt8]) -> Bool { false }
}

/// A pattern that cannot be read.
public struct GlobError: Error, Sendable, Equatable {
    /// The pattern.
    public var pattern: String
    /// What is wrong, in words.
    public var reason: String

    /// Makes an error.
    public init(pattern: String, reason: String) {
        self.pattern = pattern
        self.reason = reason
    }
}
