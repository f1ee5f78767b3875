import Foundation
import Glibc

/// A running `store-worker`.
final class WorkerProcess {
    struct TimedOut: Error {}

    private let process = Process()
    private let output = Pipe()
    private let input = Pipe()
    private var pending: [UInt8] = []

    /// Starts a worker, optionally through another program (`strace`, `setpriv`).
    init(_ arguments: [String], through launcher: [String] = []) throws {
        let command = launcher + [Self.executable] + arguments
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = command
        process.standardOutput = output
        process.standardInput = input
        process.standardError = FileHandle.nullDevice
        try process.run()
    }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }

    static var executable: String { Bundle.main.bundleURL.appendingPathComponent("store-worker").path }

    var identifier: Int32 { process.processIdentifier }

    /// The next line of its output; nil at the end.
    func line(withinSeconds limit: Int32 = 60) throws -> String? {
        while true {
            if let end = pending.firstIndex(of: 0x0a) {
                defer { pending.removeSubrange(...end) }
                return String(decoding: pending[..<end], as: UTF8.self)
            }
            guard try readMore(limit) else { return nil }
        }
    }

    /// Whether a line, or the end, is there already.
    var hasOutput: Bool {
        var waiting = pollfd(fd: output.fileHandleForReading.fileDescriptor, events: Int16(POLLIN), revents: 0)
        return !pending.isEmpty || poll(&waiting, 1, 0) > 0
    }

    private func readMore(_ limit: Int32) throws -> Bool {
        let descriptor = output.fileHandleForReading.fileDescriptor
        var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&waiting, 1, limit * 1000) > 0 else { throw TimedOut() }
        var block = [UInt8](repeating: 0, count: 4096)
        let count = read(descriptor, &block, block.count)
        guard count > 0 else { return false }
        pending += block[..<count]
        return true
    }

    func send(_ text: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
    }

    func closeInput() throws { try input.fileHandleForWriting.close() }

    func signal(_ number: Int32) { kill(process.processIdentifier, number) }

    /// The letter of its main thread in `/proc`: R, S, T, …
    func state() throws -> Character? {
        let text = try String(contentsOfFile: "/proc/\(identifier)/stat", encoding: .utf8)
        return text.split(separator: ")").last?.first { $0 != " " }
    }

    /// Whether one of its threads is in `nanosleep`, as SQLite is while it waits for another process.
    func isInBusyWait() throws -> Bool {
        let tasks = "/proc/\(identifier)/task"
        return try FileManager.default.contentsOfDirectory(atPath: tasks).contains { task in
            let call = try? String(contentsOfFile: "\(tasks)/\(task)/syscall", encoding: .utf8)
            return call.map { Self.sleepCalls.contains(String($0.prefix { $0 != " " })) } ?? false
        }
    }

    /// nanosleep and clock_nanosleep on x86-64 and arm64.
    private static let sleepCalls: Set = ["35", "230", "101", "115"]

    /// Waits for the end; its exit code, or minus the signal.
    func wait() -> Int32 {
        process.waitUntilExit()
        return process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus
    }

    /// Kills it and waits until it is gone.
    func killNow() {
        signal(SIGKILL)
        _ = wait()
    }
}
