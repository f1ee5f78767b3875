internal import Glibc
internal import MediaSystem

/// Reports files that appear in a directory and are complete (inotify: closed after writing, or moved in).
///
/// Only regular files in the directory itself count, and links to such; names are filtered. Empty files are passed over: some
/// writers create a file, close it, and open it again to fill it.
///
/// Whether another process still writes is asked by a read lease (`F_SETLEASE`), which the system refuses while a file is
/// open for writing. Where it grants none at all (another user's file, some network file systems), a file that was there
/// before or was moved in counts as complete once its length and times have not changed for two seconds. The lease is given
/// back at once; a writer that opens the file in that instant waits for microseconds, one that refuses to wait fails.
package final class DirectoryWatch: Sendable {
    /// Paths of complete files, each once for each time it was written. Ends when the task is cancelled or the directory
    /// is removed or renamed; watching ends with the last reference to the stream. A file that is still growing (another process has it open for writing) is waited for.
    ///
    /// For one consumer. After the system has lost events (thousands at once) the directory is read again.
    package let files: AsyncStream<[UInt8]>

    /// Begins to watch. Files that are there already are reported first.
    ///
    /// - Throws: `SourceFileError` when the directory cannot be watched.
    package convenience init(_ directory: [UInt8], filter: PathFilter) throws(SourceFileError) {
        try self.init(directory, filter: filter, quietSeconds: 2, openness: WriterProbe.openness)
    }

    /// As above, with another idea of when a file is complete.
    init(
        _ directory: [UInt8],
        filter: PathFilter,
        quietSeconds: Double,
        openness: @escaping @Sendable (Int32) -> WriterProbe.Openness
    ) throws(SourceFileError) {
        let events = try DirectoryEvents(directory)
        guard let stop = StopSignal() else { throw SourceFileError(errno: errno, path: directory) }
        let (files, continuation) = AsyncStream<[UInt8]>.makeStream()
        // Also when nobody holds the stream any more; the thread has its other end only.
        continuation.onTermination = { _ in stop.signal() }
        self.files = files
        let code = DedicatedThread.start {
            var loop = DirectoryWatchLoop(
                directory: directory,
                filter: filter,
                quiet: .seconds(quietSeconds),
                openness: openness
            )
            loop.run(events, until: stop) { continuation.yield($0) }
            continuation.finish()
        }
        guard code == 0 else { throw SourceFileError(errno: code, path: directory) }
    }
}
