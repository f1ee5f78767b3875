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

/// What inotify tells about one directory (inotify(7)).
final class DirectoryEvents: Sendable {
    /// One thing that happened, in order.
    enum Event: Equatable {
        /// A file was closed by somebody who had it open for writing.
        case closed([UInt8])
        /// A file was moved in, or renamed to this.
        case movedIn([UInt8])
        /// A name is gone.
        case gone([UInt8])
        /// Events were lost.
        case overflow
        /// The directory was removed, renamed or unmounted; nothing will follow.
        case ended
    }

    /// Readable when there are events.
    let descriptor: Int32

    /// Begins to collect events.
    init(_ directory: [UInt8]) throws(SourceFileError) {
        guard !directory.contains(0) else { throw SourceFileError(.notFound, path: directory) }
        descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
        guard descriptor >= 0 else { throw SourceFileError(errno: errno, path: directory) }
        let wanted =
            IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF
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

    /// Everything that has happened and was not taken before. Does not wait.
    func take() -> [Event] {
        var events: [Event] = []
        // Room for many events; the system needs space for at least one with the longest name.
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN { return events }
            guard count > 0 else { return events + [.ended] }
            Self.append(buffer[..<count], to: &events)
        }
    }

    /// Each record: watch, mask, cookie and the length of the name, four bytes each, then the name and zero bytes.
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
        } else if has(Int(IN_DELETE) | Int(IN_MOVED_FROM)) {
            self = .gone(name)
        } else {
            return nil
        }
    }
}

/// The work of a watch, on a thread of its own.
///
/// The watch begins before the directory is read for the first time, so that a file is seen by at least one of both. One that
/// is seen by both, because it was written in between, is reported once: of the events that follow a reading, those of files
/// that have not changed since are older than it.
struct DirectoryWatchLoop {
    private let directory: [UInt8]
    private let filter: PathFilter
    private let quiet: Duration
    private let openness: @Sendable (Int32) -> WriterProbe.Openness

    /// Files that may be complete when they do not change any more.
    private var quieting: [[UInt8]: Quieting] = [:]
    /// What has been reported, as it was then: reading the directory again after lost events must not repeat it.
    private var reported: [[UInt8]: FileIdentity] = [:]

    private struct Quieting {
        var status: FileIdentity
        var since: ContinuousClock.Instant
    }

    /// Why a file is looked at, the more telling reason last.
    private enum Reason: Int {
        /// It was found in the directory, or has not changed for a while.
        case found
        case movedIn
        /// Somebody has just closed it after writing.
        case closed
    }

    init(
        directory: [UInt8],
        filter: PathFilter,
        quiet: Duration,
        openness: @escaping @Sendable (Int32) -> WriterProbe.Openness
    ) {
        self.directory = directory
        self.filter = filter
        self.quiet = quiet
        self.openness = openness
    }

    /// Runs until the directory is gone or the signal is given.
    mutating func run(_ events: DirectoryEvents, until stop: StopSignal, report: ([UInt8]) -> Void) {
        var mustRead = true
        var followsReading = false
        while true {
            var names: [(name: [UInt8], reason: Reason)] = []
            let mayRepeat = followsReading
            followsReading = mustRead
            if mustRead {
                guard let found = filesInDirectory() else { return }
                names = found.map { ($0, .found) }
                mustRead = false
            }
            let batch = events.take()
            for event in batch {
                switch event {
                case .closed(let name): names.append((name, .closed))
                case .movedIn(let name): names.append((name, .movedIn))
                case .gone(let name):
                    reported[name] = nil
                    quieting[name] = nil
                case .overflow: mustRead = true
                case .ended: break
                }
            }
            if mayRepeat { names.removeAll { isKnown($0.name) } }
            lookAt(names, report: report)
            lookAtQuietOnes(report: report)
            if batch.contains(.ended) { return }
            if mustRead { continue }
            guard wait(for: events, or: stop) else { return }
        }
    }

    /// Wanted names in the order of their bytes; nil when the directory cannot be read. Forgets what is not there any more.
    private mutating func filesInDirectory() -> [[UInt8]]? {
        guard let entries = try? DirectoryStream(directory, followingLinks: true).sortedEntries() else { return nil }
        let names = entries.filter { $0.kind == .regular || $0.kind == .link }.map(\.name)
        let present = Set(names)
        reported = reported.filter { present.contains($0.key) }
        quieting = quieting.filter { present.contains($0.key) }
        return names.filter { !isKnown($0) }
    }

    /// Whether the file was reported, and has not changed since.
    private func isKnown(_ name: [UInt8]) -> Bool {
        guard let before = reported[name] else { return false }
        return (try? SourceFile(path: directory.joined(withName: name)))?.status == before
    }

    /// Looks at each name once, in the order in which they came.
    private mutating func lookAt(_ names: [(name: [UInt8], reason: Reason)], report: ([UInt8]) -> Void) {
        let reasons = Dictionary(names) { $0.rawValue > $1.rawValue ? $0 : $1 }
        var seen: Set<[UInt8]> = []
        for (name, _) in names where seen.insert(name).inserted && filter.accepts(name) {
            lookAt(name, because: reasons[name] ?? .found, report: report)
        }
    }

    private mutating func lookAt(_ name: [UInt8], because reason: Reason, report: ([UInt8]) -> Void) {
        quieting[name] = nil
        let path = directory.joined(withName: name)
        // What is empty, no file, or already gone is not reported. What cannot be opened is: its reader will say why.
        let file: SourceFile
        do {
            file = try SourceFile(path: path)
        } catch {
            if error.kind == .permissionDenied { report(path) }
            return
        }
        switch openness(file.descriptor) {
        case .closed:
            finish(name, file.status, report: report)
        case .open:
            // Its writer's closing will be an event.
            break
        case .unknown where reason == .closed:
            finish(name, file.status, report: report)
        case .unknown:
            quieting[name] = Quieting(status: file.status, since: .now)
        }
    }

    private mutating func lookAtQuietOnes(report: ([UInt8]) -> Void) {
        for (name, quieting) in quieting where quieting.since.duration(to: .now) >= quiet {
            let file = try? SourceFile(path: directory.joined(withName: name))
            if let file, file.status == quieting.status {
                finish(name, file.status, report: report)
            } else {
                self.quieting[name] = file.map { Quieting(status: $0.status, since: .now) }
            }
        }
    }

    private mutating func finish(_ name: [UInt8], _ status: FileIdentity, report: ([UInt8]) -> Void) {
        quieting[name] = nil
        reported[name] = status
        report(directory.joined(withName: name))
    }

    /// Waits for events, or until a quiet file is due.
    ///
    /// - Returns: False once the signal is given.
    private func wait(for events: DirectoryEvents, or stop: StopSignal) -> Bool {
        var descriptors = [
            pollfd(fd: events.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: stop.readEnd, events: Int16(POLLIN), revents: 0),
        ]
        // Interrupted or not: the caller looks and comes back.
        poll(&descriptors, nfds_t(descriptors.count), timeout)
        return descriptors[1].revents == 0
    }

    /// Milliseconds until the first quiet file is due, rounded up; -1 for no limit.
    private var timeout: Int32 {
        guard let first = quieting.values.map(\.since).min() else { return -1 }
        let left = ContinuousClock.now.duration(to: first.advanced(by: quiet)).components
        let milliseconds = left.seconds * 1_000 + left.attoseconds / 1_000_000_000_000_000 + 1
        return Int32(clamping: max(0, milliseconds))
    }
}

/// Asks whether a file is open for writing anywhere on this machine.
enum WriterProbe {
    enum Openness: Sendable {
        /// Nobody has it open for writing.
        case closed
        /// Somebody has, and will cause an event by closing it.
        case open
        /// The system does not tell.
        case unknown
    }

    /// fcntl(2), "Leases": a read lease is granted only while no descriptor is open for writing, with EAGAIN otherwise; for
    /// files of others it takes a privilege.
    ///
    /// - Parameter descriptor: Open for reading only. Its signal for input is changed.
    /// - Returns: What the lease tells.
    static func openness(_ descriptor: Int32) -> Openness {
        // A writer that comes while the lease is held makes the system signal us. The default, SIGIO, would end this process;
        // SIGURG is ignored unless asked for.
        guard fcntl(descriptor, setSignal, SIGURG) == 0 else { return .unknown }
        guard fcntl(descriptor, setLease, Int32(F_RDLCK)) == 0 else { return errno == EAGAIN ? .open : .unknown }
        _ = fcntl(descriptor, setLease, Int32(F_UNLCK))
        return .closed
    }

    // `F_SETSIG` and `F_SETLEASE` of Linux, which Swift's Glibc module does not offer.
    private static let setSignal: Int32 = 10
    private static let setLease: Int32 = 1_024
}

/// Wakes a thread that waits in `poll`, from any other thread, at any time.
final class StopSignal: Sendable {
    /// Becomes readable once the signal was given, and stays so.
    let readEnd: Int32
    private let writeEnd: Int32

    /// Nil, with `errno`, when the system has no descriptors left.
    init?() {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { return nil }
        (readEnd, writeEnd) = (ends[0], ends[1])
    }

    /// A full socket has been signalled already, so that failing does no harm.
    func signal() {
        _ = write(writeEnd, [0], 1)
    }

    deinit {
        close(readEnd)
        close(writeEnd)
    }
}
