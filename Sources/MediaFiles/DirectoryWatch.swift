/// Reports files that appear in a directory and are complete (inotify: closed after writing, or moved in).
public final class DirectoryWatch: Sendable {
    /// Begins to watch. Files that are there already are reported first.
    ///
    /// - Throws: `SourceFileError` when the directory cannot be watched.
    public init(_ directory: [UInt8], filter: PathFilter) throws(SourceFileError) {}

    /// Paths of complete files, each once for each time it was written. Ends when the task is cancelled or the directory
    /// is removed. A file that is still growing (another process has it open for writing) is waited for.
    public var files: AsyncStream<[UInt8]> { AsyncStream { $0.finish() } }
}
