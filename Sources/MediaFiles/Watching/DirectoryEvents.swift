internal import Glibc
internal import MediaSystem

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
