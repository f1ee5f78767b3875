/// A list of paths, as `find` writes it.
public enum PathList {
    /// What ends a path.
    public enum Separator: Sendable {
        /// A line feed; a carriage return before it belongs to the path's end of line. Blank lines do not count.
        case line
        /// A zero byte (`find -print0`).
        case zero
    }

    /// The paths of a list, in order.
    ///
    /// - Throws: `PathListError`, with the number of the entry, for an empty path or one that holds a zero byte.
    public static func paths(in bytes: [UInt8], separatedBy separator: Separator) throws(PathListError) -> [[UInt8]] {
        []
    }
}

/// A list that cannot be read.
public struct PathListError: Error, Sendable, Equatable {
    /// Number of the entry, from 1.
    public var entry: Int
    /// What is wrong, in words.
    public var reason: String

    /// Makes an error.
    public init(entry: Int, reason: String) {
        self.entry = entry
        self.reason = reason
    }
}
