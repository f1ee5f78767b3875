import Foundation
import TestSupport

/// A running `store-worker`.
struct WorkerProcess {
    struct TimedOut: Error {}

    private let process: ChildProcess

    /// Starts a worker, optionally through another program (`strace`, `setpriv`).
    init(_ arguments: [String], through launcher: [String] = []) throws {
        process = try ChildProcess("/usr/bin/env", launcher + [Self.executable] + arguments, streams: .pipes)
    }

    static let hasStrace = FileManager.default.isExecutableFile(atPath: "/usr/bin/strace")

    /// Starts a program that obeys file permissions even if the tests are run by root: without these capabilities, root
    /// is an ordinary owner of its files.
    static var withoutPrivileges: [String] {
        geteuid() == 0 ? ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"] : []
    }

    /// Starts a program whose calls for a file or directory fail with an I/O error, from the call with this number on.
    static func failing(_ call: String, of path: String, from number: Int = 1) -> [String] {
        let fault = "inject=\(call):error=EIO:when=\(number)+"
        return ["strace", "-f", "-o", "/dev/null", "-P", path, "-e", "trace=\(call)", "-e", fault]
    }

    static var executable: String { Bundle.main.bundleURL.appendingPathComponent("store-worker").path }

    var identifier: Int32 { process.processID }

    /// The next line of its output; nil at the end.
    func line() throws -> String? { try process.nextLine() }

    /// Whether a line, or the end, is available.
    var hasOutput: Bool { process.hasLineOrEnd }

    func send(_ text: String) { process.write(text) }

    func closeInput() { process.closeInput() }

    func signal(_ number: Int32) { process.signal(number) }

    /// The state letter of its main thread in `/proc`: R, S, T, …
    func state() throws -> Character? {
        let text = try String(contentsOfFile: "/proc/\(identifier)/stat", encoding: .utf8)
        return text.split(separator: ")").last?.first { $0 != " " }
    }

    /// Whether one of its threads is in `nanosleep`, like SQLite while it waits for another process.
    func isInBusyWait() throws -> Bool {
        let tasks = "/proc/\(identifier)/task"
        return try FileManager.default.contentsOfDirectory(atPath: tasks).contains { task in
            let call = try? String(contentsOfFile: "\(tasks)/\(task)/syscall", encoding: .utf8)
            return call.map { Self.sleepCalls.contains(String($0.prefix { $0 != " " })) } ?? false
        }
    }

    /// nanosleep and clock_nanosleep on x86-64 and arm64.
    private static let sleepCalls: Set = ["35", "230", "101", "115"]

    /// Waits for the worker to exit; returns its exit code, or minus the signal.
    func wait() throws -> Int32 { try process.finish().status }

    /// Kills the worker and waits until it has exited.
    func killNow() { process.killNow() }
}
