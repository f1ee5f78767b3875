internal import Glibc
internal import MediaSystem

/// Reports complete files that appear in a directory (inotify: closed after writing, moved in, or linked).
///
/// Only regular files directly in the directory, and links to them, are reported, subject to the filter. Empty files
/// are ignored: some writers create a file, close it, and open it again to write its content.
///
/// A read lease (`F_SETLEASE`) shows whether another process is still writing: the system refuses it while a file is
/// open for writing. If leases are not granted (another user's file, some network file systems), a file that already
/// existed, was moved in or linked counts as complete once its size and times have not changed for two seconds. A file
/// that is open for writing is tested every two seconds, because its writer may have opened it under a different name,
/// or without a name (`O_TMPFILE`); its close event is then reported for a different directory, or not at all. The
/// lease is released immediately; a writer that opens the file at that moment waits for microseconds, and a nonblocking
/// writer fails.
package final class DirectoryWatch: Sendable {
    /// Paths of complete files, once per write. Ends when the task is canceled or the directory is removed or renamed;
    /// watching stops when the last reference to the stream is released. A file open for writing is reported after it
    /// is closed.
    ///
    /// For only one consumer. If events are lost (thousands at once), the directory is read again.
    package let files: AsyncStream<[UInt8]>

    /// Starts watching. Existing files are reported first.
    package convenience init(_ directory: [UInt8], filter: PathFilter) throws(SourceFileError) {
        try self.init(directory, filter: filter, idleSeconds: 2, openness: WriterProbe.openness)
    }

    /// Like the other initializer, with a configurable test of completeness.
    init(
        _ directory: [UInt8],
        filter: PathFilter,
        idleSeconds: Double,
        openness: @escaping @Sendable (Int32) -> WriterProbe.Openness
    ) throws(SourceFileError) {
        let events = try DirectoryEvents(directory)
        guard let stop = StopSignal() else { throw SourceFileError(errno: errno, path: directory) }
        let (files, continuation) = AsyncStream<[UInt8]>.makeStream()
        // Also called when the last reference to the stream is released, since the thread has only the continuation.
        continuation.onTermination = { _ in stop.signal() }
        self.files = files
        let code = DedicatedThread.start {
            var loop = DirectoryWatchLoop(
                directory: directory,
                filter: filter,
                idleTime: .seconds(idleSeconds),
                openness: openness
            )
            loop.run(events, until: stop) { continuation.yield($0) }
            continuation.finish()
        }
        guard code == 0 else { throw SourceFileError(errno: code, path: directory) }
    }
}

/// Events in one directory (inotify(7)).
final class DirectoryEvents: Sendable {
    enum Event: Equatable {
        /// A file was closed by a writer.
        case closed([UInt8])
        /// A file was moved in, or renamed to this name.
        case movedIn([UInt8])
        /// A new file, which has no content yet, or a link to a file.
        case created([UInt8])
        /// A name was removed.
        case gone([UInt8])
        /// Events were lost.
        case overflow
        /// The directory was removed, renamed or unmounted; no events follow.
        case ended
    }

    /// Readable when there are events.
    let descriptor: Int32

    init(_ directory: [UInt8]) throws(SourceFileError) {
        guard !directory.contains(0) else { throw SourceFileError(.notFound, path: directory) }
        descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
        guard descriptor >= 0 else { throw SourceFileError(errno: errno, path: directory) }
        let wanted =
            IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF
        let path = directory.cString
        guard inotify_add_watch(descriptor, path, UInt32(wanted) | UInt32(IN_ONLYDIR)) >= 0 else {
            let code = errno
            close(descriptor)
            throw SourceFileError(errno: code, path: directory)
        }
    }

    deinit {
        close(descriptor)
    }

    /// Reads all new events. Does not block.
    func take() -> [Event] {
        var events: [Event] = []
        // Room for many events; the system requires space for at least one with the longest name.
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN { return events }
            guard count > 0 else { return events + [.ended] }
            Self.append(buffer[..<count], to: &events)
        }
    }

    /// Each record: watch, mask, cookie and length of the name, four bytes each, then the name, zero-padded.
    private static func append(_ records: ArraySlice<UInt8>, to events: inout [Event]) {
        var start = records.startIndex
        while start + 16 <= records.endIndex {
            let (mask, nameCount) = records.withUnsafeBytes { bytes in
                let record = UnsafeRawBufferPointer(rebasing: bytes[(start - records.startIndex)...])
                return (
                    record.loadUnaligned(fromByteOffset: 4, as: UInt32.self),
                    Int(record.loadUnaligned(fromByteOffset: 12, as: UInt32.self))
                )
            }
            let nameStart = start + 16
            let end = min(nameStart + nameCount, records.endIndex)
            let name = Array(records[nameStart..<end].prefix { $0 != 0 })
            if let event = Event(mask: mask, name: name) { events.append(event) }
            start = end
        }
    }
}

extension DirectoryEvents.Event {
    fileprivate init?(mask: UInt32, name: [UInt8]) {
        func has(_ bits: Int) -> Bool { mask & UInt32(truncatingIfNeeded: bits) != 0 }
        if has(Int(IN_Q_OVERFLOW)) {
            self = .overflow
        } else if has(Int(IN_IGNORED) | Int(IN_MOVE_SELF) | Int(IN_DELETE_SELF) | Int(IN_UNMOUNT)) {
            self = .ended
        } else if has(Int(IN_CLOSE_WRITE)) {
            self = .closed(name)
        } else if has(Int(IN_MOVED_TO)) {
            guard !has(Int(IN_ISDIR)) else { return nil }
            self = .movedIn(name)
        } else if has(Int(IN_CREATE)) {
            guard !has(Int(IN_ISDIR)) else { return nil }
            self = .created(name)
        } else if has(Int(IN_DELETE) | Int(IN_MOVED_FROM)) {
            self = .gone(name)
        } else {
            return nil
        }
    }
}

/// The loop that runs a watch, on its own thread.
///
/// Events are collected before the directory is read for the first time, so files are never missed. A file written in
/// between is detected twice but reported once: later events are ignored for files that have not changed since then.
struct DirectoryWatchLoop {
    let directory: [UInt8]
    let filter: PathFilter
    let idleTime: Duration
    let openness: @Sendable (Int32) -> WriterProbe.Openness

    /// Files that count as complete once they stop changing.
    fileprivate var idle: [[UInt8]: IdleFile] = [:]
    /// Reported files with their status: reading the directory again after events were lost does not report these files
    /// twice.
    fileprivate var reported: [[UInt8]: FileIdentity] = [:]

    /// Names that were reported before their writer's close event, which may still follow.
    fileprivate var reportedEarly: Set<[UInt8]> = []

    /// How a name was detected.
    private enum Arrival {
        case created
        /// Listed, or moved in.
        case present
        case closed
    }

    fileprivate struct IdleFile {
        var status: FileIdentity
        var since: ContinuousClock.Instant
    }

    /// Runs until the directory is removed or the signal is sent.
    mutating func run(_ events: DirectoryEvents, until stop: StopSignal, report: ([UInt8]) -> Void) {
        var mustRead = true
        var followsReading = false
        while true {
            var names: [[UInt8]] = []
            var arrivals: [[UInt8]: Arrival] = [:]
            let mayRepeat = followsReading
            followsReading = mustRead
            if mustRead {
                guard let found = filesInDirectory() else { return }
                names = found
                mustRead = false
            }
            let batch = events.take()
            for event in batch {
                switch event {
                case .closed(let name):
                    if reportedEarly.remove(name) != nil, isKnown(name) { break }
                    names.append(name)
                    arrivals[name] = .closed
                case .movedIn(let name):
                    names.append(name)
                    if arrivals[name] != .closed { arrivals[name] = .present }
                case .created(let name):
                    names.append(name)
                    if arrivals[name] == nil { arrivals[name] = .created }
                case .gone(let name):
                    reported[name] = nil
                    reportedEarly.remove(name)
                    idle[name] = nil
                case .overflow: mustRead = true
                case .ended: break
                }
            }
            if mayRepeat { names.removeAll(where: isKnown) }
            var seen: Set<[UInt8]> = []
            for name in names where seen.insert(name).inserted && filter.accepts(name) {
                check(name, arrivals[name] ?? .present, report: report)
            }
            checkIdleFiles(report: report)
            if batch.contains(.ended) { return }
            if mustRead { continue }
            guard wait(for: events, or: stop) else { return }
        }
    }

    /// Names sorted by their bytes; nil if the directory cannot be read. Discards the state of missing files.
    private mutating func filesInDirectory() -> [[UInt8]]? {
        guard let entries = try? DirectoryStream(directory, followingLinks: true).sortedEntries() else { return nil }
        let names = entries.filter { $0.kind == .regular || $0.kind == .link }.map(\.name)
        let present = Set(names)
        reported = reported.filter { present.contains($0.key) }
        idle = idle.filter { present.contains($0.key) }
        return names.filter { !isKnown($0) }
    }

    /// Whether the file was reported, and has not changed since then.
    private func isKnown(_ name: [UInt8]) -> Bool {
        guard let before = reported[name] else { return false }
        return (try? SourceFile(path: directory.joined(withName: name)))?.status == before
    }

    private mutating func check(_ name: [UInt8], _ arrival: Arrival, report: ([UInt8]) -> Void) {
        idle[name] = nil
        let path = directory.joined(withName: name)
        // Empty, irregular and removed files are not reported. Unreadable files are reported: their reader reports the
        // error.
        let file: SourceFile
        do {
            file = try SourceFile(path: path)
        } catch {
            if error.kind == .permissionDenied { report(path) }
            return
        }
        switch openness(file.descriptor) {
        case .closed:
            if arrival == .created { reportedEarly.insert(name) }
            finish(name, file.status, report: report)
        case .unknown where arrival == .closed: finish(name, file.status, report: report)
        // An event follows when its writer closes it.
        case .unknown where arrival == .created && !isLink(path): break
        case .open, .unknown: idle[name] = IdleFile(status: file.status, since: .now)
        }
    }

    /// Whether a file may have other names.
    private func isLink(_ path: [UInt8]) -> Bool {
        var status = stat()
        guard lstat(path.cString, &status) == 0 else { return false }
        return status.st_mode & S_IFMT == S_IFLNK || status.st_nlink > 1
    }

    private mutating func checkIdleFiles(report: ([UInt8]) -> Void) {
        for (name, idle) in idle where idle.since.duration(to: .now) >= idleTime {
            let file = try? SourceFile(path: directory.joined(withName: name))
            if let file, file.status == idle.status, openness(file.descriptor) != .open {
                reportedEarly.insert(name)
                finish(name, file.status, report: report)
            } else {
                self.idle[name] = file.map { IdleFile(status: $0.status, since: .now) }
            }
        }
    }

    private mutating func finish(_ name: [UInt8], _ status: FileIdentity, report: ([UInt8]) -> Void) {
        idle[name] = nil
        reported[name] = status
        report(directory.joined(withName: name))
    }

    /// Waits for events, or until an idle file is due. Returns false once the signal is sent.
    private func wait(for events: DirectoryEvents, or stop: StopSignal) -> Bool {
        var descriptors = [
            pollfd(fd: events.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: stop.readEnd, events: Int16(POLLIN), revents: 0),
        ]
        // An interruption does not matter: the caller checks and waits again.
        poll(&descriptors, nfds_t(descriptors.count), timeout)
        return descriptors[1].revents == 0
    }

    /// Milliseconds until the first idle file is due, rounded up; -1 for no limit.
    private var timeout: Int32 {
        guard let first = idle.values.map(\.since).min() else { return -1 }
        let left = ContinuousClock.now.duration(to: first.advanced(by: idleTime)).components
        let milliseconds = left.seconds * 1_000 + left.attoseconds / 1_000_000_000_000_000 + 1
        return Int32(clamping: max(0, milliseconds))
    }
}

/// Determines whether a file is open for writing anywhere on this machine.
enum WriterProbe {
    enum Openness: Sendable {
        /// Not open for writing.
        case closed
        /// Open for writing; closing it will cause an event.
        case open
        /// The system does not grant leases.
        case unknown
    }

    /// fcntl(2), "Leases": a read lease is granted only while no descriptor is open for writing, otherwise it fails
    /// with EAGAIN; for other users' files, it requires a privilege.
    ///
    /// `descriptor` is open for reading only. Its input signal is changed.
    static func openness(_ descriptor: Int32) -> Openness {
        // A writer that opens the file during the lease makes the system send a signal to this process. The default,
        // SIGIO, would kill it; SIGURG is ignored by default.
        guard fcntl(descriptor, setSignal, SIGURG) == 0 else { return .unknown }
        guard fcntl(descriptor, setLease, Int32(F_RDLCK)) == 0 else { return errno == EAGAIN ? .open : .unknown }
        _ = fcntl(descriptor, setLease, Int32(F_UNLCK))
        return .closed
    }

    // Linux's `F_SETSIG` and `F_SETLEASE`, which are missing from Swift's Glibc module.
    private static let setSignal: Int32 = 10
    private static let setLease: Int32 = 1_024
}

/// Wakes a thread that waits in `poll`, from any other thread, at any time.
final class StopSignal: Sendable {
    /// Readable from the time when the signal is sent.
    let readEnd: Int32
    private let writeEnd: Int32

    /// nil, with `errno`, if the system has no descriptors left.
    init?() {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { return nil }
        (readEnd, writeEnd) = (ends[0], ends[1])
    }

    /// Ignores errors, since a full socket has already been signaled.
    func signal() {
        _ = write(writeEnd, [0], 1)
    }

    deinit {
        close(readEnd)
        close(writeEnd)
    }
}
