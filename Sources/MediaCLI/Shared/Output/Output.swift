internal import Foundation
internal import MediaCore
internal import Synchronization

/// One file descriptor for text. Output from several tasks is never interleaved: each call writes its whole text.
///
/// After the first failure, further writes are dropped: a closed pipe must not end an upload in flight.
final class Output: Sendable {
    let descriptor: Int32
    private let firstFailure = Mutex<Int32?>(nil)

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
    }

    var failure: Int32? {
        firstFailure.withLock { $0 }
    }

    /// Detects a closed descriptor or a full device with an empty write. A closed pipe and a full disk are detected
    /// only by the first byte.
    func probe() {
        firstFailure.withLock { failure in
            guard failure == nil, Foundation.write(descriptor, "", 0) < 0, errno != EAGAIN, errno != EINTR else {
                return
            }
            failure = errno
        }
    }

    /// Detects a closed pipe before the next write (poll(2): POLLERR).
    func noticeClosedPipe() {
        firstFailure.withLock { failure in
            var event = pollfd(fd: descriptor, events: 0, revents: 0)
            guard failure == nil, poll(&event, 1, 0) > 0, event.revents & Int16(POLLERR) != 0 else { return }
            failure = EPIPE
        }
    }

    /// Uses as few `write(2)` calls as possible, usually one.
    func write(_ text: String) {
        firstFailure.withLock { failure in
            guard failure == nil else { return }
            var text = text
            failure = text.withUTF8 { writeAll(UnsafeRawBufferPointer($0)) }
        }
    }

    /// Writes bytes that are not necessarily text.
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
                // Waits until an inherited non-blocking pipe is writable.
                var event = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&event, 1, -1)
            } else if errno != EINTR {
                return errno
            }
        }
        return nil
    }
}

/// Colors for one stream, if enabled, and the characters that the stream supports.
struct Style: Sendable, Equatable {
    var isColored: Bool
    /// Replaces truncated text. Without a UTF-8 locale, our own characters are ASCII; names and texts from the user and
    /// from servers stay unchanged and searchable.
    var ellipsis: Character

    /// `--color`, then `NO_COLOR` (no-color.org: set and not empty), then `TERM`: no color if it is `dumb` or not set.
    init(_ mode: ColorMode, isTerminal: Bool, environment: [String: String]) {
        switch mode {
        case .always: isColored = true
        case .never: isColored = false
        case .auto:
            isColored =
                isTerminal && environment["NO_COLOR", default: ""].isEmpty
                && environment["TERM", default: "dumb"] != "dumb"
        }
        ellipsis = Self.hasUTF8(environment) ? "…" : "~"
    }

    /// POSIX.1-2017 XBD 8.2: the first variable that is set and not empty.
    private static func hasUTF8(_ environment: [String: String]) -> Bool {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
        let name = locale?.uppercased() ?? "C"
        return name.contains("UTF-8") || name.contains("UTF8")
    }

    func bold(_ text: String) -> String { wrapped(text, "1") }
    func dim(_ text: String) -> String { wrapped(text, "2") }
    func red(_ text: String) -> String { wrapped(text, "31") }
    func green(_ text: String) -> String { wrapped(text, "32") }
    func yellow(_ text: String) -> String { wrapped(text, "33") }

    /// ECMA-48 section 8.3.117, Select Graphic Rendition.
    private func wrapped(_ text: String, _ code: String) -> String {
        isColored ? "\u{1b}[\(code)m\(text)\u{1b}[0m" : text
    }
}

/// Lines at the bottom of the terminal that are redrawn; other text is printed above them.
final class ScreenArea: Sendable {
    private let output: Output
    /// Current width of the terminal.
    private let columns: @Sendable () -> Int
    /// Width of each drawn line.
    private let drawn = Mutex<[Int]>([])

    init(_ output: Output, columns: @escaping @Sendable () -> Int) {
        self.output = output
        self.columns = columns
    }

    /// Replaces the lines. Each must fit the terminal, otherwise the cursor position is wrong.
    func draw(_ lines: [String]) {
        drawn.withLock { widths in
            output.write(erasing(widths) + lines.map { $0 + "\n" }.joined())
            widths = lines.map { TerminalText.width($0) }
        }
    }

    /// Removes the lines and runs `body`. The next `draw` restores them.
    func above(_ body: () -> Void) {
        drawn.withLock { widths in
            if !widths.isEmpty {
                output.write(erasing(widths))
                widths = []
            }
            body()
        }
    }

    /// ECMA-48: cursor up (8.3.22), then erase to the end of the page (8.3.39). Drawn lines wrap if the window has
    /// become narrower in the meantime.
    private func erasing(_ widths: [Int]) -> String {
        guard !widths.isEmpty else { return "" }
        let columns = max(1, columns())
        let rows = widths.reduce(0) { $0 + max(1, ($1 + columns - 1) / columns) }
        return "\r\u{1b}[\(rows)A\u{1b}[J"
    }
}
