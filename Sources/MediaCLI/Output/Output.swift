internal import Foundation
internal import Synchronization

/// One file descriptor for text. Texts of several tasks never mix: each call writes its text whole.
///
/// A failure is remembered, and what follows is dropped: a closed pipe must not end an upload in flight.
final class Output: Sendable {
    let descriptor: Int32
    private let firstFailure = Mutex<Int32?>(nil)

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    /// The `errno` of the first write that failed.
    var failure: Int32? {
        firstFailure.withLock { $0 }
    }

    /// Writes nothing, to learn whether anything could be written. A closed descriptor and a full device answer that;
    /// a closed pipe and a full disk are noticed only with the first byte.
    func probe() {
        firstFailure.withLock { failure in
            guard failure == nil, Foundation.write(descriptor, "", 0) < 0, errno != EAGAIN, errno != EINTR else {
                return
            }
            failure = errno
        }
    }

    /// Learns whether the reader of a pipe has gone, which otherwise the next text would (poll(2): POLLERR).
    func noticeClosedPipe() {
        firstFailure.withLock { failure in
            var event = pollfd(fd: descriptor, events: 0, revents: 0)
            guard failure == nil, poll(&event, 1, 0) > 0, event.revents & Int16(POLLERR) != 0 else { return }
            failure = EPIPE
        }
    }

    /// Writes a text with as few `write(2)` calls as the system allows, usually one.
    func write(_ text: String) {
        firstFailure.withLock { failure in
            guard failure == nil else { return }
            var text = text
            failure = text.withUTF8 { writeAll(UnsafeRawBufferPointer($0)) }
        }
    }

    /// Writes bytes that need not be text.
    func write(_ bytes: [UInt8]) {
        firstFailure.withLock { failure in
            guard failure == nil else { return }
            failure = bytes.withUnsafeBytes { writeAll($0) }
        }
    }

    private func writeAll(_ bytes: UnsafeRawBufferPointer) -> Int32? {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = Foundation.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                // The descriptor is somebody's non-blocking pipe: wait until it takes more.
                var event = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&event, 1, -1)
            } else if errno != EINTR {
                return errno
            }
        }
        return nil
    }
}
