internal import Glibc
internal import MediaSystem

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
